import type { Clock } from '../steps/clock.ts'
import type { AbortCause, AbortScope } from './abort.ts'

export type Settled<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** Aborted, and not settled within the grace time: left behind. */
  | { readonly kind: 'left'; readonly cause: AbortCause }

/**
 * Waits for work that may be deaf to an abort: at most `graceMs` after it. Never rejects.
 * A1: the work's own result wins when it comes in time. A2: a rejection that comes later is handled.
 */
export function settleWithin<T>(
  work: () => Promise<T> | T,
  abort: AbortScope,
  graceMs: number,
  timers: Pick<Clock, 'after'>,
): Promise<Settled<T>> {
  return new Promise((resolve) => {
    let stopTimer: (() => void) | undefined
    const leave = (cause: AbortCause): void => {
      stopTimer = undefined
      resolve({ kind: 'left', cause })
    }
    let promise: Promise<T> | T
    try {
      promise = work()
    } catch (error) {
      resolve({ kind: 'threw', error })
      return
    }
    if (!isThenable(promise)) {
      resolve({ kind: 'value', value: promise })
      return
    }
    const stopListening = abort.onAbort((cause) => {
      if (graceMs > 0) stopTimer = timers.after(graceMs, () => leave(cause))
      // A turn of the microtask queue: work that heeds its abort at once is heard, a deaf one is not waited for.
      else void Promise.resolve().then(() => Promise.resolve()).then(() => Promise.resolve()).then(() => leave(cause))
    })
    const done = (settled: Settled<T>): void => {
      stopListening()
      stopTimer?.()
      resolve(settled)
    }
    promise.then(
      (value) => done({ kind: 'value', value }),
      (error: unknown) => done({ kind: 'threw', error }),
    )
  })
}

function isThenable<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
