import type { EndingLimit } from './ending.ts'
import { endings } from './table.ts'
import type { RunResult } from './terminal.ts'

/**
 * The limit that ended a run and can be raised. A dollar limit is the session's or that of the run alone; null for one that is not the run's own, such as a
 * standing budget or a lease, and where no limit did.
 */
export function limitOfResult({ reason, signal }: Pick<RunResult, 'reason' | 'signal'>): EndingLimit | null {
  const { limit } = endings[reason]
  if (limit !== 'maxBudgetUsd') return limit
  const { budget, of } = signal.context
  if (typeof budget === 'string') return null
  return of === 'run' ? 'maxRunUsd' : limit
}
