import { endings } from '@halting/core'
import type { EndingLimit } from '@halting/core/adapters'
import type { SessionSnapshot } from '@halting/core/session'
import { counted } from '../io/figures.ts'

/** `next stop: dollar limit in ~14 turns`; without other limits, only the turns. */
export function nextStopText(nextStop: SessionSnapshot['nextStop']): string {
  if (nextStop === null) return 'next stop: none'
  const { reason, turns, isEstimate } = nextStop
  const count = `in ${isEstimate ? '~' : ''}${counted(turns)} turn${turns === 1 ? '' : 's'}`
  const { limit } = endings[reason]
  return limit === null || limit === 'maxTurns' ? `next stop: ${count}` : `next stop: ${limitNames[limit]} ${count}`
}

const limitNames: { readonly [limit in Exclude<EndingLimit, 'maxTurns'>]: string } = {
  maxToolCalls: 'tool call limit',
  maxBudgetUsd: 'dollar limit',
  maxRunUsd: 'dollar limit',
  maxTotalTokens: 'token limit',
  maxDurationMs: 'time limit',
  maxGoalTries: 'goal tries',
  noProgress: 'no progress',
}
