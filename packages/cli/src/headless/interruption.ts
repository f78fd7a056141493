import { sharedAbort } from '@halting/core/adapters'
import type { AbortCause } from '@halting/core'
import { signalExitCodes } from '../io/exit-codes.ts'
import { brokenExitCode, type Output } from '../io/output.ts'

/** What the person or the system does to the program while it runs. */
export interface Interruption {
  /** Aborts the run, with the cause. */
  readonly signal: AbortSignal
  /** The exit code that goes with what came; undefined when nothing did. */
  readonly exitCode: number | undefined
  /** From now on signals do what they do to any program. */
  release(): void
}

const causes = { SIGINT: 'user', SIGTERM: 'terminated', SIGHUP: 'terminated' } as const satisfies Partial<
  Record<NodeJS.Signals, AbortCause>
>

type HandledSignal = keyof typeof causes

/** npm passes on a Ctrl-C that the terminal has sent to all: twice within this time is once, as no person is so quick. */
const sameMomentMs = 100

/**
 * S1: the first signal aborts the run, which then ends properly with its result.
 * S2: the second leaves at once; the listener of the tools for the program's exit kills what they started.
 * S3: a reader of stdout that goes aborts the run as `abandoned`, as a broken pipe ends any program.
 */
export function watchInterruption(output: Output): Interruption {
  const controller = sharedAbort()
  let exitCode: number | undefined
  let firstAt = -Infinity
  const onSignal = (name: NodeJS.Signals): void => {
    // True: it listens to nothing else.
    const signal = name as HandledSignal
    if (exitCode !== undefined) {
      if (performance.now() - firstAt > sameMomentMs) process.exit(signalExitCodes[signal])
      return
    }
    exitCode = signalExitCodes[signal]
    firstAt = performance.now()
    if (name === 'SIGINT' && output.isTerminal.stderr) {
      // The terminal has shown ^C: on a line that goes or ends now, or on one of its own.
      output.err(`${output.isLineTaken ? '' : '\n'}Stopping. Press Ctrl-C again to exit at once.\n`)
    }
    controller.abort(causes[signal])
  }
  // True: `causes` has no other keys.
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

/** `watchInterruption` aborts with a cause. */
export function causeOf({ reason }: AbortSignal): AbortCause {
  return reason === 'user' || reason === 'abandoned' ? reason : 'terminated'
}
