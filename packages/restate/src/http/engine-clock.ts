/** An answer is dated in whole seconds, and clocks that a service sets differ by less. */
const leastOffMs = 2_000

/**
 * The engine's clock, as far as the dates of its answers tell. What workers compare or store across processes is by this clock: the clock of one of their machines may be
 * wrong by hours, or be set. Durations within a process are by `performance.now`.
 */
export class EngineClock {
  readonly #own: () => number
  #offsetMs = 0

  /** @param own Milliseconds since 1970, by the clock of this machine. */
  constructor(own: () => number = Date.now) {
    this.#own = own
  }

  /** What is added to the clock of this machine; 0 while both agree within two seconds. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Milliseconds since 1970. */
  readonly now = (): number => this.#own() + this.#offsetMs

  /** When a request is about to be sent. Gives what is called with the date of its answer. */
  ask(): (date: string | null) => void {
    const [sentMs, sentAt] = [this.#own(), performance.now()]
    return (date) => {
      const dated = date === null ? NaN : Date.parse(date)
      const tookMs = performance.now() - sentAt
      if (Number.isNaN(dated) || tookMs > leastOffMs) return
      // It is cut to a second, and was written some time in between.
      const offsetMs = Math.round(dated + 500 - (sentMs + tookMs / 2))
      if (Math.abs(offsetMs) <= leastOffMs) this.#offsetMs = 0
      // A clock that is off stays off by as much: it does not tremble with the seconds.
      else if (Math.abs(offsetMs - this.#offsetMs) > leastOffMs) this.#offsetMs = offsetMs
    }
  }
}

/** The one of this process: its machine has one clock. */
export const engineClock: EngineClock = new EngineClock()

/**
 * Asks the SDK for something that is to happen later: it makes a moment of a delay by `Date.now`, takes no delay below zero, and the engine waits for that moment. By a clock
 * that is an hour ahead it would wait an hour longer. `ask` asks at once, and nothing else of this process runs meanwhile.
 */
export function atEngineTime<T>(ask: () => T, clock: Pick<EngineClock, 'offsetMs'> = engineClock): T {
  if (clock.offsetMs === 0) return ask()
  const own = Date.now
  const now = own() + clock.offsetMs
  Date.now = () => now
  try {
    return ask()
  } finally {
    Date.now = own
  }
}

/** Milliseconds since 1970 by the engine's clock, the same for every attempt: as `context.date.now`, which is by the clock of this machine. */
export function engineTime(context: { run(action: () => number): PromiseLike<number> }): PromiseLike<number> {
  return context.run(() => engineClock.now())
}
