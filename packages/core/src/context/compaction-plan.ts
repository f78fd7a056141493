import type { ModelMessage } from '../model/messages.ts'
import { newestWithin } from './groups.ts'
import type { ContextView } from './port.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import { shortenedTo } from './shorten.ts'
import { usableTokens } from './thresholds.ts'

/** Which messages a compaction replaces, which it keeps, and how much room each part of what comes in their place has. */
export interface CompactionPlan {
  readonly replaced: readonly ModelMessage[]
  /** The newest, as they stand, unless they are too long by themselves: then with shorter results. */
  readonly kept: readonly ModelMessage[]
  readonly summaryTokens: number
  readonly wordsTokens: number
  readonly carriedTokens: number
}

/** Most tokens of a summary. */
export const mostSummary = 16_000

/** Most tokens of what people said, word for word. */
const mostWords = 20_000

/** With fewer tokens a summary and what stands around it would be no shorter: nobody is asked for one. */
const leastReplaced = 300

/** Most tokens that each part of what a compaction leaves may have. */
export interface CompactionRoom {
  /** Of the newest messages, which stay. */
  readonly tail: number
  readonly summary: number
  readonly words: number
  readonly carried: number
}

/** The room that there is in a window beside what every request has; `refused` is what a service did not take, in tokens of the conversation. */
export function compactionRoom(
  { model, contextWindow, fixedTokens }: Pick<ContextView, 'model' | 'contextWindow' | 'fixedTokens'>,
  trigger: CompactionTrigger,
  refused: number = Infinity,
): CompactionRoom {
  const fits = Math.max(0, usableTokens(model, contextWindow) - fixedTokens)
  // What a service refused does not fit, whatever is believed of its window.
  const usable = Math.min(fits, refused)
  return {
    // It may count far more than is estimated: less is kept then.
    tail: Math.min(usable * (trigger === 'auto' ? 0.2 : 0.1), 20_000),
    summary: Math.max(256, Math.floor(Math.min(usable * 0.12, mostSummary, model.maxOutputTokens))),
    words: Math.floor(Math.min(fits * 0.25, usable * 0.5, mostWords)),
    carried: Math.floor(Math.min(usable * 0.1, 25_000)),
  }
}

/** Undefined when there is nothing that could be made shorter. */
export function planCompaction(view: ContextView, trigger: CompactionTrigger): CompactionPlan | undefined {
  const { tokensOf } = view
  const messages = view.state.transcript.messages()
  const refused = trigger === 'reactive' ? tokensOf(messages) : Infinity
  const { tail, summary, words, carried } = compactionRoom(view, trigger, refused)
  const start = newestWithin(messages, tail, tokensOf)
  const replaced = messages.slice(0, start)
  const newest = messages.slice(start)
  const kept = tokensOf(newest) > tail ? shortenedTo(newest, tail, tokensOf) : newest
  const isAsItWas = kept.every((message, index) => message === newest[index])
  if (isAsItWas && tokensOf(replaced) < leastReplaced) return undefined
  return { replaced, kept, summaryTokens: summary, wordsTokens: words, carriedTokens: carried }
}
