import type { StageRecord } from '../after/stage-record.ts'
import type { Amount } from '../budget/ledger.ts'
import type { Eventually } from '../eventually.ts'
import type { Json } from '../json.ts'
import type { Iteration, RunEnd, RunStart } from '../state.ts'
import type { ExternalInput } from './control.ts'
import type { StepKey } from './steps.ts'

/** What records come to, but for what was said and what the last lap tells. JSON. */
export interface FoldedPast {
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
  | { readonly type: 'start'; readonly scope: string; readonly start: RunStart; readonly at: number }
  | {
      readonly type: 'intent'
      readonly key: StepKey
      readonly digest: string | null
      readonly intent: Json
      readonly at: number
    }
  | {
      readonly type: 'result'
      readonly key: StepKey
      readonly digest: string | null
      readonly value: unknown
      readonly at: number
      readonly durationMs: number
    }
  | { readonly type: 'control'; readonly key: StepKey; readonly control: ExternalInput; readonly at: number }
  | {
      readonly type: 'lap'
      readonly lap: Iteration
      /** In place of all records of its run since the start: it holds the messages of their laps, and this is what else they come to. */
      readonly folds?: FoldedPast
    }
  | ({ readonly type: 'end'; readonly scope: string } & RunEnd)
  /** Between runs: of the conversation its first `entries` are left. `after` is the id of the last of them; null for none. */
  | { readonly type: 'rewind'; readonly entries: number; readonly after: string | null }
  // Spec R-AFTER-6.
  /** A stage after a run; another run may have begun since. */
  | { readonly type: 'stage'; readonly stage: StageRecord }

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
