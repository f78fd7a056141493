import { jsonObjectOf, type JsonObject } from '../values/json.ts'
import { StopSignal } from './signal.ts'

/** The options of a thrown stop; all of them are optional. */
export interface AgentStopInit {
  /** The signal to stop with; without one the reason is `stop_requested`. */
  readonly signal?: StopSignal
  /** For a person, if there is no signal. */
  readonly message?: string
  /** The step in which it was thrown, for diagnosis. This value and the context are stored as JSON. */
  readonly step?: JsonObject
  /** Limits and counters for diagnosis, if there is no signal. */
  readonly context?: JsonObject
  /** Name of the source that stops the run. */
  readonly source?: string
  /** The error that led to the stop, as `Error.cause`. */
  readonly cause?: unknown
}

// Spec R-STOP-7.
/**
 * Thrown by a tool or a hook to stop the run. It is control flow, not an error. The turn is recorded, running calls of
 * the same batch finish, and the others get the result "Not run". Its message is that of the signal, or else its own, or
 * else the reason.
 */
export class AgentStopException extends Error {
  override readonly name = 'AgentStopException'
  /** The signal that the run stops with. */
  readonly signal: StopSignal
  /** The step in which it was thrown; null if none was given. */
  readonly step: JsonObject | null
  /** The context of the signal. */
  readonly context: JsonObject
  /** Name of the source that stops the run; null when not known. */
  readonly source: string | null

  constructor(init: AgentStopInit = {}) {
    const signal = init.signal ?? new StopSignal({ reason: 'stop_requested', message: init.message ?? '' })
    super(signal.message || init.message || signal.reason, init.cause === undefined ? undefined : { cause: init.cause })
    this.signal = signal
    this.step = init.step === undefined ? null : jsonObjectOf(init.step)
    this.context = jsonObjectOf(init.context)
    this.source = init.source ?? null
  }
}
