import type { AbortCause, SdkMessage } from '@halting/core'
import type { Session, SessionEvent } from '@halting/core/session'
import { exitCodeOf } from './ending.ts'
import type { Interruption } from './interruption.ts'
import type { Watcher } from './watcher.ts'

/** The part of a session that one run needs. */
export type RunSession = Pick<Session, 'listen' | 'interrupt' | 'settled'>

export interface RunOnce {
  readonly session: RunSession
  /** Sends the request to the session. */
  readonly ask: () => void
  readonly interruption: Interruption
  readonly watcher: Watcher
  /** The lines for a message after the run; undefined if there are no such messages. */
  readonly linesAfter?: ((message: SdkMessage) => readonly string[]) | undefined
  /** Called if a stage after the run fails. The result and exit code of the run stay (spec R-AFTER-4a). */
  readonly onErrorAfter?: (error: unknown) => void
}

/** Runs a request to its end, and the stages after it. Returns the exit code of the run. Rejects if the run fails with an exception. */
export async function runOnce(options: RunOnce): Promise<number> {
  const { session, ask, interruption, watcher, linesAfter, onErrorAfter: onBrokenAfter } = options
  let exitCode: number | undefined
  let failure: { readonly error: unknown } | undefined
  let isOver = false
  const onEvent = (event: SessionEvent): void => {
    switch (event.type) {
      case 'loop':
        return watcher.onEvent(event.event)
      case 'message':
        if (isOver) return watcher.after(event.message, linesAfter?.(event.message) ?? [])
        isOver = event.message.type === 'result'
        return watcher.see(event.message)
      case 'run_end':
        watcher.end(event.terminal)
        // The ending of a later stage does not affect the exit code of the run.
        exitCode = exitCodeOf(event.terminal, interruption.exitCode)
        return
      case 'failed':
        if (event.isAfterRun === true) return onBrokenAfter?.(event.error)
        failure ??= { error: event.error }
        return
      default:
    }
  }
  // An exception of a report is a failure of the program, not of the session.
  session.listen((event) => {
    try {
      onEvent(event)
    } catch (error) {
      failure ??= { error }
      session.interrupt()
    }
  })
  // This cast is safe: every caller aborts with one of these causes.
  const interrupt = (): void => void session.interrupt({ because: interruption.signal.reason as AbortCause })
  interruption.signal.addEventListener('abort', interrupt)
  try {
    ask()
    if (interruption.signal.aborted) interrupt()
    await session.settled()
    if (failure !== undefined) throw failure.error
    if (exitCode === undefined) throw new Error('The run ended without a terminal. Please report this.')
    return exitCode
  } finally {
    interruption.signal.removeEventListener('abort', interrupt)
    watcher.release()
  }
}
