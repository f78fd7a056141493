import type { RunEvent } from '../state/events.ts'
import type { Eventually } from '../values/eventually.ts'
import type { Json } from '../values/json.ts'
import type { Iteration, RunEnd, RunStart } from '../state/state.ts'
import type { ExternalInput } from './control.ts'

// Spec R-STEP-2.
/** A stable name within a session: `<run>/<agent path>/tool:<request>:<index>:<call id>` and the like. */
export type StepKey = string

/** What an effect is handed. */
export interface EffectScope {
  /** The loop's own. */
  readonly signal: AbortSignal
  /** The same for every try at this step, also after a crash. */
  readonly idempotencyKey: string
  /** What is on record as its intent: of a step that runs again that of the first try. Absent where it has none. */
  readonly intent?: Json
  /** Streaming events leave live from inside an effect; they are for looking at. */
  readonly emit: (event: RunEvent) => void
}

/** What the loop asks of a driver for one step. */
export interface StepOptions<T> {
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** Reports events of the step while it runs. */
  readonly emit: (event: RunEvent) => void
  /** What was asked, told apart: a key that is found with another digest is a mismatch, not an answer, and writes nothing. */
  readonly digest?: () => string
  /** What is on record before the effect is called. Asked for only when the effect is about to be. */
  readonly intent?: () => Json
  /** What an intent without a result means: run the effect again, or this value. */
  readonly onUnfinished: 'rerun' | ((intent: Json) => T)
  /** `intent`: the intent is on disk before the effect is called. */
  readonly sync: 'none' | 'intent'
  /** It holds what other steps came to, whose keys begin with its own and a `/`: with it on record nobody asks for them. */
  readonly composite?: boolean
}

/** A step on record that nobody asks for any more: what it came to, or what it was about to do. */
export interface AbandonedStep {
  readonly key: StepKey
  readonly isDone: boolean
  readonly value: unknown
}

/** What a step came to, and when. */
export interface StepResult<T> {
  /** What the effect returned. */
  readonly value: T
  /** Answered from the record. */
  readonly replayed: boolean
  /** When it began, in milliseconds of the session's active clock, which stands still while nobody runs or a person is waited for. */
  readonly at: number
  /** Milliseconds that it took. */
  readonly durationMs: number
}

/** How a poll for control stands in the record. */
export interface ExternalInputOptions {
  /** The record does not go on behind this point, whatever it holds beside it. */
  readonly isOpen?: boolean
}

/** What ends a wait beside its answer. */
export interface WaitOptions {
  /** Ends the wait when it aborts. */
  readonly signal: AbortSignal
  /** Its longest time in milliseconds by the wall clock, counted on over kills and resumes: its moments are its intent. Without end when absent. */
  readonly longestMs?: number
  /** Called where it is waited for, with what ends the wait; gives the way to be called no more. `why` is on record, and told. */
  readonly wakeOn?: (wake: (why: string) => void) => () => void
  /** Called where it is waited for, with its moments in milliseconds since 1970; not for a wait without a longest time. */
  readonly onBegin?: (moments: {
    /** When the wait began. */
    readonly sinceMs: number
    /** When it ends at the latest. */
    readonly untilMs: number
  }) => void
}

/** How a wait ended. */
export interface Waited<T> {
  /** `over`: its longest time has passed. */
  readonly outcome: 'answered' | 'over' | 'woken' | 'aborted'
  /** Of `answered`. */
  readonly answer?: T
  /** Of `woken`. */
  readonly why?: string
  /** Milliseconds by the wall clock since it began, kills and resumes in between included, at most its longest time. 0 without one. */
  readonly waitedMs: number
  /** When it ended, in milliseconds since 1970 by when it began and how long it took; 0 without a longest time. */
  readonly endedMs: number
}

/** What a poll for control gave: mostly nothing, at once. */
export type PolledExternalInput = Eventually<ExternalInput | undefined>

// Spec R-STEP-1, R-STEP-3, R-STEP-4, R-STEP-7.
/**
 * The one port through which the loop awaits anything: journal, resume, replay and cluster are drivers of it.
 * The loop awaits only these promises, or all of several. An effect returns data and never rejects; a rejection
 * means that the driver failed. A driver may answer at once, without a promise; it refuses by rejecting, never by throwing.
 * The first result of a key wins. Nothing that the loop decides by is read from anywhere else.
 */
export interface StepEngine {
  /** True while the open turn is answered from the record. */
  readonly replaying: boolean
  /** What the record of a resumed run holds of a step that was not asked for yet. */
  peek(key: StepKey): 'done' | 'begun' | 'absent'
  /** Takes what the record of a resumed run holds under a name that nobody will ask for again. */
  abandon(prefix: StepKey): readonly AbandonedStep[]
  /** The run begins; its prompt is on record. Gives the moment, on the session's active clock. Not called by a resume. */
  begin(start: RunStart): number
  /** `T` must be JSON. */
  run<T>(
    key: StepKey,
    effect: (scope: EffectScope) => Eventually<T>,
    options: StepOptions<T>,
  ): Eventually<StepResult<T>>
  /** For subagents: a composite, never a leaf effect. */
  scope(name: string): StepEngine
  /** For an agent that works beside the run: what is on record under `prefix` is from now on its own, and what it replays is no replay of the run. */
  beside(name: string, prefix: StepKey): StepEngine
  /** From `decide` only. On record before the run changes. */
  lap(lap: Iteration): void
  /**
   * What came in from outside: abort, stop signals, messages, and the id of a reply that began, for which an effect calls it. `poll` is asked only when live;
   * what it gives is on record before it is returned.
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
  /** For a person's answer, which may come days later, or for a moment. The session's active clock stands still meanwhile. */
  wait<T>(key: StepKey, options: WaitOptions): Promise<Waited<T>>
  /** The run has ended. On record, and durable, once it settles. */
  end(end: RunEnd): Promise<void>
}
