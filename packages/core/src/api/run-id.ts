import { uuidOf } from '../values/hash.ts'
import { wallTimeOf, type Clock } from '../values/clock.ts'
import type { Transcript } from '../conversation/transcript.ts'

// Idempotency keys and uuids begin with the names of session and run: no two runs of a session may have one name (spec R-SDK-14).

/** Highest number of the runs that left an entry in the transcript: ids of entries begin with the run's. 0 when none did. */
export function runsIn(transcript: Transcript): number {
  let runs = 0
  for (const { id } of transcript) {
    const number = runNumber.exec(id)?.[1]
    if (number !== undefined) runs = Math.max(runs, Number(number))
  }
  return runs
}

/** `run3` or `run3-…`, with as many digits as a number keeps apart. */
const runNumber = /^run(\d{1,15})(?:-[^/]*)?\//

/** The name of the next run over this transcript, which no run in it has: `run1`, `run2` … */
export function nextRunId(transcript: Transcript): string {
  return `run${runsIn(transcript) + 1}`
}

/** A name made of the whole transcript: the same for the same transcript, another for another branch of the session. */
export function runIdOf(transcript: Transcript): string {
  return `run${transcript.length}-${transcript.digest().toString(36)}`
}

let sessionsMade = 0

/** A name for a session that was given none: a UUID of the time and of how many were made before it in this process. */
export function freshSessionId(clock: Clock): string {
  return uuidOf(`session ${wallTimeOf(clock)} ${sessionsMade++}`)
}
