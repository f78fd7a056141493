import { uuidOf } from '../values/hash.ts'
import { wallTimeOf, type Clock } from '../values/clock.ts'
import type { Transcript } from '../conversation/transcript.ts'

// Idempotency keys and uuids begin with the names of session and run, so run names must be unique in a session (spec R-SDK-14).

/** The highest number of a run with an entry in the transcript; 0 without any. Ids of entries begin with the run's name. */
export function runsIn(transcript: Transcript): number {
  let runs = 0
  for (const { id } of transcript) {
    const number = runNumber.exec(id)?.[1]
    if (number !== undefined) runs = Math.max(runs, Number(number))
  }
  return runs
}

/** Matches `run3` or `run3-…`, with at most as many digits as a number represents exactly. */
const runNumber = /^run(\d{1,15})(?:-[^/]*)?\//

/** The name of the next run over this transcript, which no run in it has: `run1`, `run2` … */
export function nextRunId(transcript: Transcript): string {
  return `run${runsIn(transcript) + 1}`
}

/** A name derived from the whole transcript: equal for equal transcripts, different for other branches of the session. */
export function runIdOf(transcript: Transcript): string {
  return `run${transcript.length}-${transcript.digest().toString(36)}`
}

let sessionsMade = 0

/** A name for a session without a given name: a UUID from the time and a counter of this process. */
export function freshSessionId(clock: Clock): string {
  return uuidOf(`session ${wallTimeOf(clock)} ${sessionsMade++}`)
}
