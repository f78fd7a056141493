import type { SessionSnapshot } from '@halting/core/session'
import { counted } from '../io/figures.ts'

/** `next stop: max_budget_usd in ~14 turns`; without limits the turns alone. */
export function nextStopText(nextStop: SessionSnapshot['nextStop']): string {
  if (nextStop === null) return 'next stop: none'
  const { reason, turns, isEstimate } = nextStop
  const count = `${isEstimate ? '~' : ''}${counted(turns)} turn${turns === 1 ? '' : 's'}`
  return reason === 'max_turns' ? `next stop: ${count}` : `next stop: ${reason} in ${count}`
}
