import { type AbortCause, ConfigurationError, type QueryEngine, type SdkMessage } from '@halting/core'
import type { QueuedMessage, Rewound } from './session.ts'

/** What begins a run. */
export interface Beginning {
  /** The message that it begins with; it was taken out of the queue for it. */
  readonly message?: QueuedMessage
  begin(engine: QueryEngine): AsyncIterable<SdkMessage>
}

/** What goes on: a run, from before it begins until its result is told, or something during which none begins. */
export interface Running {
  /** The message that it begins with: nobody has it until the engine does. */
  readonly messageId?: string
  interruptedBy: AbortCause | undefined
}

/** No file was changed back. */
export const nothingChanged: Omit<Rewound, 'content'> = Object.freeze({
  files: [],
  insertions: 0,
  deletions: 0,
  left: [],
})

export function notKept(): ConfigurationError {
  return new ConfigurationError('This session is not kept on disk, so there is nothing to go back to or to copy.')
}
