import type { EndingLimit } from './ending.ts'
import { sharedBudgetOf } from './shared-budget-end.ts'
import { endings } from './table.ts'
import type { RunResult } from './run-result.ts'

/**
 * The limit that ended a run and can be raised. A dollar limit is the session's or that of the run alone. Null if no limit ended the run.
 * Also null for a limit that is not the run's own: a standing budget, a lease or a shared budget.
 */
export function limitOfResult({ reason, signal }: Pick<RunResult, 'reason' | 'signal'>): EndingLimit | null {
  const { limit } = endings[reason]
  if (sharedBudgetOf(signal) !== undefined) return null
  if (limit !== 'maxBudgetUsd') return limit
  return signal.context['of'] === 'run' ? 'maxRunUsd' : limit
}
