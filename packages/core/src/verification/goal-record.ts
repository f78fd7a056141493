import type { AbortCause } from '../values/abort.ts'
import type { Json } from '../values/json.ts'

/** A goal in the record, from which a resuming program recreates it. JSON. */
export type GoalSpec = {
  /** The command, or the text of a judged goal. */
  readonly name: string
  /** Set if a model judges the goal, not a program. */
  readonly judged?: true
  /** A number that changes when the person sets the goal again: the protected files are scanned again, and the tries restart. */
  readonly set?: number
}

/** When goals are checked: before the first request, at an answer, after a turn with changes, and at a limit. */
export type GoalPlace = 'baseline' | 'answer' | 'turn' | 'limit'

/** One check, as recorded and reported. JSON. */
export type GoalCheck = {
  /** Name of the check. */
  readonly name: string
  /** Whether it passed. */
  readonly met: boolean
  /** Null for a check that is not a command or was ended by a signal. */
  readonly exitCode: number | null
  /** Milliseconds that it took. */
  readonly durationMs: number
  /** The end of its report: at most 10 lines and 1,000 characters. */
  readonly tail: string
  readonly judged?: true
  readonly timedOut?: true
  /** Number of the pass that failed, or of the last one, if several consecutive passes are required. */
  readonly pass?: number
}

/** The result of a round of checks, as its step records it. JSON. */
export type RoundRecord = {
  readonly met: boolean
  /** Checks up to the first failed one. */
  readonly checks: readonly GoalCheck[]
  /** The bounded report of the failed check, for the model; '' if none failed. */
  readonly report: string
  readonly tampered: readonly string[]
  readonly changedByChecks: readonly string[]
  readonly changedTests: readonly string[]
  /** Whether two consecutive passes differed. */
  readonly isUnstable: boolean
  /** What to do about a check that can never pass; absent otherwise. */
  readonly unusable?: string
  /** The state that later rounds compare the files with; absent if unchanged. */
  readonly memo?: Json
  /** Files that changed since the previous run, at whose end they were unmodified: these changes count as the person's. */
  readonly takenOver?: readonly string[]
  /** The round was aborted. */
  readonly aborted?: AbortCause
}

/** Whether a run met its goal: in the result, the result line, the event and the record. JSON. */
export type GoalResult = {
  /** `unknown`: something changed since the last check, or there was no check. */
  readonly met: boolean | 'unknown'
  /** Set if a model judged at least one of the goals. */
  readonly judged?: true
  /** How often an answer was sent back. */
  readonly tries: number
  /** Whether the goal was met before the first request; null if that was not checked. */
  readonly baseline: boolean | null
  /** Set if the goal was met at every check, so that nothing shows that the run is the cause. */
  readonly heldFromStart?: true
  /** Checks of the last round; goals after a failed one were not checked. */
  readonly checks: readonly GoalCheck[]
  /** Protected files that have changed. Until they are restored, the goal is not met. */
  readonly tampered: readonly string[]
  /** Test files that the agent changed. This is allowed. */
  readonly changedTests: readonly string[]
  /** Whether two checks gave different verdicts although nothing had changed between them. */
  readonly flaky: boolean
}
