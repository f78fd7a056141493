import type { StepRecord } from '@halting/core/steps'
import type { Account } from '../account/account.ts'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { SessionRow } from './types.ts'

/** A session of any program that has been read, as input for `viewOf` and `rowOf`. Its title is the one a person gave it; '' for none. */
export interface InspectedSession extends Pick<
  SessionRow,
  'key' | 'sessionId' | 'program' | 'title' | 'cwd' | 'path' | 'changedAt' | 'isLive'
> {
  /** Last arguments that identify it to other commands of the program, quoted for a shell: its file, or the cluster and its id. */
  readonly shellArguments: string
  /** The records of each run, in order. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** Models without a price, for each run. */
  readonly unpriced: readonly (readonly string[])[]
  /** Tokens of a model's context window; undefined if unknown. Records do not contain it. */
  readonly windowOf: (model: string) => number | undefined
  /** Grades by people, and repositories of folders. Default: no grades, and each folder counts separately. */
  readonly grading?: GradingSources
  /** Remarks on its record, a sentence each. */
  readonly notes: readonly string[]
  /** Loads long texts that its records only refer to into a value. Absent when there are none. */
  readonly withTexts?: <Value>(value: Value) => Promise<Value>
  /**
   * Explains why a run ended and where everything went, as the plain text of `halting why`. Runs count from 0. `account`: that of the run, if already
   * computed.
   */
  readonly why: (run: number, account?: Account) => string
}
