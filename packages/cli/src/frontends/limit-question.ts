import type { LimitRequest, RaisableLimit } from '@halting/core'
import { settableLimits } from './settable-limits.ts'

/** The name of each limit within a question. */
const limitDescriptions: { readonly [limit in RaisableLimit]: string } = {
  maxTurns: 'the turn limit of this run',
  maxToolCalls: 'the tool call limit of this run',
  maxTotalTokens: 'the token limit of this run',
  maxDurationMs: 'the time limit of this run',
  maxGoalTries: 'the number of tries for the goal',
  maxBudgetUsd: 'the dollar budget of this session',
  maxRunUsd: 'the dollar limit of this run',
}

/** The question: `Raise the turn limit of this run?` */
export function limitQuestion({ limit }: Pick<LimitRequest, 'limit'>): string {
  return `Raise ${limitDescriptions[limit]}?`
}

/** The reason: `2 turns of 2 turns used`, and what the next request needs. */
export function limitReason({ limit, used, of, needed }: LimitRequest): string {
  const { format } = settableLimits[limit]
  const more = needed === undefined ? '' : `; the next request needs ${format(needed)}`
  return `${format(used)} of ${format(of)} used${more}.`
}

/** The label of an offer: `Raise to 4 turns`. */
export function offerLabel({ limit }: Pick<LimitRequest, 'limit'>, to: number): string {
  return `Raise to ${settableLimits[limit].format(to)}`
}
