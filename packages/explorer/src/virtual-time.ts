import type { Clock } from '@halting/core/steps'
import { createFakeClock } from '@halting/core/testing'

/** Time that passes only when somebody waits for it, or takes it. What happens in which order follows from the times alone. */
export interface VirtualTime extends Clock {
  /** Something takes so long, and nothing else goes on meanwhile. */
  take(ms: number): void
  /** Something takes so long while others go on. An abort of `signal` cuts it short. */
  pass(ms: number, signal?: AbortSignal): Promise<void>
}

/** Longer waits are deadlines, which nothing here is to reach. */
const neverMs = 60_000

export function createVirtualTime(start: number): VirtualTime {
  const clock = createFakeClock({ start, autoAdvance: true })
  let taken = 0
  const after = (ms: number, callback: () => void): (() => void) =>
    ms < neverMs ? clock.after(ms, callback) : () => {}
  return {
    now: () => clock.now() + taken,
    after,
    take(ms) {
      taken += ms
    },
    pass: (ms, signal) =>
      new Promise((resolve) => {
        const done = (): void => {
          cancel()
          signal?.removeEventListener('abort', done)
          resolve()
        }
        const cancel = after(ms, done)
        signal?.addEventListener('abort', done)
        if (signal?.aborted === true) done()
      }),
  }
}
