import type { AbortCause } from '../values/abort.ts'
import type { Json } from '../values/json.ts'

/** How a goal stands on record, and how a program that goes on with the run finds it again. JSON. */
export type GoalSpec = {
  /** The command, or the words of a judged goal. */
  readonly name: string
  /** A model judges, and no program. */
  readonly judged?: true
  /** Another number says that the person set it anew: what is protected is looked at anew, and the tries begin anew. */
  readonly set?: number
}

/** When goals are checked: before the first request, at an answer, after a turn that changed something, and at a limit. */
export type GoalPlace = 'baseline' | 'answer' | 'turn' | 'limit'

/** One check as it is recorded and told. JSON. */
export type GoalCheck = {
  /** Name of the check. */
  readonly name: string
  /** Whether it passed. */
  readonly met: boolean
  /** Null for a check that is no command, or was ended by a signal. */
  readonly exitCode: number | null
  /** Milliseconds that it took. */
  readonly durationMs: number
  /** The end of its report: at most 10 lines and 1,000 characters. */
  readonly tail: string
  readonly judged?: true
  readonly timedOut?: true
  /** Which pass of several in a row failed or was the last. */
  readonly pass?: number
}

/** What a round of checks came to, as its step records it. JSON. */
export type RoundRecord = {
  readonly met: boolean
  /** Up to the first that failed. */
  readonly checks: readonly GoalCheck[]
  /** What the check that failed said, bounded, for the model; '' for none. */
  readonly report: string
  readonly tampered: readonly string[]
  readonly changedByChecks: readonly string[]
  readonly changedTests: readonly string[]
  /** Of two passes in a row one failed. */
  readonly isUnstable: boolean
  /** A check that can never hold: what to do. */
  readonly unusable?: string
  /** What the files are held against from now on; absent where it is as before. */
  readonly memo?: Json
  /** What had changed since the run before, in which it was in order: it counts as the person's. */
  readonly takenOver?: readonly string[]
  /** It was cut. */
  readonly aborted?: AbortCause
}

/** How the goal of a run stands at its end: in the result, the result line, the event and the record. JSON. */
export type GoalResult = {
  /** `unknown`: something changed since it was last checked, or it was not checked. */
  readonly met: boolean | 'unknown'
  /** A model judged at least one of the goals. */
  readonly judged?: true
  /** How often an answer was sent back. */
  readonly tries: number
  /** Whether it held before the first request; null where that was not checked. */
  readonly baseline: boolean | null
  /** It held whenever it was checked: nothing shows that the run is what made it hold. */
  readonly heldFromStart?: true
  /** Of the last round of checks; goals behind one that failed were not checked. */
  readonly checks: readonly GoalCheck[]
  /** Files that were protected and have changed: while they do, the goal is not met. */
  readonly tampered: readonly string[]
  /** Test files that the agent changed. That is not forbidden. */
  readonly changedTests: readonly string[]
  /** Checked twice with nothing changed in between, it came to different verdicts. */
  readonly flaky: boolean
}
