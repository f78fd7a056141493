import { isJsonObject } from '../json.ts'
import type { StopSignal, StopSignalJson } from './signal.ts'
import { StopSignals } from './signals.ts'

/** An `ExecutionContinuation` as JSON: what `toJSON` gives and `fromJSON` reads. */
export type ExecutionContinuationJson = {
  readonly stopSignals: readonly StopSignalJson[]
  readonly isContinuationRequested: boolean
}

// Spec R-DEC-2.
/** Which signals stand, and whether a hook asked to go on although they do. Immutable. */
export class ExecutionContinuation {
  static readonly #fresh: ExecutionContinuation = new ExecutionContinuation(StopSignals.empty(), false)
  readonly #signals: StopSignals
  readonly #requested: boolean

  private constructor(signals: StopSignals, requested: boolean) {
    this.#signals = signals
    this.#requested = requested
  }

  static fresh(): ExecutionContinuation {
    return ExecutionContinuation.#fresh
  }

  /** True when a signal stands and nobody asked to go on. */
  shouldStop(): boolean {
    return this.#signals.hasAny() && !this.#requested
  }

  isContinuationRequested(): boolean {
    return this.#requested
  }

  stopSignals(): StopSignals {
    return this.#signals
  }

  withNewStopSignal(signal: StopSignal): ExecutionContinuation {
    return new ExecutionContinuation(this.#signals.withSignal(signal), this.#requested)
  }

  /** Replaces all signals at once. */
  withStopSignals(signals: StopSignals): ExecutionContinuation {
    return new ExecutionContinuation(signals, this.#requested)
  }

  withContinuationRequested(requested: boolean): ExecutionContinuation {
    return requested === this.#requested ? this : new ExecutionContinuation(this.#signals, requested)
  }

  /** For logs: `Stop Signals: steps_limit: Step limit reached: 10/10; Continuation Requested: No`. */
  explain(): string {
    const signals = this.#signals.hasAny() ? `Stop Signals: ${this.#signals.toString()}` : 'No Stop Signals'
    return `${signals}; Continuation Requested: ${this.#requested ? 'Yes' : 'No'}`
  }

  toJSON(): ExecutionContinuationJson {
    return { stopSignals: this.#signals.toJSON(), isContinuationRequested: this.#requested }
  }

  static fromJSON(data: unknown): ExecutionContinuation {
    if (data instanceof ExecutionContinuation) return data
    const stored = isJsonObject(data) ? data : {}
    return new ExecutionContinuation(
      StopSignals.fromJSON(stored['stopSignals']),
      stored['isContinuationRequested'] === true,
    )
  }
}
