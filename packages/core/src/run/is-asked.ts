import type { Run } from './run.ts'

// Spec R-RES-11.
/** True when the request of this turn is on record in a resumed run. What comes before a request is not done again then. */
export function isAsked(run: Run): boolean {
  return run.ports.isResumed && run.isRecorded(`model:${run.spent.request}.1`)
}
