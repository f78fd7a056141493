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
  /** The abort signal of the loop. */
  readonly signal: AbortSignal
  /** A key that is the same for every attempt at this step, even after a crash. */
  readonly idempotencyKey: string
  /** The recorded intent. For a step that runs again, it is the intent of the first attempt. Absent if the step has none. */
  readonly intent?: Json
  /** Reports streaming events live from a side effect, for display only. */
  readonly emit: (event: RunEvent) => void
}

/** Options of one step. */
export interface StepOptions<T> {
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal
  /** Reports events of the step while it runs. */
  readonly emit: (event: RunEvent) => void
  /**
   * Returns a hash that identifies the request. If a recorded key has another digest, the record does not answer this
   * step: the step fails with a mismatch, and nothing is written.
   */
  readonly digest?: () => string
  /** Returns the intent, which is recorded before the side effect. Called only when the side effect is about to run. */
  readonly intent?: () => Json
  /** What to do about an intent without a result: run the side effect again, or return this value. */
  readonly onUnfinished: 'rerun' | ((intent: Json) => T)
  /** `intent`: the intent is durable before the side effect runs. */
  readonly sync: 'none' | 'intent'
  /** Whether the step includes other steps, whose keys begin with its own key and a `/`. Once this step is recorded, they are not run again. */
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
  /** Whether the result comes from the record. */
  readonly replayed: boolean
  /** Start, in milliseconds of the session's active clock. That clock is paused while no process runs the session, or while the run waits for a person. */
  readonly at: number
  /** Duration in milliseconds. */
  readonly durationMs: number
}

/** How a poll for external input is recorded. */
export interface ExternalInputOptions {
  /** Whether the record counts as ended at this point, even if it contains other records. */
  readonly isOpen?: boolean
}

/** What ends a wait, in addition to its answer. */
export interface WaitOptions {
  /** Ends the wait when it aborts. */
  readonly signal: AbortSignal
  /**
   * Maximum duration in milliseconds of wall time, including time after kills and before resumes: the start and the end
   * of the wait are its intent. Unlimited when absent.
   */
  readonly longestMs?: number
  /** Called at the start of the wait with a function that ends it; returns a function that unsubscribes. `why` is recorded and reported. */
  readonly wakeOn?: (wake: (why: string) => void) => () => void
  /** Called at the start of the wait with its times in milliseconds since 1970. Not called for a wait without a maximum duration. */
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
  /** The answer, if the outcome is `answered`. */
  readonly answer?: T
  /** The reason, if the outcome is `woken`. */
  readonly why?: string
  /** Wall time in milliseconds since the wait began, including kills and resumes, and at most its maximum duration. 0 without a maximum duration. */
  readonly waitedMs: number
  /** End of the wait in milliseconds since 1970, calculated from its start and duration; 0 without a maximum duration. */
  readonly endedMs: number
}

/** The result of a poll for external input: in most cases undefined, without a promise. */
export type PolledExternalInput = MaybePromise<ExternalInput | undefined>

// Spec R-STEP-1, R-STEP-3, R-STEP-4, R-STEP-7.
/**
 * The only port through which the loop awaits anything. Journal, resume, replay and cluster implement it. The loop
 * awaits only these promises, or all of several. A side effect returns data and never rejects; a rejection means that
 * the engine failed. An engine may answer without a promise; it refuses by rejecting, never by throwing. The first
 * result of a key wins. All decisions of the loop depend only on these answers.
 */
export interface StepEngine {
  /** True while the open turn is answered from the record. */
  readonly replaying: boolean
  /** Whether the record of a resumed run contains a result (`done`), only an intent (`begun`), or nothing for a step that was not run yet. */
  peek(key: StepKey): 'done' | 'begun' | 'absent'
  /** Removes and returns the recorded steps of a resumed run under a prefix that is not used any more. */
  abandon(prefix: StepKey): readonly AbandonedStep[]
  /** Records the start of the run and its prompt. Returns the time on the session's active clock. A resume does not call this. */
  begin(start: RunStart): number
  /** `T` must be JSON. */
  run<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
  ): MaybePromise<StepResult<T>>
  /** A step engine for a subagent: a subagent is a composite step, never a single side effect. */
  scope(name: string): StepEngine
  /** A step engine for a background agent. It owns the records under `prefix` from then on, and its replay does not count as a replay of the run. */
  concurrent(name: string, prefix: StepKey): StepEngine
  /** Records an iteration before the run changes. Only `decide` calls this. */
  lap(lap: Iteration): void
  /**
   * Polls for external input: abort, stop signals, messages. A side effect also calls it, to record the id of a reply
   * that has started. `poll` is called only when live; its result is recorded before it is returned.
   */
  control(key: StepKey, poll: () => PolledExternalInput, options?: ExternalInputOptions): PolledExternalInput
  /** Waits for a time. Resolves early, without an error, when aborted. The deadline is the intent of the step. */
  sleep(
    key: StepKey,
    ms: number,
    options: {
      /** Ends the sleep early when it aborts. */
      readonly signal: AbortSignal
    },
  ): Promise<void>
  /** Waits for a person's answer, which may arrive days later, or for a point in time. The session's active clock is paused meanwhile. */
  wait<T>(key: StepKey, options: WaitOptions): Promise<WaitResult<T>>
  /** The run has ended. The end is recorded and durable once the promise settles. */
  end(end: RunEnd): Promise<void>
}
