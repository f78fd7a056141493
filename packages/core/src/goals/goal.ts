import type { AgentState } from '../hooks/agent-state.ts'
import type { AskModel } from '../model/questions.ts'
import type { Json } from '../values/json.ts'
import type { GoalSpec } from '../verification/goal-record.ts'
import type { Changes } from '../verification/goal-progress.ts'

// Spec R-GOAL-1.
/** What must hold before a run may end as `completed`. The loop checks it, out of the reach of the model. */
export interface Goal {
  /** What a person knows it by: the command. Of one run's goals each needs another; it is on record. */
  readonly name: string
  /** A model judges it. Its verdict is worth less than that of a program, and the result says so. */
  readonly judged?: boolean
  /** Passes in a row that it takes, 1 to 100; 1 when absent. */
  readonly stable?: number
  /** Milliseconds for one check, 600,000 when absent; it is aborted then, and the goal is not met. */
  readonly timeoutMs?: number
  /** Checks once. It heeds `signal`. What it throws is the report of a check that failed. */
  check(context: GoalContext): GoalVerdict | Promise<GoalVerdict>
}

/** What a check is handed. */
export interface GoalContext {
  /** Aborted with the run, and when the time of the check is up. */
  readonly signal: AbortSignal
  /** The same for every try at this check, also after a crash. */
  readonly idempotencyKey: string
  /** The conversation. */
  readonly state: AgentState
  /** The last call that may have changed something; undefined for none. Results before its own are stale: its own is in the entry `at` of the transcript. */
  readonly changes: Changes | undefined
  /** Asks a model through the run, as `HookContext.ask` does: within its budget, and on record. */
  readonly ask: AskModel
}

/** What one check came to. */
export type GoalVerdict = {
  /** Whether the goal is met. */
  readonly met: boolean
  /** What it said, for the model and for people: a test runner's output. Only its end is used. */
  readonly report?: string
  /** Of a command; null where a signal ended it. */
  readonly exitCode?: number | null
  /** It can never hold, since it is no check at all: a command that was not found. The text says what to do. A first check that says so ends the run before anything is asked. */
  readonly unusable?: string
}

/**
 * The files around the checks: what is protected, what a check itself changes, which tests the agent changed. `@halting/agent` has it for a folder; core
 * touches no files. It is called inside the step of a round of checks, and what it gives is on record with it.
 */
export interface GoalFiles {
  /**
   * Before the checks of a round. `memo`: what `end` of an earlier round of this session gave, by whatever process; null for the first.
   * `goals` are those of the round. What it throws is a round that is not met.
   */
  begin(memo: Json | null, signal: AbortSignal, goals: readonly GoalSpec[]): GoalFilesRound | Promise<GoalFilesRound>
}

/** The files before the checks of one round. */
export interface GoalFilesRound {
  /** Files that are protected and changed since the first round, each with what is asked for: `package.json (scripts.test)`. */
  readonly tampered: readonly string[]
  /** After the checks. */
  end(): GoalFilesEnd | Promise<GoalFilesEnd>
}

/** The files after the checks of one round. */
export interface GoalFilesEnd {
  /** For the next round: what the files are held against. JSON, kept in the session. */
  readonly memo: Json
  /** Files that the checks changed: they are no progress, and the model is told so. */
  readonly changedByChecks: readonly string[]
  /** Test files that changed since the first round, but for those that checks changed. */
  readonly changedTests: readonly string[]
  /** What decides what a check runs and changed while the checks ran: what they said does not count. Nothing when absent. */
  readonly tampered?: readonly string[]
}
