import { isInstance } from './errors.ts'
import { allowManyListeners } from './system-clock.ts'

// Spec R-ABORT-2.
/** Why a run was aborted; the cause decides the terminal. */
export type AbortCause =
  /** A person interrupted. */
  | 'user'
  /** A person submitted a new message in mid-run: no interruption message is written. */
  | 'interrupt'
  /** The time limit. */
  | 'time'
  /** The budget. */
  | 'budget'
  /** Terminated (SIGTERM) (SIGTERM). */
  | 'terminated'
  /** The parent run was aborted. */
  | 'parent'
  /** The consumer of the iterator left. */
  | 'abandoned'

/** The `reason` of the signal that tools and models are given. */
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

/** The cause behind an AbortSignal's reason: ours, the bare word (`controller.abort('interrupt')`), or a person. */
export function abortCauseOf(reason: unknown): AbortCause {
  if (isInstance(reason, RunAbort)) return reason.abortCause
  // Membership in `causes` was just looked at.
  return causes.has(reason) ? (reason as AbortCause) : 'user'
}

const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * A signal that aborts as soon as one of several does, as `AbortSignal.any` makes it. Node 20 lets go of a signal of `AbortSignal.timeout` that only such a signal refers to,
 * and it then never aborts: this one holds its sources.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const signal = AbortSignal.any([...signals])
  sources.set(signal, signals)
  return signal
}

/**
 * A controller whose signal any number may listen to, one listener for each of many calls: Node warns of eleven as of a leak. For signals of a run, a session
 * or a process; one of a single call needs none of it.
 */
export function sharedAbort(): AbortController {
  const controller = new AbortController()
  allowManyListeners(controller.signal)
  return controller
}

/** What is to be called when signals of callers abort: each signal has one listener of ours, however many runs follow it. */
const followers = new WeakMap<AbortSignal, { readonly calls: Set<() => void>; readonly onAbort: () => void }>()

/** Calls back once the signal aborts, at once where it has. Call the result when that is not wanted any more. */
export function whenAborted(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback()
    return () => {}
  }
  const followed = followers.get(signal) ?? followedBy(signal)
  // The same function may be given twice.
  const call = (): void => callback()
  followed.calls.add(call)
  return () => {
    if (!followed.calls.delete(call) || followed.calls.size > 0 || followers.get(signal) !== followed) return
    followers.delete(signal)
    signal.removeEventListener('abort', followed.onAbort)
  }
}

function followedBy(signal: AbortSignal): { readonly calls: Set<() => void>; readonly onAbort: () => void } {
  const calls = new Set<() => void>()
  const onAbort = (): void => {
    followers.delete(signal)
    signal.removeEventListener('abort', onAbort)
    for (const call of calls) call()
  }
  const followed = { calls, onAbort }
  followers.set(signal, followed)
  signal.addEventListener('abort', onAbort, { once: true })
  return followed
}

/** Told once when the run is aborted. */
export interface AbortListener {
  onAbort(cause: AbortCause): void
}

/**
 * The abort of one run. One listener on the caller's signal fans out from here; effects are handed `signal`,
 * and the loop's own code waits through `listen`, which costs a set entry and not an event listener.
 */
export class AbortScope {
  #controller = sharedAbort()
  /** Mostly a run waits for one thing at a time. */
  #listener: AbortListener | undefined
  /** All of them, where there are several. */
  #listeners: Set<AbortListener> | undefined
  #cause: AbortCause | undefined
  #unfollow: (() => void) | undefined
  /** What would have aborted it after the time limit had. */
  #causeSince: AbortCause | undefined
  #check: (() => void) | undefined

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get cause(): AbortCause | undefined {
    return this.#cause
  }

  /** What else may abort the run: it is called at each cancellation point, and aborts where it is time for that. */
  checkBy(check: () => void): void {
    this.#check = check
  }

  // Spec R-ABORT-8b.
  /**
   * The cause, as a cancellation point asks for it. A timer alone would not do: where it is late, since the machine slept or was busy, the time limit is
   * compared with the time here.
   */
  causeNow(): AbortCause | undefined {
    if (this.#cause === undefined) this.#check?.()
    return this.#cause
  }

  /** Aborts once; later causes change nothing. */
  abort(cause: AbortCause): void {
    if (this.#cause !== undefined) {
      if (cause !== 'time') this.#causeSince ??= cause
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

  /** Tells the listener when aborted, at once if it already is. */
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

  /** Aborts when the caller's signal does, or has. */
  follow(outer: AbortSignal): void {
    this.#unfollow = whenAborted(outer, () => this.abort(abortCauseOf(outer.reason)))
  }

  /**
   * Begins anew after an abort by the time limit, once all that it aborted has settled: `signal` is another one. What else would have aborted it meanwhile
   * does so now.
   */
  renew(): void {
    if (this.#cause !== 'time') return
    this.#cause = undefined
    this.#controller = sharedAbort()
    if (this.#causeSince !== undefined) this.abort(this.#causeSince)
  }

  /** Lets go of the caller's signal. */
  dispose(): void {
    this.#unfollow?.()
  }
}
