import type { Clock } from './clock.ts'

// The one file of core that touches the host's clock (docs/decisions/0002). Timers exist on every host, but in no ES library.
declare const performance: { now(): number }
declare function setTimeout(callback: () => void, durationMs: number): unknown
declare function clearTimeout(timer: unknown): void

/** Longest delay that hosts honour; a longer one would fire at once. */
const longestDelayMs = 2_147_483_647

/** The host's own clock: the default of drivers, never of the loop. */
export const systemClock: Clock = Object.freeze<Clock>({
  // Whole milliseconds, as records have them.
  now: () => Math.floor(performance.now()),
  wallTime: () => Date.now(),
  after(ms, callback) {
    if (ms > longestDelayMs) {
      if (ms === Number.POSITIVE_INFINITY) return () => {}
      let cancel = systemClock.after(longestDelayMs, () => {
        cancel = systemClock.after(ms - longestDelayMs, callback)
      })
      return () => cancel()
    }
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
})
