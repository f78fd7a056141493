import { sharedAbort } from '@halting/core/adapters'
import type { AbortCause } from '@halting/core'
import { signalExitCodes } from '../io/exit-codes.ts'
import { brokenExitCode, type Output } from '../io/output.ts'

/** Interruptions by the person or the system while the program runs. */
export interface Interruption {
  /** Aborted with the cause of the interruption. */
  readonly signal: AbortSignal
  /** The exit code for the interruption; undefined if there was none. */
  readonly exitCode: number | undefined
  /** Restores the default handling of signals. */
  release(): void
}

const causes = { SIGINT: 'user', SIGTERM: 'terminated', SIGHUP: 'terminated' } as const satisfies Partial<
  Record<NodeJS.Signals, AbortCause>
>

type HandledSignal = keyof typeof causes

/** npm forwards a Ctrl-C that the terminal already sent to all processes. A second one within this time is a duplicate. */
const sameMomentMs = 100

/**
 * S1: the first signal aborts the run, which then ends with its result.
 * S2: the second signal exits immediately; an exit listener kills the processes of the tools.
 * S3: when the reader of stdout leaves, the run is aborted as `abandoned`.
 */
export function watchInterruption(output: Output): Interruption {
  const controller = sharedAbort()
  let exitCode: number | undefined
  let firstAt = -Infinity
  const onSignal = (name: NodeJS.Signals): void => {
    // This cast is safe: only these signals have a listener.
    const signal = name as HandledSignal
    if (exitCode !== undefined) {
      if (performance.now() - firstAt > sameMomentMs) process.exit(signalExitCodes[signal])
      return
    }
    exitCode = signalExitCodes[signal]
    firstAt = performance.now()
    if (name === 'SIGINT' && output.isTerminal.stderr) {
      // The terminal has shown ^C, either at the end of the current line or on a separate line.
      output.err(`${output.isLineTaken ? '' : '\n'}Stopping. Press Ctrl-C again to exit at once.\n`)
    }
    controller.abort(causes[signal])
  }
  // This cast is safe: `causes` has no other keys.
  const names = Object.keys(causes) as HandledSignal[]
  for (const name of names) process.on(name, onSignal)
  output.onBroken(() => {
    exitCode ??= brokenExitCode(output.broken ?? 'failed')
    controller.abort('abandoned' satisfies AbortCause)
  })
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode
    },
    release() {
      for (const name of names) process.off(name, onSignal)
    },
  }
}

/** The cause with which `watchInterruption` aborted the signal. */
export function causeOf({ reason }: AbortSignal): AbortCause {
  return reason === 'user' || reason === 'abandoned' ? reason : 'terminated'
}
