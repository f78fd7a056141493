import type { LimitRequest, RaisableLimit } from '@halting/core'
import { settableLimits } from './settable-limits.ts'

/** What a limit is about, in the words of a question. */
const whose: { readonly [limit in RaisableLimit]: string } = {
  maxTurns: 'the turn limit of the run',
  maxToolCalls: 'the tool call limit of the run',
  maxTotalTokens: 'the token limit of the run',
  maxDurationMs: 'the time limit of the run',
  maxGoalTries: 'how often an answer is sent back for its goal',
  maxBudgetUsd: 'the budget of the session',
  maxRunUsd: 'the dollar limit of the run',
}

/** `Raise the turn limit of the run?` */
export function limitQuestion({ limit }: Pick<LimitRequest, 'limit'>): string {
  return `Raise ${whose[limit]}?`
}

/** `2 turns used of 2 turns`, and what the next request needs. */
export function limitReason({ limit, used, of, needed }: LimitRequest): string {
  const { shown } = settableLimits[limit]
  const more = needed === undefined ? '' : `; the next request needs ${shown(needed)}`
  return `${shown(used)} used of ${shown(of)}${more}.`
}

/** `Raise to 4 turns` */
export function offerLabel({ limit }: Pick<LimitRequest, 'limit'>, to: number): string {
  return `Raise to ${settableLimits[limit].shown(to)}`
}
