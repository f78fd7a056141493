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
  if (reason instanceof RunAbort) return reason.abortCause
  // Membership in `causes` was just looked at.
  return causes.has(reason) ? (reason as AbortCause) : 'user'
}

/**
 * The abort of one run. One listener on the caller's signal fans out from here; effects are handed `signal`,
 * and the loop's own code waits through `onAbort`, which costs a set entry and not an event listener.
 */
export interface AbortScope {
  readonly signal: AbortSignal
  readonly cause: AbortCause | undefined
  /** Aborts once; later causes change nothing. */
  abort(cause: AbortCause): void
  /** Calls back when aborted, at once if it already is. The returned function takes the listener away. */
  onAbort(listener: (cause: AbortCause) => void): () => void
  /** Aborts when the caller's signal does, or has. */
  follow(outer: AbortSignal): void
  /** Lets go of the caller's signal. */
  dispose(): void
}

export function createAbortScope(): AbortScope {
  const controller = new AbortController()
  const listeners = new Set<(cause: AbortCause) => void>()
  let cause: AbortCause | undefined

  const abort = (why: AbortCause): void => {
    if (cause !== undefined) return
    cause = why
    const waiting = [...listeners]
    listeners.clear()
    try {
      controller.abort(new RunAbort(why))
    } finally {
      for (const listener of waiting) listener(why)
    }
  }
  let outer: AbortSignal | undefined
  const onOuterAbort = (): void => abort(abortCauseOf(outer?.reason))

  return {
    signal: controller.signal,
    get cause() {
      return cause
    },
    abort,
    onAbort(listener) {
      if (cause !== undefined) {
        listener(cause)
        return () => {}
      }
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    follow(signal) {
      outer = signal
      signal.addEventListener('abort', onOuterAbort, { once: true })
      if (signal.aborted) onOuterAbort()
    },
    dispose() {
      outer?.removeEventListener('abort', onOuterAbort)
    },
  }
}
