import { validateRecord, type StepRecord } from '@halting/core/steps'

/**
 * Describes an invalid record; undefined if all are valid. Loaded dynamically: resuming a session does not validate it.
 */
export function validateRuns(runs: readonly (readonly StepRecord[])[]): string | undefined {
  for (const [index, records] of runs.entries())
    for (const record of records) {
      const misfit = validateRecord(record)
      if (misfit !== undefined) return `in a record of run ${index + 1} (${record.type}) ${misfit}`
    }
  return undefined
}
