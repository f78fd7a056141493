import type { SessionSnapshot } from '@halting/core/session'
import { counted } from '../io/figures.ts'

/** `next stop: dollar limit in ~14 turns`; without limits the turns alone. */
export function nextStopText(nextStop: SessionSnapshot['nextStop']): string {
  if (nextStop === null) return 'next stop: none'
  const { reason, turns, isEstimate } = nextStop
  const count = `in ${isEstimate ? '~' : ''}${counted(turns)} turn${turns === 1 ? '' : 's'}`
  return reason === 'max_turns' ? `next stop: ${count}` : `next stop: ${limitNames[reason] ?? reason} ${count}`
}

const limitNames: { readonly [reason: string]: string | undefined } = {
  max_budget_usd: 'dollar limit',
  token_limit: 'token limit',
  time_limit: 'time limit',
  max_tool_calls: 'tool call limit',
}
