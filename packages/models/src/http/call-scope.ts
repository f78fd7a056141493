import type { ModelError } from '@halting/core'
import { startDeadlines } from './deadlines.ts'
import type { DeadlineLimits, Deadlines } from './deadlines.ts'

/** The lifetime of one call: until the run is aborted, or a deadline passes. */
export interface CallScope {
  readonly signal: AbortSignal
  /** Signal of the run. */
  readonly runSignal: AbortSignal
  /** Rejects when the scope is aborted. */
  readonly aborted: Promise<never>
  readonly deadlines: Deadlines
  /** Returns the error of the deadline that passed, if one did. */
  timeout(): ModelError | undefined
  /** Call this exactly once, on every path. */
  dispose(): void
}

export function startCallScope({
  signal: outer,
  ...limits
}: DeadlineLimits & { readonly signal: AbortSignal }): CallScope {
  const controller = new AbortController()
  let timeout: ModelError | undefined
  const onOuterAbort = (): void => controller.abort(outer.reason)
  const deadlines = startDeadlines(limits, (error) => {
    timeout = error
    controller.abort(error)
  })
  outer.addEventListener('abort', onOuterAbort, { once: true })
  const aborted = new Promise<never>((_resolve, reject) => {
    // The caller chose the reason of the abort, which is passed on unchanged.
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), { once: true })
  })
  aborted.catch(() => {})
  return {
    signal: controller.signal,
    runSignal: outer,
    aborted,
    deadlines,
    timeout: () => timeout,
    dispose() {
      outer.removeEventListener('abort', onOuterAbort)
      deadlines.dispose()
    },
  }
}
