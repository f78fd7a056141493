import type { RunEvent, RunResult, RunState, StepRecord } from '@halting/core'
import type { Iteration } from '@halting/core/steps'
import type { ExternalInput } from './world.ts'

/** What one run on a path came to. */
export interface ExploredRun {
  readonly start: RunState
  readonly terminal: RunResult
  readonly state: RunState
  readonly events: readonly RunEvent[]
  readonly records: readonly StepRecord[]
  /** Laps that this run made, subagents' too. */
  readonly iterations: readonly Iteration[]
  readonly effects: ReadonlyMap<string, number>
  readonly externalInputs: readonly ExternalInput[]
  /** What the wall clock showed at each record. */
  readonly wallAt: readonly number[]
  /** It goes on with a run that was on record. */
  readonly resumed: boolean
  /** The consumer left before the end. */
  readonly hasLeft: boolean
  /** What its record had spent when it was gone on with, in billionths of a dollar. */
  readonly committedBefore: number
}
