import type { ModelMessage } from '../messages.ts'
import { newestWithin } from './groups.ts'
import type { CompactionTrigger, ContextView } from './port.ts'
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

/** Most tokens of what people said, word for word. */
const mostWords = 20_000

/** Undefined when there is nothing that could be made shorter. */
export function planCompaction(view: ContextView, trigger: CompactionTrigger): CompactionPlan | undefined {
  const { tokensOf, model, contextWindow } = view
  const messages = view.state.transcript.messages()
  const usable = Math.max(0, usableTokens(model, contextWindow) - view.fixedTokens)
  // A service that refused may count far more than is estimated: less is kept then.
  const tail = Math.min(usable * (trigger === 'auto' ? 0.2 : 0.1), 20_000)
  const start = newestWithin(messages, tail, tokensOf)
  const replaced = messages.slice(0, start)
  const newest = messages.slice(start)
  const kept = tokensOf(newest) > tail ? shortenedTo(newest, tail, tokensOf) : newest
  if (replaced.length === 0 && kept.every((message, index) => message === newest[index])) return undefined
  return {
    replaced,
    kept,
    summaryTokens: Math.max(256, Math.floor(Math.min(usable * 0.12, 16_000, model.maxOutputTokens))),
    wordsTokens: Math.floor(Math.min(usable * 0.25, mostWords)),
    carriedTokens: Math.floor(Math.min(usable * 0.1, 25_000)),
  }
}
