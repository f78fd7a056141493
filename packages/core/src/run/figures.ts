import { usdOf } from '../model/prices.ts'
import type { RunProgress } from '../state/state.ts'

/** Active milliseconds of the run so far. */
export function activeMs(spent: Pick<RunProgress, 'now' | 'startedAt'>): number {
  return spent.now - spent.startedAt
}

// Spec R-END-7.
/** Committed cost in US dollars: settled cost, and what unknown attempts may have cost. */
export function committedUsd(spent: Pick<RunProgress, 'nanos' | 'unknownNanos'>): number {
  return usdOf(spent.nanos + spent.unknownNanos)
}
