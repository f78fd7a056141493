import type { Clock } from '../steps/clock.ts'
import type { AbortCause, AbortScope } from './abort.ts'

export type Settled<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** Aborted, and not settled within the grace time: left behind. */
  | { readonly kind: 'left'; readonly cause: AbortCause }

/**
 * Waits for work that may be deaf to an abort: at most `graceMs` after it. `meaning` says what the settlement comes to;
 * it rejects only when that throws.
 * A1: the work's own result wins when it comes in time. A2: a rejection that comes later is handled.
 */
export function settleWithin<T, R>(
  work: () => Promise<T> | T,
  abort: AbortScope,
  graceMs: number,
  timers: Pick<Clock, 'after'>,
  meaning: (settled: Settled<T>) => R | Promise<R>,
): R | Promise<R> {
  let result: Promise<T> | T
  try {
    result = work()
  } catch (error) {
    return meaning({ kind: 'threw', error })
  }
  if (!isThenable(result)) return meaning({ kind: 'value', value: result })
  const promise = result
  return new Promise((resolve, reject) => {
    let stopTimer: (() => void) | undefined
    let open = true
    const settle = (settled: Settled<T>): void => {
      if (!open) return
      open = false
      stopListening()
      stopTimer?.()
      try {
        resolve(meaning(settled))
      } catch (error) {
        reject(error)
      }
    }
    const stopListening = abort.onAbort((cause) => {
      if (graceMs > 0) stopTimer = timers.after(graceMs, () => settle({ kind: 'left', cause }))
      // Some turns of the microtask queue: work that heeds its abort at once is heard, a deaf one is not waited for.
      else
        void Promise.resolve()
          .then(() => Promise.resolve())
          .then(() => Promise.resolve())
          .then(() => settle({ kind: 'left', cause }))
    })
    promise.then(
      (value) => settle({ kind: 'value', value }),
      (error: unknown) => settle({ kind: 'threw', error }),
    )
  })
}

function isThenable<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
