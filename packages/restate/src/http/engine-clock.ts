/** Smallest clock difference that is corrected: answers are dated in whole seconds, and synchronized clocks differ by less. */
const minOffsetMs = 2_000

/**
 * The engine's clock, derived from the dates of its answers. Times that workers compare or store across processes use it, because the clock of a machine may be wrong by hours or
 * be changed. Durations within a process use `performance.now`.
 */
export class EngineClock {
  readonly #own: () => number
  #offsetMs = 0

  /** @param localClock Milliseconds since 1970, by the clock of this machine. */
  constructor(localClock: () => number = Date.now) {
    this.#own = localClock
  }

  /** Offset to the clock of this machine; 0 while both agree within two seconds. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Milliseconds since 1970. */
  readonly now = (): number => this.#own() + this.#offsetMs

  /** Call it when a request is about to be sent. Returns a function to call with the date of the answer. */
  ask(): (date: string | null) => void {
    const [sentMs, sentAt] = [this.#own(), performance.now()]
    return (date) => {
      const dated = date === null ? NaN : Date.parse(date)
      const tookMs = performance.now() - sentAt
      if (Number.isNaN(dated) || tookMs > minOffsetMs) return
      // The date is truncated to a second, and was written at some time in between.
      const offsetMs = Math.round(dated + 500 - (sentMs + tookMs / 2))
      if (Math.abs(offsetMs) <= minOffsetMs) this.#offsetMs = 0
      // The offset is kept while it changes little, so that it does not jitter with the seconds.
      else if (Math.abs(offsetMs - this.#offsetMs) > minOffsetMs) this.#offsetMs = offsetMs
    }
  }
}

/** The clock of this process: its machine has only one. */
export const engineClock: EngineClock = new EngineClock()

/**
 * Requests a delayed action from the SDK. The SDK converts a delay into a time by `Date.now`, and the engine waits for
 * that time: with a clock that is an hour ahead it would wait an hour longer. `ask` must be synchronous, so that no
 * other code sees the changed clock.
 */
export function atEngineTime<T>(ask: () => T, clock: Pick<EngineClock, 'offsetMs'> = engineClock): T {
  if (clock.offsetMs === 0) return ask()
  const localClock = Date.now
  const now = localClock() + clock.offsetMs
  Date.now = () => now
  try {
    return ask()
  } finally {
    Date.now = localClock
  }
}

/** Milliseconds since 1970 by the engine's clock, the same in every attempt. Replaces `context.date.now`, which uses the clock of this machine. */
export function engineTime(context: { run(action: () => number): PromiseLike<number> }): PromiseLike<number> {
  return context.run(() => engineClock.now())
}
