import type { Json, SdkResult } from '@halting/core'
import type { AttemptRecord } from '../attempts/deaths.ts'

/** What the work at a session puts on record beside the records of its loop: everything that others ask about and that no record tells. */
export type WorkNote =
  /** An attempt begins, in the worker that tells live events here. */
  | { readonly type: 'at'; readonly url: string | null }
  /** The first attempt of a turn begins in this process. */
  | ({ readonly type: 'attempt' } & AttemptRecord)
  /** The outcome of these requests is on record: they are not done again. */
  | { readonly type: 'settled'; readonly numbers: readonly number[] }
  /** The run that these requests went into. */
  | { readonly type: 'into_run'; readonly ids: readonly string[]; readonly runId: string }
  | { readonly type: 'result'; readonly runId: string; readonly result: SdkResult }
  /** A request that nothing comes of, and why. */
  | { readonly type: 'refused'; readonly id: string; readonly because: string }

/** For the log. */
export function encodeNote(note: WorkNote): Json {
  // Results are JSON.
  return note as unknown as Json
}

/** As `encodeNote` wrote it. */
export function decodeNote(note: Json): WorkNote {
  return note as unknown as WorkNote
}
