import { QueryEngine, type LoopEvent, type QueryOptions, type SdkMessage, type Terminal } from '@halting/core'
import type { Ask } from '../session/go-on.ts'
import { exitCodeOf } from './ending.ts'
import type { Interruption } from './interruption.ts'

/** Who is told of a run. */
export interface Watcher {
  /** Everything that the loop tells, before the messages made of it. */
  hear(event: LoopEvent): void
  see(message: SdkMessage): void
  end(terminal: Terminal): void
  /** Nothing more comes, also when the run broke. */
  release(): void
}

/** Ends what a run started. */
export interface Disposal {
  /** The engine is there, and nothing was asked yet. */
  begun?(engine: QueryEngine): void
  dispose(): Promise<void>
}

/** Runs what is asked to its end and returns the exit code. Nothing that the tools started is left when it resolves. */
export async function runPrompt(
  ask: Ask['ask'],
  options: QueryOptions,
  disposal: Disposal,
  interruption: Interruption,
  watcher: Watcher,
): Promise<number> {
  const engine = new QueryEngine({
    ...options,
    signal: interruption.signal,
    onEvent: (event) => watcher.hear(event),
  })
  try {
    disposal.begun?.(engine)
    for await (const message of ask(engine)) watcher.see(message)
    const { lastTerminal } = engine
    if (lastTerminal === undefined) throw new Error('The run ended without a terminal. Please report this.')
    watcher.end(lastTerminal)
    return exitCodeOf(lastTerminal, interruption.exitCode)
  } finally {
    watcher.release()
    await disposal.dispose()
  }
}
