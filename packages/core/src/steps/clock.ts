/** Time as a driver needs it. The loop itself reads no clock: it knows only the times in its step records. */
export interface Clock {
  /**
   * Milliseconds since some fixed moment, for durations and limits. Give a clock that nobody sets and that stands still while the machine sleeps, as
   * `performance.now()` does on Linux. Where one goes back, the time in between counts as none.
   */
  now(): number
  /** Milliseconds since 1970, for what must differ between processes, such as the id of a session. `now` when absent. */
  wallTime?(): number
  /** Calls back after `ms` milliseconds, unless the returned function was called before. */
  after(ms: number, callback: () => void): () => void
  /**
   * Resolves once the host's timers and I/O had a turn; undefined while they are not behind. Asked after every step. Without it, a model and tools
   * that answer at once keep timers from firing: time limits and aborts by timers would come late.
   */
  pause?(): Promise<void> | undefined
}

const steadyClocks = new WeakMap<Clock, Clock>()

/** The same clock, whose `now` never goes back. All who ask for that of one clock have the same one, so they agree on the time. */
export function steadyClock(clock: Clock): Clock {
  const known = steadyClocks.get(clock)
  if (known !== undefined) return known
  const steady = new SteadyClock(clock)
  steadyClocks.set(clock, steady)
  steadyClocks.set(steady, steady)
  return steady
}

class SteadyClock implements Clock {
  readonly pause?: () => Promise<void> | undefined
  readonly #clock: Clock
  /** What the clock showed when it was read last. */
  #shown: number
  #now: number

  constructor(clock: Clock) {
    this.#clock = clock
    const shown = clock.now()
    this.#shown = this.#now = Number.isFinite(shown) ? shown : 0
    if (clock.pause !== undefined) this.pause = () => clock.pause?.()
  }

  now(): number {
    const shown = this.#clock.now()
    if (!Number.isFinite(shown)) return this.#now
    if (shown > this.#shown) this.#now += shown - this.#shown
    this.#shown = shown
    return this.#now
  }

  wallTime(): number {
    return wallTimeOf(this.#clock)
  }

  after(ms: number, callback: () => void): () => void {
    return this.#clock.after(ms, callback)
  }
}

/** Milliseconds since 1970, or what the clock has in the place of these. */
export function wallTimeOf(clock: Clock): number {
  return clock.wallTime?.() ?? clock.now()
}
