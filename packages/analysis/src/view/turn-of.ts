import type { Iteration } from '@halting/core/steps'

/** What a run had spent before a request. */
export type Spent = Iteration['spent']

/** The turn of the next request, numbered as in `num_turns`: a recovery belongs to the turn before it. */
export function turnOf({ turns, turnBegins }: Spent): number {
  return Math.max(1, turns + (turnBegins ? 1 : 0))
}
