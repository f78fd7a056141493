/** Time as a driver needs it. The loop itself reads no clock: it knows only the times in its step records. */
export interface Clock {
  /**
   * Milliseconds since some fixed moment, for durations and limits. Give a clock that nobody sets and that stands still while the machine sleeps, as
   * `performance.now()` does on Linux. Where one goes back, the time in between counts as none.
   */
  now(): number
  /** Milliseconds since 1970, for what must differ between processes, such as the id of a session. `now` when absent. */
  wallTime?(): number
  /** Calls back once after `ms` milliseconds, unless the returned function was called before. */
  after(ms: number, callback: () => void): () => void
  /**
   * Resolves once the host's timers and I/O had a turn; undefined while they are not behind. Asked after every step. Without it, a model and tools
   * that answer at once keep timers from firing: time limits and aborts by timers would come late. A pause that hangs is waited for until a timer of one
   * second fires; one that fails is over.
   */
  pause?(): Promise<void> | undefined
}

const steadyClocks = new WeakMap<Clock, Clock>()

/**
 * The same clock, as the loop relies on it, whatever is given: `now` never goes back; a timer calls back once, after `after` has returned and not after it was
 * cancelled; a pause is a promise of this realm that resolves. All who ask for that of one clock have the same one, so they agree on the time.
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
  /** What the clock showed when it was read last. */
  #shown: number
  #now: number

  constructor(clock: Clock) {
    this.#clock = clock
    const shown = clock.now()
    this.#shown = this.#now = Number.isFinite(shown) ? shown : 0
    if (clock.pause !== undefined) this.pause = () => this.#pause()
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
    let state: 'starting' | 'waiting' | 'over' = 'starting'
    const call = (): void => {
      if (state === 'over') return
      state = 'over'
      callback()
    }
    const cancel: unknown = this.#clock.after(ms, () => {
      // Whoever asks for a timer cannot know yet how to cancel it.
      if (state === 'starting') void Promise.resolve().then(call)
      else call()
    })
    if (state === 'starting') state = 'waiting'
    return () => {
      state = 'over'
      if (typeof cancel === 'function') cancel()
    }
  }

  /**
   * A timer that fires has had its turn, which is what a pause waits for: a pause that hangs holds up no run. What fails is over, since nothing of a run
   * depends on it.
   */
  #pause(): Promise<void> | undefined {
    const paused = this.#given()
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

  /** A pause that can be waited for, of whatever realm; undefined for anything else. */
  #given(): Promise<unknown> | undefined {
    try {
      const given: unknown = this.#clock.pause?.()
      return typeof given === 'object' && given !== null ? Promise.resolve(given) : undefined
    } catch {
      return undefined
    }
  }
}

/** No host keeps its timers waiting for so long. */
const longestPauseMs = 1_000

/** Milliseconds since 1970, or what the clock has in the place of these. */
export function wallTimeOf(clock: Clock): number {
  return clock.wallTime?.() ?? clock.now()
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Timers reach no further: about 24 days. */
export const longestDurationMs: number = 2 ** 31 - 1

/** A duration as people write it (`500ms`, `90s`, `10m`, `1.5h`, `1h30m`) in whole milliseconds; undefined for what is none. */
export function durationMs(text: string): number | undefined {
  const given = text.trim()
  const parts = [...given.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  const milliseconds = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? Number.NaN), 0)
  const isWhole = given !== '' && parts.map(([part]) => part).join('') === given
  return isWhole && Number.isSafeInteger(Math.round(milliseconds)) ? Math.round(milliseconds) : undefined
}
