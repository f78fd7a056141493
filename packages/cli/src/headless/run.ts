import { QueryEngine, type LoopEvent, type QueryOptions, type SdkMessage, type Terminal } from '@halting/core'
import type { Ask } from '../session/go-on.ts'
import type { AfterTheRun } from './after.ts'
import { exitCodeOf } from './ending.ts'
import type { Interruption } from './interruption.ts'

/** Who is told of a run. */
export interface Watcher {
  /** Everything that the loop tells, before the messages made of it. */
  hear(event: LoopEvent): void
  see(message: SdkMessage): void
  end(terminal: Terminal): void
  /** Something that came after the run, and what a person is told of it. */
  after(message: SdkMessage, lines: readonly string[]): void
  /** Nothing more comes, also when the run broke. */
  release(): void
}

/** Ends what a run started. */
export interface Disposal {
  /** The engine is there, and nothing was asked yet. */
  begun?(engine: QueryEngine): void
  dispose(): Promise<void>
}

/** Runs what is asked to its end, then what comes after it, and returns the exit code of the run. Nothing that the tools started is left when it resolves. */
export async function runPrompt(
  ask: Ask['ask'],
  options: QueryOptions,
  disposal: Disposal,
  interruption: Interruption,
  watcher: Watcher,
  after?: AfterTheRun,
): Promise<number> {
  const engine = new QueryEngine({
    ...options,
    signal: interruption.signal,
    onEvent(event) {
      watcher.hear(event)
      after?.hear(event)
    },
  })
  try {
    disposal.begun?.(engine)
    for await (const message of ask(engine)) watcher.see(message)
    const { lastTerminal } = engine
    if (lastTerminal === undefined) throw new Error('The run ended without a terminal. Please report this.')
    watcher.end(lastTerminal)
    // What ends a stage is no longer about the run.
    const exitCode = exitCodeOf(lastTerminal, interruption.exitCode)
    await after?.run(engine, (message, lines) => watcher.after(message, lines))
    return exitCode
  } finally {
    watcher.release()
    await disposal.dispose()
  }
}
