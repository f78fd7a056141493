/** A signal that aborts after a time, or when another signal does. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Releases the timer and the other signal. Call it on every path. */
  clear(): void
}

/**
 * Returns a signal that aborts after `ms`, or when `outer` does. Until it is cleared, the time limit keeps the process
 * running, unlike `AbortSignal.timeout`: otherwise a process that only waits for this limit would exit.
 */
export function timeLimit(ms: number, outer?: AbortSignal): TimeLimit {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new DOMException('The time limit has passed.', 'TimeoutError')), ms)
  const onOuterAbort = (): void => controller.abort(outer?.reason)
  outer?.addEventListener('abort', onOuterAbort, { once: true })
  if (outer?.aborted === true) onOuterAbort()
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onOuterAbort)
    },
  }
}

/** Waits for the work, but no longer than `ms`. Never rejects: failed work is also over. */
export function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    // Keeps the process running: the work itself may not.
    const timer = setTimeout(resolve, ms)
    const done = (): void => {
      clearTimeout(timer)
      resolve()
    }
    work.then(done, done)
  })
}
