import type { ModelMessage } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import type { TranscriptEntry } from '../conversation/transcript.ts'
import { isCutPoint } from './groups.ts'
import type { CollapseStage, Compaction, ContextView } from './context-manager.ts'
import { conversationContinues, workQuestion, workQuestionFor, workSummary } from './context-texts.ts'

type Staged = Extract<TranscriptEntry, { readonly kind: 'collapse_staged' }>

/** Share of the threshold at which finished work begins to be summarized in parallel with the turns. */
const stageFrom = 0.85
/** Approximate minimum share of the threshold that a span of finished work occupies. */
const spanShare = 0.6
/** Share of the threshold for the newest messages, which count as unfinished. */
const openShare = 0.2
/** Maximum tokens of such a summary. */
const summaryTokens = 1_000

/** Summaries that were made in parallel with turns since the last compaction, in order. */
function stagedOf({ state }: ContextView): readonly Staged[] {
  const staged: Staged[] = []
  for (let index = state.transcript.length - 1; index >= 0; index--) {
    const entry = state.transcript.at(index)
    if (entry?.kind === 'compact_boundary') break
    if (entry?.kind === 'collapse_staged') staged.push(entry)
  }
  return staged.toReversed()
}

/** The oldest finished work without a summary, if there is enough of it. */
export function nextCollapse(
  view: ContextView,
  threshold: number,
  model: Model | undefined,
): CollapseStage | undefined {
  if (!Number.isFinite(threshold) || view.estimatedTokens < threshold * stageFrom) return undefined
  const messages = view.state.transcript.messages()
  const start = stagedOf(view).at(-1)?.to ?? firstOfWork(messages)
  const end = newestStart(view, messages, threshold * openShare)
  const targetTokens = threshold * spanShare
  if (view.tokensBetween(start, end) < targetTokens / 2) return undefined
  const span = nextSpan(view, messages, { start, end, wanted: targetTokens })
  if (span === undefined) return undefined
  const freedTokens = view.tokensBetween(span.from, span.to) - summaryTokens
  if (freedTokens <= 0) return undefined
  return { ...span, freedTokens, question: questionOf(view, messages, span, model) }
}

/** Index after the first message, which is preserved: it is the task, or the result of a compaction. */
function firstOfWork(messages: readonly ModelMessage[]): number {
  for (let index = 1; index < messages.length; index++) if (isCutPoint(messages, index)) return index
  return messages.length
}

function newestStart({ tokensBetween }: ContextView, messages: readonly ModelMessage[], budget: number): number {
  let left = budget
  for (let index = messages.length - 1; index >= 0; index--) {
    left -= tokensBetween(index, index + 1)
    if (left < 0) return index
  }
  return 0
}

/**
 * Adds whole groups until the span is large enough; undefined if it never is. A message of a person or the program ends
 * a span, because that message is preserved verbatim.
 */
function nextSpan(
  { tokensBetween }: ContextView,
  messages: readonly ModelMessage[],
  { start, end, wanted: targetTokens }: { readonly start: number; readonly end: number; readonly wanted: number },
): { readonly from: number; readonly to: number } | undefined {
  let from = start
  let last = start
  let tokens = 0
  for (let index = start; index <= end; index++) {
    if (!isCutPoint(messages, index)) continue
    if (index > from) tokens += tokensBetween(last, index)
    last = index
    const isUserMessage = messages[index]?.role === 'user'
    if (tokens >= targetTokens || (isUserMessage && tokens >= targetTokens / 2)) return { from, to: index }
    if (!isUserMessage) continue
    from = index + 1
    last = from
    tokens = 0
  }
  return undefined
}

/** A separate compaction model receives only the span. The run's own model receives the whole conversation, which its provider has in its cache. */
function questionOf(
  { model: current, system, tools }: ContextView,
  messages: readonly ModelMessage[],
  { from, to }: { readonly from: number; readonly to: number },
  model: Model | undefined,
): CollapseStage['question'] {
  if (model !== undefined && model !== current) {
    const span = messages.slice(from, to)
    const shownSpan = span[0]?.role === 'user' ? span : [opening, ...span]
    return {
      model,
      system,
      tools,
      maxOutputTokens: summaryTokens,
      messages: [...shownSpan, { role: 'user', content: workQuestion }],
    }
  }
  const content = workQuestionFor(from + 1, to, messages.length)
  return {
    system,
    tools,
    toolChoice: 'auto',
    maxOutputTokens: summaryTokens,
    messages: [...messages, { role: 'user', content }],
  }
}

const opening: ModelMessage = Object.freeze({ role: 'user', content: conversationContinues })

/**
 * Replaces the summarized messages by all staged summaries. Undefined when there are none, or when the result has
 * `below` tokens or more. Makes no model request.
 */
export function drainCollapses(view: ContextView, below: number = Infinity): Compaction | undefined {
  const staged = stagedOf(view)
  if (staged.length === 0) return undefined
  const { messages, summaries } = collapsed(view, staged)
  const postTokens = view.fixedTokens + view.tokensOf(messages)
  if (summaries.length === 0 || postTokens >= below) return undefined
  const summary = summaries.join('\n\n')
  const preTokens = view.estimatedTokens
  return {
    trigger: 'collapse',
    run: () =>
      Promise.resolve({ kind: 'compacted', messages, preTokens, postTokens, summary, personsWords: 'carried' }),
  }
}

/** Whether both ends are valid positions to cut the conversation, and the span starts after the previous one. Data from a file may be invalid. */
function isSpan(messages: readonly ModelMessage[], from: number, to: number, next: number): boolean {
  if (from < Math.max(1, next) || to <= from || !isCutPoint(messages, from)) return false
  return to === messages.length || isCutPoint(messages, to)
}

/** A summary that is longer than its messages replaces nothing: the messages may have been pruned, or the summary exceeds its cap. */
function collapsed(
  { state, tokensOf }: ContextView,
  staged: readonly Staged[],
): { readonly messages: readonly ModelMessage[]; readonly summaries: readonly string[] } {
  const messages = state.transcript.messages()
  const result: ModelMessage[] = []
  const summaries: string[] = []
  let next = 0
  for (const { from, to, summary } of staged) {
    if (summary === '' || !isSpan(messages, from, to, next)) continue
    const content = workSummary(to - from, summary)
    const short: ModelMessage = { role: 'user', content }
    if (tokensOf([short]) >= tokensOf(messages.slice(from, to))) continue
    result.push(...messages.slice(next, from), short)
    summaries.push(summary)
    next = to
  }
  result.push(...messages.slice(next))
  return { messages: result, summaries }
}
