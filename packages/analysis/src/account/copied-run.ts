import type { StepRecord } from '@halting/core/steps'

/** Whether these records of a run are a copy of one that was made in another session, where it counts: what a fork has of its origin, or what was taken over. */
export function isCopiedRun(records: readonly StepRecord[]): boolean {
  const [first] = records
  return first?.type === 'start' && first.start.run.isCopy === true
}
