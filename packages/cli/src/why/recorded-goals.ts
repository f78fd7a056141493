import { recordedProgress } from '@halting/analysis'
import type { StepRecord } from '@halting/core/steps'
import type { Where } from './go-on.ts'

/** The goals of the last of these runs, for the command that has it go on. */
export function recordedGoals(runs: readonly (readonly StepRecord[])[]): Pick<Where, 'goals'> {
  const last = runs.at(-1)
  const goals = last === undefined ? undefined : recordedProgress(last).spent.goal?.specs
  return goals === undefined ? {} : { goals }
}
