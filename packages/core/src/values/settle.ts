import { isInstance } from './errors.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { Clock } from './clock.ts'
import type { AbortCause, AbortListener, AbortScope } from './abort.ts'

export type Settled<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The work was aborted and did not settle within the grace time, so it was abandoned. */
  | { readonly kind: 'left'; readonly cause: AbortCause }

/** How long work may take to react to an abort, and the scope of that abort. */
export interface GracePeriod {
  readonly abort: AbortScope
  readonly graceMs: number
  readonly timers: Pick<Clock, 'after'>
}

/**
 * Waits for work that may ignore an abort, for at most `graceMs` after the abort. `meaning` maps the settlement to a
 * result. The promise rejects only when `meaning` throws. Any thenable is accepted; the result is a native promise or a
 * value. A1: the work's own result takes precedence when it arrives in time. A2: a later rejection is handled.
 */
export function settleWithin<T, R>(
  work: () => PromiseLike<T> | T,
  grace: GracePeriod,
  mapSettlement: (settled: Settled<T>) => MaybePromise<R>,
): MaybePromise<R> {
  let result: PromiseLike<T> | T
  let isPending: boolean
  try {
    result = work()
    isPending = isThenable(result)
  } catch (error) {
    return mapSettlement({ kind: 'threw', error })
  }
  // `isThenable` was checked above. If the getter `then` returns a different value the next time, the waiter handles it.
  if (!isPending) return mapSettlement({ kind: 'value', value: result as T })
  return new Waiter(result as PromiseLike<T>, grace, mapSettlement).settled
}

/** One wait. It settles once, either with the work or at the end of the grace time after an abort. */
class Waiter<T, R> implements AbortListener {
  readonly settled: Promise<R>
  readonly #grace: GracePeriod
  readonly #mapSettlement: (settled: Settled<T>) => MaybePromise<R>
  #resolve: ((result: MaybePromise<R>) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #stopTimer: (() => void) | undefined

  constructor(work: PromiseLike<T>, grace: GracePeriod, mapSettlement: (settled: Settled<T>) => MaybePromise<R>) {
    this.#grace = grace
    this.#mapSettlement = mapSettlement
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    grace.abort.listen(this)
    try {
      const native = isInstance(work, Promise) ? work : nativeOf(work)
      native.then(
        (value) => this.#settle({ kind: 'value', value }),
        (error: unknown) => this.#settle({ kind: 'threw', error }),
      )
    } catch (error) {
      // A promise with an overridden `then`.
      this.#settle({ kind: 'threw', error })
    }
  }

  onAbort(cause: AbortCause): void {
    const { graceMs, timers } = this.#grace
    const leave = (): void => this.#settle({ kind: 'left', cause })
    if (graceMs > 0) this.#stopTimer = timers.after(graceMs, leave)
    // Waits for some turns of the microtask queue, so that work that reacts to its abort immediately can still settle.
    // Other work is not waited for.
    else
      void Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => Promise.resolve())
        .then(leave)
  }

  #settle(settled: Settled<T>): void {
    const resolve = this.#resolve
    if (resolve === undefined) return
    this.#resolve = undefined
    this.#grace.abort.unlisten(this)
    this.#stopTimer?.()
    try {
      resolve(this.#mapSettlement(settled))
    } catch (error) {
      this.#reject?.(error)
    }
  }
}

/** Converts an untrusted thenable, which may throw, answer twice or answer synchronously. The resulting promise settles once. */
function nativeOf<T>(thenable: PromiseLike<T>): Promise<T> {
  return new Promise((resolve) => {
    resolve(thenable)
  })
}

/** Whether a value is thenable. @throws whatever reading `then` throws: an untrusted value may be a proxy. */
export function isThenable<T>(value: PromiseLike<T> | T): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
