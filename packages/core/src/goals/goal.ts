import type { AgentState } from '../hooks/agent-state.ts'
import type { AskModel } from '../model/questions.ts'
import type { Json } from '../values/json.ts'
import type { GoalSpec } from '../verification/goal-record.ts'
import type { Changes } from '../verification/goal-progress.ts'

// Spec R-GOAL-1.
/** A condition for ending a run as `completed`. The loop checks the condition; the model cannot influence the check. */
export interface Goal {
  /** The name for people: the command. It is recorded, and unique among a run's goals. */
  readonly name: string
  /** Whether a model judges the goal. Its verdict is weaker than that of a program, and the result says so. */
  readonly judged?: boolean
  /** Required number of consecutive passes, 1 to 100 (default: 1). */
  readonly stable?: number
  /** Time limit of one check in milliseconds (default: 600,000). At the limit the check is aborted, and the goal is not met. */
  readonly timeoutMs?: number
  /** Runs the check once. It must react to `signal`. If it throws, the error is the report of a failed check. */
  check(context: GoalContext): GoalVerdict | Promise<GoalVerdict>
}

/** What a check receives. */
export interface GoalContext {
  /** Aborted with the run, and at the time limit of the check. */
  readonly signal: AbortSignal
  /** A key that is the same for every attempt at this check, even after a crash. */
  readonly idempotencyKey: string
  /** The conversation. */
  readonly state: AgentState
  /** The last call that may have changed something; undefined if there was none. Earlier results are stale. Its own result is in transcript entry `at`. */
  readonly changes: Changes | undefined
  /** Asks a model through the run, like `HookContext.ask`: within its budget, and recorded. */
  readonly ask: AskModel
}

/** The verdict of one check. */
export type GoalVerdict = {
  /** Whether the goal is met. */
  readonly met: boolean
  /** The output of the check, for the model and for people: a test runner's output. Only its end is used. */
  readonly report?: string
  /** Exit code of a command; null if a signal ended it. */
  readonly exitCode?: number | null
  /**
   * Set if the check can never pass, for example because a command was not found. The text says what to do. If the first
   * check reports this, the run ends before any request.
   */
  readonly unusable?: string
}

/**
 * The files that the checks depend on: protected files, files that checks change, and tests that the agent changed.
 * `@halting/agent` implements it for a folder; core accesses no files. It is called inside the step of a round of
 * checks, and that step records its answer.
 */
export interface GoalFiles {
  /**
   * Called before the checks of a round. `memo`: what `end` of an earlier round of this session returned, in any
   * process; null for the first. `goals` are the goals of the round. If it throws, the round is not met.
   */
  begin(memo: Json | null, signal: AbortSignal, goals: readonly GoalSpec[]): GoalFilesRound | Promise<GoalFilesRound>
}

/** The files before the checks of one round. */
export interface GoalFilesRound {
  /** Protected files that changed since the first round, with the protected part: `package.json (scripts.test)`. */
  readonly tampered: readonly string[]
  /** Called after the checks. */
  end(): GoalFilesEnd | Promise<GoalFilesEnd>
}

/** The files after the checks of one round. */
export interface GoalFilesEnd {
  /** State for the next round, which compares the files with it. JSON, stored in the session. */
  readonly memo: Json
  /** Files that the checks changed. They do not count as progress, and the model is informed. */
  readonly changedByChecks: readonly string[]
  /** Test files that changed since the first round, except those that checks changed. */
  readonly changedTests: readonly string[]
  /** Protected files that changed while the checks ran, so that the verdicts do not count. Default: none. */
  readonly tampered?: readonly string[]
}
