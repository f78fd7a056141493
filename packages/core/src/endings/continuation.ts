import { isJsonObject } from '../values/json.ts'
import type { StopSignal, StopSignalJson } from './signal.ts'
import { StopSignals } from './signals.ts'

/** An `ExecutionContinuation` as JSON: the output of `toJSON` and the input of `fromJSON`. */
export type ExecutionContinuationJson = {
  /** The signals, in the order in which they were raised. */
  readonly stopSignals: readonly StopSignalJson[]
  /** Whether a hook asked to continue in spite of them. */
  readonly isContinuationRequested: boolean
}

// Spec R-DEC-2.
/** The raised stop signals, and whether a hook requested to continue in spite of them. Immutable. */
export class ExecutionContinuation {
  static readonly #fresh: ExecutionContinuation = new ExecutionContinuation(StopSignals.empty(), false)
  readonly #signals: StopSignals
  readonly #requested: boolean

  private constructor(signals: StopSignals, requested: boolean) {
    this.#signals = signals
    this.#requested = requested
  }

  /** Without a signal and without a request to continue. */
  static fresh(): ExecutionContinuation {
    return ExecutionContinuation.#fresh
  }

  /** True when a signal is raised and no hook requested to continue. */
  shouldStop(): boolean {
    return this.#signals.hasAny() && !this.#requested
  }

  /** Whether a hook asked to continue in spite of the signals. */
  isContinuationRequested(): boolean {
    return this.#requested
  }

  /** The signals, in the order in which they were raised. */
  stopSignals(): StopSignals {
    return this.#signals
  }

  /** A copy with this signal added. */
  withNewStopSignal(signal: StopSignal): ExecutionContinuation {
    return new ExecutionContinuation(this.#signals.withSignal(signal), this.#requested)
  }

  /** Replaces all signals at once. */
  withStopSignals(signals: StopSignals): ExecutionContinuation {
    return new ExecutionContinuation(signals, this.#requested)
  }

  /** A copy in which continuing is requested, or no longer is. */
  withContinuationRequested(requested: boolean): ExecutionContinuation {
    return requested === this.#requested ? this : new ExecutionContinuation(this.#signals, requested)
  }

  /** For logs: `Stop Signals: steps_limit: Step limit reached: 10/10; Continuation Requested: No`. */
  explain(): string {
    const signals = this.#signals.hasAny() ? `Stop Signals: ${this.#signals.toString()}` : 'No Stop Signals'
    return `${signals}; Continuation Requested: ${this.#requested ? 'Yes' : 'No'}`
  }

  /** The stored form, which `fromJSON` reads. */
  toJSON(): ExecutionContinuationJson {
    return { stopSignals: this.#signals.toJSON(), isContinuationRequested: this.#requested }
  }

  /** Reads the output of `toJSON`; unreadable parts count as absent. */
  static fromJSON(data: unknown): ExecutionContinuation {
    if (data instanceof ExecutionContinuation) return data
    const stored = isJsonObject(data) ? data : {}
    return new ExecutionContinuation(
      StopSignals.fromJSON(stored['stopSignals']),
      stored['isContinuationRequested'] === true,
    )
  }
}
