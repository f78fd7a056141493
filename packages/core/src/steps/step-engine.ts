import type { RunEvent } from '../state/events.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import type { Json } from '../values/json.ts'
import type { Iteration, RunEnd, RunStart } from '../state/state.ts'
import type { ExternalInput } from './external-input.ts'

// Spec R-STEP-2.
/** A stable name within a session: `<run>/<agent path>/tool:<request>:<index>:<call id>` and similar. */
export type StepKey = string

/** What a side effect receives. */
export interface SideEffectScope {
  /** The loop's own abort signal. */
  readonly signal: AbortSignal
  /** The same for every attempt at this step, even after a crash. */
  readonly idempotencyKey: string
  /** The recorded intent; for a step that runs again, that of the first attempt. Absent if it has none. */
  readonly intent?: Json
  /** Reports streaming events live from a side effect, for display only. */
  readonly emit: (event: RunEvent) => void
}

/** Options of one step. */
export interface StepOptions<T> {
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** Reports events of the step while it runs. */
  readonly emit: (event: RunEvent) => void
  /** Identifies the request. A recorded key with another digest is a mismatch, not an answer, and writes nothing. */
  readonly digest?: () => string
  /** Recorded before the side effect. Called only when the side effect is about to run. */
  readonly intent?: () => Json
  /** What to do about an intent without a result: run the side effect again, or return this value. */
  readonly onUnfinished: 'rerun' | ((intent: Json) => T)
  /** `intent`: the intent is durable before the side effect runs. */
  readonly sync: 'none' | 'intent'
  /** It includes other steps, whose keys begin with its own and a `/`. Once it is recorded, they are not run again. */
  readonly composite?: boolean
}

/** A recorded step that is not run any more: its result, or its intent. */
export interface AbandonedStep {
  readonly key: StepKey
  readonly isDone: boolean
  readonly value: unknown
}

/** The result of a step, and when it ran. */
export interface StepResult<T> {
  /** The return value of the side effect. */
  readonly value: T
  /** Answered from the record. */
  readonly replayed: boolean
  /** Start, in milliseconds of the session's active clock, which is paused while nobody runs or a person is waited for. */
  readonly at: number
  /** Duration in milliseconds. */
  readonly durationMs: number
}

/** How a poll for external input is recorded. */
export interface ExternalInputOptions {
  /** The record ends here, whatever other records it contains. */
  readonly isOpen?: boolean
}

/** What ends a wait other than its answer. */
export interface WaitOptions {
  /** Ends the wait when it aborts. */
  readonly signal: AbortSignal
  /** Maximum duration in milliseconds of wall time, continued across kills and resumes: its start and end are its intent. Unlimited when absent. */
  readonly longestMs?: number
  /** Called at the start of the wait with a function that ends it; returns a function that unsubscribes. `why` is recorded and reported. */
  readonly wakeOn?: (wake: (why: string) => void) => () => void
  /** Called at the start of the wait with its times in milliseconds since 1970; not for a wait without a maximum duration. */
  readonly onBegin?: (moments: {
    /** Start of the wait. */
    readonly sinceMs: number
    /** Latest end of the wait. */
    readonly untilMs: number
  }) => void
}

/** The outcome of a wait. */
export interface WaitResult<T> {
  /** `over`: its maximum duration has passed. */
  readonly outcome: 'answered' | 'over' | 'woken' | 'aborted'
  /** For `answered`. */
  readonly answer?: T
  /** For `woken`. */
  readonly why?: string
  /** Wall time in milliseconds since it began, including kills and resumes in between, at most its maximum duration. 0 without one. */
  readonly waitedMs: number
  /** When it ended, in milliseconds since 1970, calculated from its start and duration; 0 without a maximum duration. */
  readonly endedMs: number
}

/** The result of a poll for external input: mostly undefined, without a promise. */
export type PolledExternalInput = MaybePromise<ExternalInput | undefined>

// Spec R-STEP-1, R-STEP-3, R-STEP-4, R-STEP-7.
/**
 * The only port through which the loop awaits anything: journal, resume, replay and cluster implement it.
 * The loop awaits only these promises, or all of several. A side effect returns data and never rejects; a rejection
 * means that the engine failed. An engine may answer without a promise; it refuses by rejecting, never by throwing.
 * The first result of a key wins. The loop bases its decisions on nothing else.
 */
export interface StepEngine {
  /** True while the open turn is answered from the record. */
  readonly replaying: boolean
  /** What the record of a resumed run has for a step that was not run yet. */
  peek(key: StepKey): 'done' | 'begun' | 'absent'
  /** Removes and returns the recorded steps of a resumed run under a prefix that is not used any more. */
  abandon(prefix: StepKey): readonly AbandonedStep[]
  /** Records the start of the run and its prompt. Returns the time on the session's active clock. Not called by a resume. */
  begin(start: RunStart): number
  /** `T` must be JSON. */
  run<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
  ): MaybePromise<StepResult<T>>
  /** For subagents: a composite step, never a single side effect. */
  scope(name: string): StepEngine
  /** For a background agent: it owns the records under `prefix` from now on, and its replay does not count as a replay of the run. */
  concurrent(name: string, prefix: StepKey): StepEngine
  /** Called only by `decide`. Recorded before the run changes. */
  lap(lap: Iteration): void
  /**
   * External input: abort, stop signals, messages, and the id of a started reply, for which a side effect calls it.
   * `poll` is called only when live; its result is recorded before it is returned.
   */
  control(key: StepKey, poll: () => PolledExternalInput, options?: ExternalInputOptions): PolledExternalInput
  /** Resolves early, without an error, when aborted. The deadline is its intent. */
  sleep(
    key: StepKey,
    ms: number,
    options: {
      /** Ends the sleep early when it aborts. */
      readonly signal: AbortSignal
    },
  ): Promise<void>
  /** Waits for a person's answer, which may come days later, or for a point in time. The session's active clock is paused meanwhile. */
  wait<T>(key: StepKey, options: WaitOptions): Promise<WaitResult<T>>
  /** The run has ended. The end is recorded and durable once the promise settles. */
  end(end: RunEnd): Promise<void>
}
