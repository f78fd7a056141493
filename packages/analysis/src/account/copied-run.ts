import type { StepRecord } from '@halting/core/steps'

/** Whether these records are a copy of a run of another session, where the run is counted: a fork's history, or a session that was taken over. */
export function isCopiedRun(records: readonly StepRecord[]): boolean {
  const [first] = records
  return first?.type === 'start' && first.start.run.isCopy === true
}
