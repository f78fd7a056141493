import type { ModelError } from '@halting/core'
import { startDeadlines } from './deadlines.ts'
import type { DeadlineLimits, Deadlines } from './deadlines.ts'

/** How long one call lives: until the run is aborted, or a deadline passes. */
export interface CallScope {
  readonly signal: AbortSignal
  /** The run's own signal. */
  readonly runSignal: AbortSignal
  /** Rejects when the scope is aborted. */
  readonly aborted: Promise<never>
  readonly deadlines: Deadlines
  /** The deadline that passed, if one did. */
  timeout(): ModelError | undefined
  /** Call it once, on every path. */
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
    // The reason of an abort is whatever the caller gave; it is handed through as it is.
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
