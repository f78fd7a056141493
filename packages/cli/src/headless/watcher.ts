import type { RunEvent, SdkMessage, RunResult } from '@halting/core'

/** Receives the events and messages of a run. */
export interface Watcher {
  /** Every event of the loop, before the messages derived from it. */
  onEvent(event: RunEvent): void
  see(message: SdkMessage): void
  end(terminal: RunResult): void
  /** A message after the run, with its lines for people. */
  after(message: SdkMessage, lines: readonly string[]): void
  /** Called when nothing more follows, even after a failure. */
  release(): void
}
