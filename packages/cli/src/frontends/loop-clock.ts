import { uptime } from 'node:os'

/** The time sources of a prompt loop. */
export interface LoopClock {
  /** Monotonic milliseconds that include the time the machine slept. */
  now(): number
  /** Milliseconds since 1970. */
  wallMs(): number
  /** Calls back once after `ms` milliseconds, unless the returned function was called before. Keeps the process alive. */
  after(ms: number, callback: () => void): () => void
}

/** On some systems the uptime has whole seconds. */
const uptimeSlackMs = 1_000

/** The clock of this machine. `performance.now()` may stop while the machine sleeps, and is never adjusted. The uptime continues, in coarse steps. */
export function machineClock(): LoopClock {
  const [firstMs, firstUptimeMs] = [performance.now(), uptime() * 1_000]
  return {
    now: () => Math.max(performance.now() - firstMs, uptime() * 1_000 - firstUptimeMs - uptimeSlackMs),
    wallMs: () => Date.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
  }
}
