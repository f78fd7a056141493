import type { StageRecord } from './stage-record.ts'
import type { Amount } from '../limits/ledger.ts'
import type { Eventually } from '../values/eventually.ts'
import type { Json } from '../values/json.ts'
import type { Iteration, RunEnd, RunStart } from '../state/state.ts'
import type { ExternalInput } from './control.ts'
import type { StepKey } from './steps.ts'

/** What records come to, but for what was said and what the last lap tells. JSON. */
export interface FoldedPast {
  /** What finished requests came to. */
  readonly settled: Amount
  /** The part of it that was charged at worst case. */
  readonly unknown: Amount
  /** Requests without a result, by their keys, at their reservations. */
  readonly open: readonly (readonly [StepKey, Amount])[]
  /** How far they go, on the session's active clock. */
  readonly until: number
}

/** What a driver keeps, in the order in which it happened. JSON, but for the terminal's classes, which have a `toJSON`. */
export type StepRecord =
  | {
      readonly type: 'start'
      /** Which run it is: '' for the main loop, else the path of a subagent. */
      readonly scope: string
      /** How the run began. */
      readonly start: RunStart
      /** Milliseconds of the session's active clock. */
      readonly at: number
    }
  | {
      readonly type: 'intent'
      /** Name of the step. */
      readonly key: StepKey
      /** Hash of what was asked; null where the step has none. */
      readonly digest: string | null
      /** What is about to be done, for a resume that finds no result. */
      readonly intent: Json
      /** Milliseconds of the session's active clock. */
      readonly at: number
    }
  | {
      readonly type: 'result'
      /** Name of the step. */
      readonly key: StepKey
      /** Hash of what was asked; null where the step has none. */
      readonly digest: string | null
      /** What the step returned. */
      readonly value: unknown
      /** When the step began, in milliseconds of the session's active clock. */
      readonly at: number
      /** Milliseconds that it took. */
      readonly durationMs: number
    }
  | {
      readonly type: 'control'
      /** Name of the step. */
      readonly key: StepKey
      /** What arrived. */
      readonly control: ExternalInput
      /** Milliseconds of the session's active clock. */
      readonly at: number
    }
  | {
      readonly type: 'lap'
      /** The iteration. */
      readonly lap: Iteration
      /** In place of all records of its run since the start: it holds the messages of their laps, and this is what else they come to. */
      readonly folds?: FoldedPast
    }
  | ({
      readonly type: 'end'
      /** Which run it is: '' for the main loop, else the path of a subagent. */
      readonly scope: string
    } & RunEnd)
  /** Between runs: of the conversation its first `entries` are left. `after` is the id of the last of them; null for none. */
  | {
      readonly type: 'rewind'
      /** How many entries of the conversation are left. */
      readonly entries: number
      /** Id of the last entry that is left; null for none. */
      readonly after: string | null
    }
  // Spec R-AFTER-6.
  /** A stage after a run; another run may have begun since. */
  | {
      readonly type: 'stage'
      /** The beginning or the end of the stage. */
      readonly stage: StageRecord
    }

/** Where a driver keeps its records, in their order. */
export interface StepStore {
  /** `nothing`: nobody will ask for what is appended, so steps need no digests. */
  readonly keeps: 'all' | 'nothing'
  /** Takes a record, which need not be durable yet. Throwing breaks the driver. */
  append(record: StepRecord): void
  /** Settles once all that was appended before is durable; at once where that means nothing. Rejecting breaks the driver. */
  flush(): Eventually<void>
  /**
   * Hears that from now on all that goes on is waiting: for a person (null), or for so many milliseconds at most. Undefined when something goes on again. A process
   * that ends meanwhile loses nothing: whoever resumes the run waits on. A log that can bring the run back in another process lets go of this one.
   */
  rests?(ms: number | null | undefined): void
}
