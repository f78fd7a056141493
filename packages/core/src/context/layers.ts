import { ConfigurationError } from '../values/errors.ts'
import type { Model } from '../model/model.ts'
import { drainCollapses, nextCollapse } from './collapse.ts'
import { fullCompaction, type PinContext } from './compact.ts'
import type { ContextManager, ContextView, ClearedResults, Thrash } from './context-manager.ts'
import { compactionThresholdOf, maxPromptTokens } from './thresholds.ts'
import { blockingLimitOf } from '../model/window.ts'
import { isToolResult, type ModelMessage } from '../model/messages.ts'
import { clearedResult } from '../conversation/transcript.ts'
import { longResultsOf } from './sizes.ts'
import { fixedPartTooLarge, fullAgain, messageTooLarge } from './context-texts.ts'

/** The four layers against a full context window. Each can be disabled. */
export interface ContextLayersOptions {
  /** Compacts before a request that would be too long. False: only the person does and, if enabled, the layers after a 413. */
  readonly autoCompact?: boolean
  /** The threshold in tokens, or in percent of the window without the reply, such as `80%`. Derived from the window when absent. */
  readonly compactAt?: number | `${number}%`
  /** Upper bound of the threshold for any window; 200,000 input tokens when absent. */
  readonly contextThreshold?: number
  /** Prunes old tool results before that; true when absent. */
  readonly clearResults?: boolean
  /** Summarizes finished work in parallel with the turns, and replaces it when room is needed. Defaults to `autoCompact`. */
  readonly collapse?: boolean
  /** Compacts after a 413. Defaults to `autoCompact`. */
  readonly reactive?: boolean
  /** The model for summaries, instead of the run's own: a cheaper one. A dollar budget requires a price for it. */
  readonly compactModel?: Model
  /** What the program pins across a compaction: open files, a to-do list. */
  readonly carryOver?: PinContext
}

// Spec R-CTX-12.
/**
 * The layers against a full context window. First old results are pruned, then finished work is replaced by its
 * summaries, then all but the newest messages by one summary. After a 413 the same happens immediately. Without any
 * layer, a limit before the request applies. People's messages are preserved verbatim.
 * @throws ConfigurationError for an invalid threshold.
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
    drain: (view) => (collapse ? (uselessCompactions(view) ?? drainCollapses(view)) : undefined),
    compact(view, trigger) {
      if (trigger === 'manual') return fullCompaction(view, trigger, parts)
      return reactive ? (uselessCompactions(view) ?? fullCompaction(view, trigger, parts)) : undefined
    },
    compactionThreshold: (model, window) => (autoCompact ? thresholdOf(model, window) : Infinity),
    blockingLimit: (_model, window) => (isOpenEnded ? blockingLimitOf(window) : Infinity),
  })
}

/** Staged summaries suffice if they bring the conversation below this share of the threshold. */
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

/** Share of the threshold at which pruning of old results starts. */
const pruningShare = 0.7
/** Minimum share of the threshold that pruning must free: each time, the provider's cache is lost from the first note on. */
const minFreedShare = 0.4
/** Share of the threshold that the newest results may use. */
const newestShare = 0.1

/**
 * Selects old results to replace by notes, once the conversation is long enough and pruning frees enough at once. The
 * newest results stay. It works in steps and not on every turn, since the provider's cache is lost from the first note
 * on.
 */
function clearedResults(view: ContextView, threshold: number): ClearedResults | undefined {
  if (!Number.isFinite(threshold) || view.estimatedTokens < threshold * pruningShare) return undefined
  const messages = view.state.transcript.messages()
  const end = newestFrom(view, messages, threshold * newestShare)
  // All of these messages are an upper bound of their results. It is usually too small, so the results are not examined.
  if (view.clearableBefore(end) < threshold * minFreedShare) return undefined
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
  return freedTokens < threshold * minFreedShare ? undefined : { calls, freedTokens }
}

/** The index from which results are preserved: always those of the last turn. */
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

/** This many compactions in a row, each followed by fewer new replies than this, mean that the window fills again immediately. */
const compactionsInARow = 3
const newReplies = 3

/** Undefined when another compaction may help. Only compactions of this run count: the next run of the session may continue. */
function thrashOf(view: ContextView): Thrash | undefined {
  const tooLarge = fixedPartOf(view)
  if (tooLarge !== undefined) return { kind: 'thrash', message: tooLarge }
  return uselessCompactions(view)
}

// Spec R-CTX-17.
/** The same check, but only by the replies after compactions: for a request that the service refused, whatever window the model declares. */
function uselessCompactions(view: ContextView): Thrash | undefined {
  if (consecutiveCompactions(view) < compactionsInARow) return undefined
  const message = fullAgain(newReplies, compactionsInARow, view.contextWindow)
  return { kind: 'thrash', message }
}

/**
 * The number of consecutive compactions at the end of the run, each fewer than three replies after the previous one, the
 * last fewer than three replies ago. Their savings do not matter. Several layers in one request, such as insufficient
 * summaries and a compaction, count once.
 */
function consecutiveCompactions({ state }: ContextView): number {
  const { transcript, startLength } = state
  let count = 0
  let replies = 0
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry = transcript.at(index)
    if (entry?.kind === 'assistant' && entry.error === undefined) replies++
    if (replies >= newReplies) break
    // A replacement by a hook made no room: a hook may replace messages before every turn.
    if (entry?.kind !== 'compact_boundary' || entry.trigger === 'hook') continue
    if (count === 0 || replies > 0) count++
    replies = 0
  }
  return count
}

/** The part that no compaction can remove: system prompt, tools, and the person's newest message. */
function fixedPartOf(view: ContextView): string | undefined {
  const { model, contextWindow, fixedTokens, system, tools, state, tokensOf } = view
  const available = maxPromptTokens(model, contextWindow)
  if (fixedTokens >= available) {
    const isSystem = system.length >= JSON.stringify(tools).length
    return fixedPartTooLarge(isSystem ? 0 : tools.length, fixedTokens, Math.floor(available))
  }
  const last = state.transcript.messages().at(-1)
  if (last?.role !== 'user' || (typeof last.content !== 'string' && last.content.some(isToolResult))) return undefined
  const words = tokensOf([last])
  if (fixedTokens + words < available) return undefined
  return messageTooLarge(words, Math.floor(available - fixedTokens))
}
