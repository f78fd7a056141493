import { uptime } from 'node:os'

/** Time as a loop of prompts needs it. */
export interface LoopClock {
  /** Milliseconds that nobody sets, with those that the machine slept. */
  now(): number
  /** Milliseconds since 1970. */
  wallMs(): number
  /** Calls back once after `ms` milliseconds, unless the returned function was called before. The process stays for it. */
  after(ms: number, callback: () => void): () => void
}

/** The time since the machine was started is whole seconds on some systems. */
const uptimeSlackMs = 1_000

/**
 * The clock of this machine. `performance.now()` may stand still while the machine sleeps and nobody sets it; the time since the machine was started goes on,
 * in coarse steps.
 */
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
