import type { Clock } from '@halting/core/steps'
import { createFakeClock } from '@halting/core/testing'

/** Time that advances only when something waits for it or takes it. The order of events follows from the times alone. */
export interface VirtualTime extends Clock {
  /** Something takes this long, and nothing else happens meanwhile. */
  take(ms: number): void
  /** Something takes this long while others proceed. An abort of `signal` ends it early. */
  pass(ms: number, signal?: AbortSignal): Promise<void>
}

/** Longer waits are deadlines, which must not be reached here. */
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
