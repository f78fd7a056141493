import type { RunEvent, RunResult, RunState, StepRecord } from '@halting/core'
import type { Iteration } from '@halting/core/steps'
import type { ExternalInput } from './world.ts'

/** What was observed of one run on a path. */
export interface ExploredRun {
  readonly start: RunState
  readonly terminal: RunResult
  readonly state: RunState
  readonly events: readonly RunEvent[]
  readonly records: readonly StepRecord[]
  /** Iterations of this run and of its subagents. */
  readonly iterations: readonly Iteration[]
  readonly effects: ReadonlyMap<string, number>
  readonly externalInputs: readonly ExternalInput[]
  /** Time of the wall clock at each record. */
  readonly wallAt: readonly number[]
  /** It continued a run that was on record. */
  readonly resumed: boolean
  /** The consumer left before the end. */
  readonly hasLeft: boolean
  /** Spending on record when it was resumed, in billionths of a dollar. */
  readonly committedBefore: number
}
