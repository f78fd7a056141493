import type { RunResult } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'

/** The result of a run, from its records; undefined for one that has not ended. */
export function terminalOf(records: readonly StepRecord[]): RunResult | undefined {
  const end = records.findLast((record) => record.type === 'end' && record.scope === '')
  return end?.type === 'end' ? end.terminal : undefined
}
