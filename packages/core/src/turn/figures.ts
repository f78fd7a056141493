import { usdOf } from '../budget/prices.ts'
import type { RunProgress } from '../state.ts'

/** Active milliseconds of the run so far. */
export function activeMs(spent: Pick<RunProgress, 'now' | 'startedAt'>): number {
  return spent.now - spent.startedAt
}

/** What was spent, in US dollars, worst cases included. */
export function committedUsd(spent: Pick<RunProgress, 'nanos' | 'unknownNanos'>): number {
  return usdOf(spent.nanos + spent.unknownNanos)
}
