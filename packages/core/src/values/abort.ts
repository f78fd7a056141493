import { isInstance } from './errors.ts'
import { allowManyListeners } from './system-clock.ts'

// Spec R-ABORT-2.
/** Why a run was aborted. The cause decides how the run ends. */
export type AbortCause =
  /** A person interrupted the run. */
  | 'user'
  /** A person submitted a new message during the run. No interruption message is written. */
  | 'interrupt'
  /** The time limit was reached. */
  | 'time'
  /** The budget was used up. */
  | 'budget'
  /** The process was terminated (SIGTERM). */
  | 'terminated'
  /** The parent run was aborted. */
  | 'parent'
  /** The consumer stopped iterating. */
  | 'abandoned'

/** The `reason` of the abort signal that tools and models receive. */
export class RunAbort extends Error {
  override readonly name = 'AbortError'
  /** Who aborted, and why. */
  readonly abortCause: AbortCause

  constructor(abortCause: AbortCause) {
    super(`The run was aborted (${abortCause}).`)
    this.abortCause = abortCause
  }
}

const causes: ReadonlySet<unknown> = new Set<AbortCause>([
  'user',
  'interrupt',
  'time',
  'budget',
  'terminated',
  'parent',
  'abandoned',
])

/** The abort cause in an AbortSignal's reason: a `RunAbort`, a bare cause (`controller.abort('interrupt')`), or `user` for anything else. */
export function abortCauseOf(reason: unknown): AbortCause {
  if (isInstance(reason, RunAbort)) return reason.abortCause
  // The line above checked membership in `causes`.
  return causes.has(reason) ? (reason as AbortCause) : 'user'
}

const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * Returns a signal that aborts as soon as one of several does, like `AbortSignal.any`. In Node 20, a signal of
 * `AbortSignal.timeout` that only the combined signal refers to is garbage-collected and never aborts. This function
 * keeps the sources alive.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const signal = AbortSignal.any([...signals])
  sources.set(signal, signals)
  return signal
}

/**
 * Creates a controller whose signal accepts any number of listeners. Node warns of a leak from the eleventh listener on.
 * Use it for signals of a run, a session or a process; the signal of a single call does not need it.
 */
export function sharedAbort(): AbortController {
  const controller = new AbortController()
  allowManyListeners(controller.signal)
  return controller
}

/** Callbacks by caller's signal. Each signal has one listener, however many runs use it. */
const followers = new WeakMap<AbortSignal, { readonly calls: Set<() => void>; readonly onAbort: () => void }>()

/** Calls back once the signal is aborted, and immediately if it already is. Call the returned function to unsubscribe. */
export function whenAborted(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback()
    return () => {}
  }
  const entry = followers.get(signal) ?? followSignal(signal)
  // A wrapper, because the same function may be registered twice.
  const call = (): void => callback()
  entry.calls.add(call)
  return () => {
    if (!entry.calls.delete(call) || entry.calls.size > 0 || followers.get(signal) !== entry) return
    followers.delete(signal)
    signal.removeEventListener('abort', entry.onAbort)
  }
}

function followSignal(signal: AbortSignal): { readonly calls: Set<() => void>; readonly onAbort: () => void } {
  const calls = new Set<() => void>()
  const onAbort = (): void => {
    followers.delete(signal)
    signal.removeEventListener('abort', onAbort)
    for (const call of calls) call()
  }
  const entry = { calls, onAbort }
  followers.set(signal, entry)
  signal.addEventListener('abort', onAbort, { once: true })
  return entry
}

/** Notified once, when the run is aborted. */
export interface AbortListener {
  onAbort(cause: AbortCause): void
}

/**
 * The abort of one run. It has one listener on the caller's signal, and notifies all other listeners itself. Side
 * effects receive `signal`. The loop's own code waits through `listen`, which costs a set entry instead of an event
 * listener.
 */
export class AbortScope {
  #controller = sharedAbort()
  /** The only listener, since in most cases a run waits for one thing at a time. */
  #listener: AbortListener | undefined
  /** All listeners, when there are several. */
  #listeners: Set<AbortListener> | undefined
  #cause: AbortCause | undefined
  #unfollow: (() => void) | undefined
  /** The first other cause that arrived after an abort by the time limit. */
  #laterCause: AbortCause | undefined
  #check: (() => void) | undefined

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get cause(): AbortCause | undefined {
    return this.#cause
  }

  /** Sets a further check that may abort the run. It is called at each cancellation point. */
  setCheck(check: () => void): void {
    this.#check = check
  }

  // Spec R-ABORT-8b.
  /**
   * The cause, as a cancellation point reads it. A timer alone is not enough: it may fire late when the machine slept or
   * was busy. So this also compares the time limit with the clock.
   */
  causeNow(): AbortCause | undefined {
    if (this.#cause === undefined) this.#check?.()
    return this.#cause
  }

  /** Aborts once; later causes are ignored. */
  abort(cause: AbortCause): void {
    if (this.#cause !== undefined) {
      if (cause !== 'time') this.#laterCause ??= cause
      return
    }
    this.#cause = cause
    const listeners = this.#listeners ?? (this.#listener === undefined ? [] : [this.#listener])
    this.#listeners = undefined
    this.#listener = undefined
    try {
      this.#controller.abort(new RunAbort(cause))
    } finally {
      for (const listener of listeners) listener.onAbort(cause)
    }
  }

  /** Notifies the listener of the abort, immediately if the run is already aborted. */
  listen(listener: AbortListener): void {
    if (this.#cause !== undefined) listener.onAbort(this.#cause)
    else if (this.#listeners !== undefined) this.#listeners.add(listener)
    else if (this.#listener === undefined) this.#listener = listener
    else {
      this.#listeners = new Set([this.#listener, listener])
      this.#listener = undefined
    }
  }

  unlisten(listener: AbortListener): void {
    if (this.#listener === listener) this.#listener = undefined
    else if (this.#listeners?.delete(listener) === true && this.#listeners.size === 0) this.#listeners = undefined
  }

  /** Aborts when the caller's signal is aborted, and immediately if it already is. */
  follow(outer: AbortSignal): void {
    this.#unfollow = whenAborted(outer, () => this.abort(abortCauseOf(outer.reason)))
  }

  /**
   * Resets the scope after an abort by the time limit, once all aborted work has settled. `signal` is a new one. If
   * another cause arrived in the meantime, the scope is aborted immediately.
   */
  renew(): void {
    if (this.#cause !== 'time') return
    this.#cause = undefined
    this.#controller = sharedAbort()
    if (this.#laterCause !== undefined) this.abort(this.#laterCause)
  }

  /** Unsubscribes from the caller's signal. */
  dispose(): void {
    this.#unfollow?.()
  }
}
