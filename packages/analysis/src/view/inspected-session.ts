import type { StepRecord } from '@halting/core/steps'
import type { Account } from '../account/account.ts'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { SessionRow } from './types.ts'

/**
 * A session as it was read, whoever recorded it: what `viewOf` and `rowOf` make their figures of. Its title is what a person called it; '' for one without a
 * name.
 */
export interface InspectedSession extends Pick<
  SessionRow,
  'key' | 'sessionId' | 'program' | 'title' | 'cwd' | 'path' | 'changedAt' | 'isLive'
> {
  /** What names it to other commands of the program, as a shell takes it: its file, or the cluster and its id. It stands last. */
  readonly shellArguments: string
  /** The records of each run, in order. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** For each run the models without a price. */
  readonly unpriced: readonly (readonly string[])[]
  /** How many tokens the window of a model has; undefined where it is not known. No record has it. */
  readonly windowOf: (model: string) => number | undefined
  /** Grades of the person, and repositories of folders. Default: nobody graded a run, and each folder counts by itself. */
  readonly grading?: GradingSources
  /** What is to be known of its record, a sentence each. */
  readonly notes: readonly string[]
  /** The same value with the long texts that its records lack: their places are in the records. Absent where they lack none. */
  readonly withTexts?: <Value>(value: Value) => Promise<Value>
  /** Why a run ended and where everything went, as `halting why` tells it, plain. Runs count from 0. `account`: that of the run, where it is known. */
  readonly why: (run: number, account?: Account) => string
}
