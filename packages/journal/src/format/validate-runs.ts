import { misfitOfRecord, type StepRecord } from '@halting/core/steps'

/** What no version of this program writes, in words; undefined where there is none of it. A file of its own: a start that goes on with a session looks for none. */
export function validateRuns(runs: readonly (readonly StepRecord[])[]): string | undefined {
  for (const [index, records] of runs.entries())
    for (const record of records) {
      const misfit = misfitOfRecord(record)
      if (misfit !== undefined) return `in a record of run ${index + 1} (${record.type}) ${misfit}`
    }
  return undefined
}
