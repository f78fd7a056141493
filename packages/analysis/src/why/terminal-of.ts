import type { RunResult } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'

/** How a run ended, by its records; undefined for one that did not. */
export function terminalOf(records: readonly StepRecord[]): RunResult | undefined {
  const end = records.findLast((record) => record.type === 'end' && record.scope === '')
  return end?.type === 'end' ? end.terminal : undefined
}
