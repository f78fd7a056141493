import type { RunEvent, SdkMessage, RunResult } from '@halting/core'

/** Who is told of a run. */
export interface Watcher {
  /** Everything that the loop tells, before the messages made of it. */
  onEvent(event: RunEvent): void
  see(message: SdkMessage): void
  end(terminal: RunResult): void
  /** Something that came after the run, and what a person is told of it. */
  after(message: SdkMessage, lines: readonly string[]): void
  /** Nothing more comes, also when the run broke. */
  release(): void
}
