import type { Run } from '../run.ts'

/** The record of a resumed run holds the request of this turn: whatever would come before it now was not there then (spec R-RES-11). */
export function isAsked(run: Run): boolean {
  return run.ports.isResumed && run.isRecorded(`model:${run.spent.request}.1`)
}
