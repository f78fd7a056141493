import type { TaskEnded, TaskLeft } from '../verification/background.ts'
import type { AbortCause } from '../values/abort.ts'
import type { MessageContent } from '../model/messages.ts'
import type { AgentEnd } from '../state/agent-figures.ts'
import type { SettingsChange } from '../state/settings-change.ts'
import type { StopSignalJson } from '../endings/signal.ts'

/** A message submitted during a run. */
export type InboxMessage = {
  /** The caller's id, or a derived one; unique in the session. */
  readonly id: string
  /** steer: added at the next cancellation point. follow_up: added when the run would end. */
  readonly kind: 'steer' | 'follow_up'
  /** The message. */
  readonly content: MessageContent
}

/** External input between two cancellation points. It is recorded before the loop acts on it. */
export type ExternalInput = {
  /** The cause, if the run was aborted. */
  readonly abort?: AbortCause
  /** Signals to stop. */
  readonly signals?: readonly StopSignalJson[]
  /** Submitted messages. */
  readonly messages?: readonly InboxMessage[]
  /** Settings that a person changed. */
  readonly settings?: SettingsChange
  /** Background tasks that ended. */
  readonly tasks?: readonly TaskEnded[]
  /** Background subagents that ended, with their spending. */
  readonly agents?: readonly AgentEnd[]
  /** A reply started. Its id lets the loop ask the service later for the outcome of the reply. */
  readonly reply?: {
    /** Id of the reply. */
    readonly id: string
    /** Id of the requested model. */
    readonly model: string
  }
  /** What happened to tasks that were still running when the run ended. */
  readonly left?: readonly TaskLeft[]
}
