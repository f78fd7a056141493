import type { StepRecord } from '@halting/core/steps'
import type { RecordedBy } from './types.ts'

/** A session as it was read, whoever recorded it: what `viewOf` and `rowOf` make their figures of. */
export interface InspectedSession {
  /** Names it in this inspector; for sessions of ours their id. */
  readonly key: string
  readonly sessionId: string
  readonly program: RecordedBy
  /** What a person called it; '' for one without a name. */
  readonly title: string
  readonly cwd: string
  /** Its file; null where a cluster keeps it. */
  readonly path: string | null
  /** Milliseconds since 1970; null where that is not known. */
  readonly changedAt: number | null
  /** A process works at it. */
  readonly isLive: boolean
  /** The records of each run, in order. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** For each run the models without a price. */
  readonly unpriced: readonly (readonly string[])[]
  /** What is to be known of its record, a sentence each. */
  readonly notes: readonly string[]
  /** Why a run ended and where everything went, as `halting why` tells it, plain. Runs count from 0. */
  readonly why: (run: number) => string
}
