import type { StageRecord } from './stage-record.ts'
import type { Amount } from '../limits/ledger.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import type { Json } from '../values/json.ts'
import type { Iteration, RunEnd, RunStart } from '../state/state.ts'
import type { ExternalInput } from './external-input.ts'
import type { StepKey } from './step-engine.ts'

/** The result of folding records, except for messages and for what the last iteration contains itself. JSON. */
export interface FoldedPast {
  /** Spending of finished requests. */
  readonly settled: Amount
  /** The part of it that was charged at worst case. */
  readonly unknown: Amount
  /** Reservations of requests without a result, by step key. */
  readonly open: readonly (readonly [StepKey, Amount])[]
  /** The last recorded time, on the session's active clock. */
  readonly until: number
}

/** The records of a step engine, in order. JSON, except for the classes in the run result, which have a `toJSON`. */
export type StepRecord =
  | {
      readonly type: 'start'
      /** The run that the record belongs to: '' for the main loop, otherwise the path of a subagent. */
      readonly scope: string
      /** How the run started. */
      readonly start: RunStart
      /** Milliseconds of the session's active clock. */
      readonly at: number
    }
  | {
      readonly type: 'intent'
      /** Name of the step. */
      readonly key: StepKey
      /** Hash of the request; null if the step has none. */
      readonly digest: string | null
      /** The intent of the step, for a resume that finds no result. */
      readonly intent: Json
      /** Milliseconds of the session's active clock. */
      readonly at: number
    }
  | {
      readonly type: 'result'
      /** Name of the step. */
      readonly key: StepKey
      /** Hash of the request; null if the step has none. */
      readonly digest: string | null
      /** What the step returned. */
      readonly value: unknown
      /** Start of the step, in milliseconds of the session's active clock. */
      readonly at: number
      /** Duration in milliseconds. */
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
      /** Replaces all records of its run since the start: this iteration contains their messages, and `folds` contains the rest of their totals. */
      readonly folds?: FoldedPast
    }
  | ({
      readonly type: 'end'
      /** The run that the record belongs to: '' for the main loop, otherwise the path of a subagent. */
      readonly scope: string
    } & RunEnd)
  /** A rewind between runs: the conversation was reduced to its first `entries` entries. `after` is the id of the last remaining entry; null for none. */
  | {
      readonly type: 'rewind'
      /** Number of remaining entries. */
      readonly entries: number
      /** Id of the last remaining entry; null for none. */
      readonly after: string | null
    }
  // Spec R-AFTER-6.
  /** A stage after a run; another run may have started since then. */
  | {
      readonly type: 'stage'
      /** The start or the end of the stage. */
      readonly stage: StageRecord
    }

/** Where a step engine stores its records, in order. */
export interface StepStore {
  /** `nothing`: appended records are never read, so steps need no digests. */
  readonly keeps: 'all' | 'nothing'
  /** Accepts a record, which need not be durable yet. Throwing breaks the engine. */
  append(record: StepRecord): void
  /** Settles once all appended records are durable; synchronously if there is nothing to do. Rejecting breaks the engine. */
  flush(): MaybePromise<void>
  /**
   * Called when everything in progress is waiting: for a person (null), or for at most this many milliseconds. Called
   * with undefined when work continues. A process that ends during a wait loses no data, because resuming the run
   * continues the wait. A log that can continue the run in another process may therefore release the current process.
   */
  rests?(ms: number | null | undefined): void
}
