import { isInstance } from '../errors.ts'

/** Why a run was aborted; the cause decides the terminal (spec R-ABORT-2). */
export type AbortCause =
  /** A person interrupted. */
  | 'user'
  /** A person submitted a new message in mid-run: no interruption message is written. */
  | 'interrupt'
  /** The time limit. */
  | 'time'
  /** The budget. */
  | 'budget'
  /** The process was told to end (SIGTERM). */
  | 'terminated'
  /** The parent run was aborted. */
  | 'parent'
  /** The consumer of the iterator left. */
  | 'abandoned'

/** The `reason` of the signal that tools and models are given. */
export class RunAbort extends Error {
  override readonly name = 'AbortError'
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

/** Told once when the run is aborted. */
export interface AbortListener {
  onAbort(cause: AbortCause): void
}

/**
 * The abort of one run. One listener on the caller's signal fans out from here; effects are handed `signal`,
 * and the loop's own code waits through `listen`, which costs a set entry and not an event listener.
 */
export class AbortScope {
  readonly #controller = new AbortController()
  #listeners: Set<AbortListener> | undefined
  #cause: AbortCause | undefined
  #outer: AbortSignal | undefined
  #onOuterAbort: (() => void) | undefined
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

  /**
   * The cause, as a cancellation point asks for it. A timer alone would not do: where it is late, since the machine slept or was busy, the time limit is
   * compared with the time here (spec R-ABORT-8b).
   */
  causeNow(): AbortCause | undefined {
    if (this.#cause === undefined) this.#check?.()
    return this.#cause
  }

  /** Aborts once; later causes change nothing. */
  abort(cause: AbortCause): void {
    if (this.#cause !== undefined) return
    this.#cause = cause
    const listeners = this.#listeners
    this.#listeners = undefined
    try {
      this.#controller.abort(new RunAbort(cause))
    } finally {
      if (listeners !== undefined) for (const listener of listeners) listener.onAbort(cause)
    }
  }

  /** Tells the listener when aborted, at once if it already is. */
  listen(listener: AbortListener): void {
    if (this.#cause !== undefined) listener.onAbort(this.#cause)
    else (this.#listeners ??= new Set()).add(listener)
  }

  unlisten(listener: AbortListener): void {
    this.#listeners?.delete(listener)
  }

  /** Aborts when the caller's signal does, or has. */
  follow(outer: AbortSignal): void {
    this.#outer = outer
    this.#onOuterAbort = () => this.abort(abortCauseOf(outer.reason))
    outer.addEventListener('abort', this.#onOuterAbort, { once: true })
    if (outer.aborted) this.#onOuterAbort()
  }

  /** Lets go of the caller's signal. */
  dispose(): void {
    if (this.#onOuterAbort !== undefined) this.#outer?.removeEventListener('abort', this.#onOuterAbort)
  }
}
