import type { AbortCause } from '../values/abort.ts'
import type { Json, JsonObject } from '../values/json.ts'
import type { MessageContent, ModelMessage } from '../model/messages.ts'
import type { StopSignalJson } from '../endings/signal.ts'
import type { Attachment } from '../conversation/transcript.ts'

// Spec R-HOOK-3.
/** When a hook is called. */
export type HookTrigger =
  | 'beforeExecution'
  /** A subagent is about to make its first request. Its runs have no `beforeExecution`. */
  | 'beforeAgent'
  | 'afterExecution'
  | 'beforeStep'
  | 'afterStep'
  | 'beforeInference'
  | 'afterInference'
  | 'beforeToolUse'
  | 'afterToolUse'
  /** The run is about to end, and a hook may request to continue. Not called after an abort. */
  | 'onStop'
  /** The conversation is about to be compacted. A hook may add instructions for the summary, or skip the compaction if the window is not full yet. */
  | 'beforeCompact'
  /** The conversation was compacted. */
  | 'afterCompact'
  /** A tool or a hook failed, or the run ends in a failure. */
  | 'onError'

/** What a hook decided: the recorded form of its changes to the context. JSON. */
export type HookOutcome = {
  /** Signals that it raised. */
  readonly signals?: readonly StopSignalJson[]
  /** The hook requested to continue although signals were raised. */
  readonly continued?: true
  /** User messages for the model. */
  readonly messages?: readonly MessageContent[]
  /** beforeExecution: a user message to insert before the prompt of the run. */
  readonly beforePrompt?: MessageContent
  /** Messages that replace the conversation in the model's view from then on, and the estimated tokens before and after. `messages` follow them. */
  readonly replaced?: {
    /** The replacement messages. */
    readonly messages: readonly ModelMessage[]
    /** Tokens before, estimated. */
    readonly preTokens: number
    /** Tokens after, estimated. */
    readonly postTokens: number
  }
  /** Notes for people, not for the model. */
  readonly attachments?: readonly Attachment[]
  /** Metadata of the run, replacing the previous metadata. */
  readonly metadata?: JsonObject
  /** beforeToolUse: denies the call, with this reason for the model. beforeCompact: skips the compaction. */
  readonly blocked?: string
  /**
   * beforeToolUse: asks a person, or approves the call (deny and ask rules still apply). `defer`: no decision now. If
   * the run does not wait for people, it ends with the call pending, even if something else allows the call.
   */
  readonly permission?: 'allow' | 'ask' | 'defer'
  /** beforeToolUse: the input that replaces the model's. */
  readonly input?: {
    /** The input. */
    readonly value: Json
  }
  /** afterToolUse: the result that replaces the tool's. */
  readonly output?: string
  /** afterToolUse: ends the run after the tools of this turn. */
  readonly prevented?: string
  /** The hook threw. */
  readonly error?: string
  /** The hook was aborted, or not called because of an abort. */
  readonly aborted?: AbortCause
}

/** A message of a hook to the model. */
export interface HookMessage {
  readonly hook: string
  readonly content: MessageContent
  /** Inserted before the prompt of the run. */
  readonly isBeforePrompt?: true
}
