import type { ModelMessage } from '../model/messages.ts'
import { newestWithin } from './groups.ts'
import type { ContextView } from './context-manager.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import { shortenedTo } from './shorten.ts'
import { usableTokens } from './thresholds.ts'

/** Which messages a compaction replaces, which it preserves, and how many tokens each part of the replacement may have. */
export interface CompactionPlan {
  readonly replaced: readonly ModelMessage[]
  /** The newest messages, unchanged unless they are too long by themselves. In that case their results are shortened. */
  readonly kept: readonly ModelMessage[]
  readonly summaryTokens: number
  readonly wordsTokens: number
  readonly carriedTokens: number
}

/** Maximum tokens of a summary. */
export const maxSummaryTokens = 16_000

/** Maximum tokens of people's messages, which are preserved verbatim. */
const maxMessageTokens = 20_000

/** With fewer tokens, a summary and its frame would not be shorter, so no model request is made. */
const minReplacedTokens = 300

/** Maximum tokens of each part of a compaction's result. */
export interface CompactionRoom {
  /** Maximum tokens of the newest messages, which are preserved. */
  readonly tail: number
  readonly summary: number
  readonly words: number
  readonly carried: number
}

/**
 * The tokens that are available in a window after the fixed part of every request. `refused` is a size that a service
 * refused, in tokens of the conversation.
 */
export function compactionRoom(
  { model, contextWindow, fixedTokens }: Pick<ContextView, 'model' | 'contextWindow' | 'fixedTokens'>,
  trigger: CompactionTrigger,
  refused: number = Infinity,
): CompactionRoom {
  const fits = Math.max(0, usableTokens(model, contextWindow) - fixedTokens)
  // A size that a service refused does not fit, even if the model declares a larger window.
  const available = Math.min(fits, refused)
  return {
    // The service may count far more tokens than estimated, so less is preserved in that case.
    tail: Math.min(available * (trigger === 'auto' ? 0.2 : 0.1), 20_000),
    summary: Math.max(256, Math.floor(Math.min(available * 0.12, maxSummaryTokens, model.maxOutputTokens))),
    words: Math.floor(Math.min(fits * 0.25, available * 0.5, maxMessageTokens)),
    carried: Math.floor(Math.min(available * 0.1, 25_000)),
  }
}

/** Undefined when nothing can be compacted. */
export function planCompaction(view: ContextView, trigger: CompactionTrigger): CompactionPlan | undefined {
  const { tokensOf } = view
  const messages = view.state.transcript.messages()
  const refused = trigger === 'reactive' ? tokensOf(messages) : Infinity
  const { tail, summary, words, carried } = compactionRoom(view, trigger, refused)
  const start = newestWithin(messages, tail, tokensOf)
  const replaced = messages.slice(0, start)
  const newest = messages.slice(start)
  const kept = tokensOf(newest) > tail ? shortenedTo(newest, tail, tokensOf) : newest
  const isUnchanged = kept.every((message, index) => message === newest[index])
  if (isUnchanged && tokensOf(replaced) < minReplacedTokens) return undefined
  return { replaced, kept, summaryTokens: summary, wordsTokens: words, carriedTokens: carried }
}
