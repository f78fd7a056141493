import type { AbortCause } from '../values/abort.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { SdkMessage } from '../sdk/sdk-messages.ts'
import type { QueuedMessage } from './session.ts'

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
  /** It has its result: what is left is to tell of it. */
  hasResult: boolean
}

/** As it begins. */
export function runningOf({ message }: Pick<Beginning, 'message'>): Running {
  return { interruptedBy: undefined, hasResult: false, ...(message !== undefined && { messageId: message.id }) }
}
