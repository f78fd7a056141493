import type { Iteration } from '@halting/core/steps'

/** What a run had spent when a request was to be made. */
export type Spent = Iteration['spent']

/** The turn that the next request is of, counted as `num_turns` does: a recovery goes on with the turn before it. */
export function turnOf({ turns, turnBegins }: Spent): number {
  return Math.max(1, turns + (turnBegins ? 1 : 0))
}
