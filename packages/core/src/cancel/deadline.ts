import type { Clock } from '../steps/clock.ts'

/** The time limit of a run, as a timer that aborts what is in flight. It stands still while a person is waited for. */
export interface Deadline {
  pause(): void
  goOn(): void
  cancel(): void
}

/** A run without a time limit. */
export const noDeadline: Deadline = Object.freeze<Deadline>({ pause: () => {}, goOn: () => {}, cancel: () => {} })

/** Calls back once after `leftMs` milliseconds that were not paused; at once when none are left. */
export function createDeadline(clock: Clock, leftMs: number, onPassed: () => void): Deadline {
  if (leftMs === Infinity) return noDeadline
  if (leftMs <= 0) {
    // A timer would let a request begin that can only be aborted, and charged.
    onPassed()
    return noDeadline
  }
  let left = leftMs
  let since = clock.now()
  let stop: (() => void) | undefined = clock.after(left, onPassed)
  // Calls that run side by side may each wait for a person.
  let waiting = 0
  return {
    pause() {
      if (waiting++ > 0 || stop === undefined) return
      stop()
      left = Math.max(0, left - (clock.now() - since))
    },
    goOn() {
      if (--waiting > 0 || stop === undefined) return
      since = clock.now()
      stop = clock.after(left, onPassed)
    },
    cancel() {
      stop?.()
      stop = undefined
    },
  }
}
