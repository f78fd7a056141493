import { ConfigurationError } from '../values/errors.ts'
import type { Model } from '../model/model.ts'
import { drainCollapses, nextCollapse } from './collapse.ts'
import { fullCompaction, type CarryOver } from './compact.ts'
import type { ContextManager, ContextView, ClearedResults, Thrash } from './port.ts'
import { compactionThresholdOf, mostPromptTokens } from './thresholds.ts'
import { blockingLimitOf } from '../model/window.ts'
import { isToolResult, type ModelMessage } from '../model/messages.ts'
import { clearedResult } from '../conversation/transcript.ts'
import { longResultsOf } from './sizes.ts'
import { fixedPartTooLarge, fullAgain, messageTooLarge } from './context-texts.ts'

/** The four layers against a full window, each to be switched off. */
export interface ContextLayersOptions {
  /** Compacts before a request that would be too long. False: only the person and, where they are on, the layers after a 413 do. */
  readonly autoCompact?: boolean
  /** When: in tokens, or in percent of what the window leaves beside a reply, such as `80%`. As the window allows when absent. */
  readonly compactAt?: number | `${number}%`
  /** The threshold that holds whatever the window; 200,000 input tokens when absent. */
  readonly contextThreshold?: number
  /** Old results of tools give way to notes before that; true when absent. */
  readonly clearResults?: boolean
  /** Finished work is summarized beside the turns, and put in its place when room is needed. As `autoCompact` when absent. */
  readonly collapse?: boolean
  /** Compacts after a 413. As `autoCompact` when absent. */
  readonly reactive?: boolean
  /** Asked for summaries in place of the run's own model: a cheaper one. Under a dollar budget it needs a price. */
  readonly compactModel?: Model
  /** What the program carries over a compaction: files that are worked on, a list of things to do. */
  readonly carryOver?: CarryOver
}

// Spec R-CTX-12.
/**
 * The layers against a full context window: old results give way to notes, finished work to its summaries, then all but the
 * newest messages to one summary; after a 413 the same at once; with none of them, a limit before the call. What people said is carried word for word.
 * @throws ConfigurationError for a threshold that is none.
 */
export function contextLayers(options: ContextLayersOptions = {}): ContextManager {
  checkLayers(options)
  const { autoCompact = true, clearResults = true, collapse = autoCompact, reactive = autoCompact } = options
  const { compactModel, carryOver } = options
  const parts = { model: compactModel, carryOver }
  const thresholdOf = (model: Model, window: number): number => compactionThresholdOf(model, window, options)
  const threshold = ({ model, contextWindow }: ContextView): number => thresholdOf(model, contextWindow)
  const isOpenEnded = !autoCompact && !collapse && !reactive
  return Object.freeze<ContextManager>({
    autoCompact,
    ...(compactModel !== undefined && { models: [compactModel] }),
    ...(clearResults && { clear: (view) => clearedResults(view, threshold(view)) }),
    beforeRequest(view) {
      const limit = threshold(view)
      if (!autoCompact || view.estimatedTokens < limit) return undefined
      const thrash = thrashOf(view)
      if (thrash !== undefined) return thrash
      const drained = collapse ? drainCollapses(view, limit * collapsedShare) : undefined
      return drained ?? fullCompaction(view, 'auto', parts)
    },
    ...(collapse && { stage: (view) => nextCollapse(view, threshold(view), compactModel) }),
    drain: (view) => (collapse ? (compactedInVain(view) ?? drainCollapses(view)) : undefined),
    compact(view, trigger) {
      if (trigger === 'manual') return fullCompaction(view, trigger, parts)
      return reactive ? (compactedInVain(view) ?? fullCompaction(view, trigger, parts)) : undefined
    },
    compactionThreshold: (model, window) => (autoCompact ? thresholdOf(model, window) : Infinity),
    blockingLimit: (_model, window) => (isOpenEnded ? blockingLimitOf(window) : Infinity),
  })
}

/** Staged summaries are enough when they bring the conversation below this share of the threshold. */
const collapsedShare = 0.75

function checkLayers({ compactAt, contextThreshold }: ContextLayersOptions): void {
  if (contextThreshold !== undefined && !(contextThreshold > 0))
    throw new ConfigurationError(`contextThreshold must be above 0 tokens, but it is ${contextThreshold}.`)
  if (compactAt === undefined) return
  const isPercent = typeof compactAt === 'string' && /^\d+(\.\d+)?%$/.test(compactAt)
  const amount = isPercent ? Number.parseFloat(compactAt) : compactAt
  if (typeof amount === 'number' && amount > 0 && (!isPercent || amount <= 100)) return
  throw new ConfigurationError(
    `compactAt must be a number of tokens, such as 150000, or a share of the window, such as '80%', but it is ${JSON.stringify(compactAt)}.`,
  )
}

/** Share of the threshold at which old results begin to give way. */
const clearFrom = 0.7
/** Share of the threshold that must come free: each time costs the provider's cache from the first note on. */
const leastFreed = 0.4
/** Share of the threshold that the newest results may keep. */
const newestKept = 0.1

/**
 * Old results that give way to notes, once the conversation is that long and enough comes free at once; the newest stay. In steps and
 * not on every turn, since the provider's cache is lost from the first note on.
 */
function clearedResults(view: ContextView, threshold: number): ClearedResults | undefined {
  if (!Number.isFinite(threshold) || view.estimatedTokens < threshold * clearFrom) return undefined
  const messages = view.state.transcript.messages()
  const end = newestFrom(view, messages, threshold * newestKept)
  // All of these messages is more than their results: most often it is not enough, and nothing more is looked at.
  if (view.clearableBefore(end) < threshold * leastFreed) return undefined
  const calls: string[] = []
  let freedTokens = 0
  for (const block of messages.slice(0, end).flatMap(longResultsOf)) {
    const [before, after] = [block, clearedResult(block)].map((result) =>
      view.tokensOf([{ role: 'user', content: [result] }]),
    )
    const freed = (before ?? 0) - (after ?? 0)
    if (freed <= 0) continue
    calls.push(block.tool_use_id)
    freedTokens += freed
  }
  return freedTokens < threshold * leastFreed ? undefined : { calls, freedTokens }
}

/** The index from which on results are kept: those of the last turn in any case. */
function newestFrom(view: ContextView, messages: readonly ModelMessage[], budget: number): number {
  let left = budget
  let isLast = true
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message === undefined || !holdsResults(message)) continue
    left -= view.tokensBetween(index, index + 1)
    if (left < 0 && !isLast) return index + 1
    isLast = false
  }
  return 0
}

function holdsResults({ role, content }: ModelMessage): boolean {
  return role === 'user' && typeof content !== 'string' && content.some(isToolResult)
}

/** So many compactions in a row, each before this many new replies: what fills the window comes back at once. */
const compactionsInARow = 3
const newReplies = 3

/** Undefined when another compaction may help. Only what this run did counts: the next run over the session may go on. */
function thrashOf(view: ContextView): Thrash | undefined {
  const tooLarge = fixedPartOf(view)
  if (tooLarge !== undefined) return { kind: 'thrash', message: tooLarge }
  return compactedInVain(view)
}

// Spec R-CTX-17.
/** The same of what compactions were followed by alone: for a request that the service refused, whatever is believed of its window. */
function compactedInVain(view: ContextView): Thrash | undefined {
  if (rowOf(view) < compactionsInARow) return undefined
  const message = fullAgain(newReplies, compactionsInARow, view.contextWindow)
  return { kind: 'thrash', message }
}

/**
 * Compactions at the end of the run, each fewer than three replies after the one before it, and the last fewer than three replies ago, whatever each one
 * saved. What comes together in one request, such as summaries that were not enough and what came after them, is one.
 */
function rowOf({ state }: ContextView): number {
  const { transcript, startLength } = state
  let row = 0
  let replies = 0
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry = transcript.at(index)
    if (entry?.kind === 'assistant' && entry.error === undefined) replies++
    if (replies >= newReplies) break
    // What a hook replaced made no room: it may do so before every turn.
    if (entry?.kind !== 'compact_boundary' || entry.trigger === 'hook') continue
    if (row === 0 || replies > 0) row++
    replies = 0
  }
  return row
}

/** What no compaction can take away: system prompt, tools, and the newest message of the person. */
function fixedPartOf(view: ContextView): string | undefined {
  const { model, contextWindow, fixedTokens, system, tools, state, tokensOf } = view
  const usable = mostPromptTokens(model, contextWindow)
  if (fixedTokens >= usable) {
    const isSystem = system.length >= JSON.stringify(tools).length
    return fixedPartTooLarge(isSystem ? 0 : tools.length, fixedTokens, Math.floor(usable))
  }
  const last = state.transcript.messages().at(-1)
  if (last?.role !== 'user' || (typeof last.content !== 'string' && last.content.some(isToolResult))) return undefined
  const words = tokensOf([last])
  if (fixedTokens + words < usable) return undefined
  return messageTooLarge(words, Math.floor(usable - fixedTokens))
}
