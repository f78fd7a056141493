import type { TaskEnded, TaskLeft } from '../verification/background.ts'
import type { AbortCause } from '../values/abort.ts'
import type { MessageContent } from '../model/messages.ts'
import type { AgentEnd } from '../state/agent-figures.ts'
import type { SettingsChange } from '../state/settings-change.ts'
import type { StopSignalJson } from '../endings/signal.ts'

/** A message handed in while a run goes on. */
export type InboxMessage = {
  /** Given by whoever handed it in, or derived; unique in the session. */
  readonly id: string
  /** steer: taken at the next checkpoint. follow_up: taken when the run would end. */
  readonly kind: 'steer' | 'follow_up'
  /** The message. */
  readonly content: MessageContent
}

/** What came in from outside between two checkpoints. On record before the loop acts on it. */
export type ExternalInput = {
  /** Who aborted the run, and why. */
  readonly abort?: AbortCause
  /** Signals to stop. */
  readonly signals?: readonly StopSignalJson[]
  /** Messages that were handed in. */
  readonly messages?: readonly InboxMessage[]
  /** Settings that a person changed. */
  readonly settings?: SettingsChange
  /** Work beside the run that ended. */
  readonly tasks?: readonly TaskEnded[]
  /** Subagents of the background that ended, with what they spent. */
  readonly agents?: readonly AgentEnd[]
  /** A reply began, whose id its service knows: it can be asked later what the reply came to. */
  readonly reply?: {
    /** Id of the reply. */
    readonly id: string
    /** Id of the model that was asked. */
    readonly model: string
  }
  /** What was made of what still ran when the run ended. */
  readonly left?: readonly TaskLeft[]
}
