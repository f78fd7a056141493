import { StopCategory } from './reason.ts'
import { StopSignal, type StopSignalJson } from './signal.ts'

// Spec R-STOP-3.
/** An immutable list of signals in the order in which they were raised. */
export class StopSignals implements Iterable<StopSignal> {
  static readonly #empty: StopSignals = new StopSignals([])
  readonly #signals: readonly StopSignal[]

  private constructor(signals: readonly StopSignal[]) {
    this.#signals = signals
  }

  /** The list without signals. */
  static empty(): StopSignals {
    return StopSignals.#empty
  }

  /** A list of these signals, in this order. */
  static of(...signals: readonly StopSignal[]): StopSignals {
    return signals.length === 0 ? StopSignals.#empty : new StopSignals([...signals])
  }

  /** A new list with this signal at its end. */
  withSignal(signal: StopSignal): StopSignals {
    return new StopSignals([...this.#signals, signal])
  }

  /** Whether there is any signal. */
  hasAny(): boolean {
    return this.#signals.length > 0
  }

  /** The number of signals. */
  get size(): number {
    return this.#signals.length
  }

  /** The signal that was raised first, or null. */
  first(): StopSignal | null {
    return this.#signals[0] ?? null
  }

  /**
   * The most urgent signal, or null: the one with the lowest priority number. At equal numbers a person's signal
   * precedes a limit's; otherwise the earliest one does.
   */
  highest(): StopSignal | null {
    let highest: StopSignal | null = null
    for (const signal of this.#signals) {
      if (highest === null || outranks(signal, highest)) highest = signal
    }
    return highest
  }

  /** `steps_limit: Step limit reached: 10/10 | token_limit: Token limit reached` */
  toString(): string {
    return this.#signals.join(' | ')
  }

  /** The stored forms, in order. */
  toJSON(): readonly StopSignalJson[] {
    return this.#signals.map((signal) => signal.toJSON())
  }

  /** Reads stored data; anything but a list becomes empty. */
  static fromJSON(data: unknown): StopSignals {
    if (data instanceof StopSignals) return data
    return Array.isArray(data)
      ? StopSignals.of(...data.map((stored) => StopSignal.fromJSON(stored)))
      : StopSignals.#empty
  }

  /** Iterates over the signals in the order in which they were raised. */
  [Symbol.iterator](): Iterator<StopSignal> {
    return this.#signals[Symbol.iterator]()
  }
}

function outranks(a: StopSignal, b: StopSignal): boolean {
  const order = StopCategory.compare(a.reason, b.reason)
  return order < 0 || (order === 0 && a.reason === 'user_requested' && b.reason !== 'user_requested')
}
