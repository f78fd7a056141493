/** The time source of a step engine. The loop itself reads no clock: it only knows the times in its step records. */
export interface Clock {
  /**
   * Milliseconds since some fixed time, for durations and limits. Use a monotonic clock that stops while the machine
   * sleeps, such as `performance.now()` on Linux. If the clock goes back, the time between the two readings counts as
   * zero.
   */
  now(): number
  /** Milliseconds since 1970, for values that must differ between processes, such as a session id. Defaults to `now`. */
  wallTime?(): number
  /** Calls back once after `ms` milliseconds, unless the returned function is called earlier. */
  after(ms: number, callback: () => void): () => void
  /**
   * Resolves once the host's timers and I/O have run; undefined while they are not delayed. Called after every step.
   * Without it, a model and tools that answer immediately keep timers from firing, so time limits and aborts by timers
   * are late. A pause that hangs is abandoned after one second; a pause that fails counts as done.
   */
  pause?(): Promise<void> | undefined
}

const steadyClocks = new WeakMap<Clock, Clock>()

/**
 * Wraps a clock so that the loop can rely on it. `now` never goes back. A timer calls back once, after `after` has
 * returned and not after it was cancelled. A pause is a native promise that resolves. Each clock has one wrapper, so all
 * users agree on the time.
 */
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
  /** The last reading of the clock. */
  #lastReading: number
  #now: number

  constructor(clock: Clock) {
    this.#clock = clock
    const reading = clock.now()
    this.#lastReading = this.#now = Number.isFinite(reading) ? reading : 0
    if (clock.pause !== undefined) this.pause = () => this.#pause()
  }

  now(): number {
    const reading = this.#clock.now()
    if (!Number.isFinite(reading)) return this.#now
    if (reading > this.#lastReading) this.#now += reading - this.#lastReading
    this.#lastReading = reading
    return this.#now
  }

  wallTime(): number {
    return wallTimeOf(this.#clock)
  }

  after(ms: number, callback: () => void): () => void {
    let state: 'starting' | 'waiting' | 'over' = 'starting'
    const call = (): void => {
      if (state === 'over') return
      state = 'over'
      callback()
    }
    const cancel: unknown = this.#clock.after(ms, () => {
      // The caller cannot have received the function that cancels the timer yet, so the callback is deferred.
      if (state === 'starting') void Promise.resolve().then(call)
      else call()
    })
    if (state === 'starting') state = 'waiting'
    return () => {
      state = 'over'
      if (typeof cancel === 'function') cancel()
    }
  }

  /** Waits for the pause, but no longer than a timer takes to fire. A pause that fails counts as done, since nothing in a run depends on it. */
  #pause(): Promise<void> | undefined {
    const paused = this.#sourcePause()
    if (paused === undefined) return undefined
    return new Promise((resolve) => {
      const cancel = this.after(longestPauseMs, resolve)
      const over = (): void => {
        cancel()
        resolve()
      }
      paused.then(over, over)
    })
  }

  /** The pause as a native promise, even if it comes from another realm; undefined for a value that is not an object. */
  #sourcePause(): Promise<unknown> | undefined {
    try {
      const pause: unknown = this.#clock.pause?.()
      return typeof pause === 'object' && pause !== null ? Promise.resolve(pause) : undefined
    } catch {
      return undefined
    }
  }
}

/** No host delays its timers for longer than this. */
const longestPauseMs = 1_000

/** Milliseconds since 1970, or the clock's `now` if it has no wall time. */
export function wallTimeOf(clock: Clock): number {
  return clock.wallTime?.() ?? clock.now()
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** The longest delay of a timer: about 24 days. */
export const longestDurationMs: number = 2 ** 31 - 1

/** Parses a duration as people write it (`500ms`, `90s`, `10m`, `1.5h`, `1h30m`) into whole milliseconds; undefined for an invalid one. */
export function durationMs(text: string): number | undefined {
  const trimmed = text.trim()
  const parts = [...trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  const milliseconds = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? Number.NaN), 0)
  const isWhole = trimmed !== '' && parts.map(([part]) => part).join('') === trimmed
  return isWhole && Number.isSafeInteger(Math.round(milliseconds)) ? Math.round(milliseconds) : undefined
}
