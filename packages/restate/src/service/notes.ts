import type { Json, SdkResult } from '@halting/core'
import type { AttemptRecord } from '../attempts/deaths.ts'

/** What the work at a session puts on record in addition to the records of its loop: facts that other programs request and that no record contains. */
export type WorkNote =
  /** An attempt begins. `url`: where its worker sends live events. */
  | { readonly type: 'at'; readonly url: string | null }
  /** The first attempt of a turn begins in this process. */
  | ({ readonly type: 'attempt' } & AttemptRecord)
  /** The outcome of these requests is on record: they are not handled again. */
  | { readonly type: 'settled'; readonly numbers: readonly number[] }
  /** The run that received these requests. */
  | { readonly type: 'into_run'; readonly ids: readonly string[]; readonly runId: string }
  | { readonly type: 'result'; readonly runId: string; readonly result: SdkResult }
  /** A request that was refused, and why. */
  | { readonly type: 'refused'; readonly id: string; readonly because: string }

/** Encodes a note for the log. */
export function encodeNote(note: WorkNote): Json {
  // This cast is safe: results are JSON.
  return note as unknown as Json
}

/** Decodes what `encodeNote` encoded. */
export function decodeNote(note: Json): WorkNote {
  return note as unknown as WorkNote
}
