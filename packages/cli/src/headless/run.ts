import type { AbortCause, SdkMessage } from '@halting/core'
import type { Session, SessionEvent } from '@halting/core/session'
import { exitCodeOf } from './ending.ts'
import type { Interruption } from './interruption.ts'
import type { Watcher } from './watcher.ts'

/** What is asked of a session for one run. */
export type RunSession = Pick<Session, 'listen' | 'interrupt' | 'settled'>

export interface RunOnce {
  readonly session: RunSession
  /** Asks the session for the run. */
  readonly ask: () => void
  readonly interruption: Interruption
  readonly watcher: Watcher
  /** What a person is told of a message that came after the run; undefined where nothing comes after it. */
  readonly linesAfter?: ((message: SdkMessage) => readonly string[]) | undefined
  /** What came after the run broke. The run has its result, and its exit code (spec R-AFTER-4a). */
  readonly onErrorAfter?: (error: unknown) => void
}

/** Runs what is asked to its end, then what comes after it, and gives the exit code of the run. Rejects with what broke it. */
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
        // What ends a stage is no longer about the run.
        exitCode = exitCodeOf(event.terminal, interruption.exitCode)
        return
      case 'failed':
        if (event.isAfterRun === true) return onBrokenAfter?.(event.error)
        failure ??= { error: event.error }
        return
      default:
    }
  }
  // What a report throws is no affair of the session: here it is the program's.
  session.listen((event) => {
    try {
      onEvent(event)
    } catch (error) {
      failure ??= { error }
      session.interrupt()
    }
  })
  // True: whoever aborts it says why in these words.
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
