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
  /** The run is about to end: a hook may ask to go on. Not after an abort. */
  | 'onStop'
  /** The conversation is about to be made shorter: a hook may say what the summary should hold, or skip it where there is room. */
  | 'beforeCompact'
  /** The conversation was compacted. */
  | 'afterCompact'
  /** A tool or a hook failed, or the run ends in a failure. */
  | 'onError'

/** What a hook decided, closed and JSON: the recorded form of what it changed in its context. */
export type HookOutcome = {
  /** Signals that it raised. */
  readonly signals?: readonly StopSignalJson[]
  /** It asked to go on although signals stand. */
  readonly continued?: true
  /** User messages for the model. */
  readonly messages?: readonly MessageContent[]
  /** beforeExecution: a user message that the model is shown before the prompt of the run. */
  readonly beforePrompt?: MessageContent
  /** What the model is shown from here on, in place of all that was said, and about how many tokens both have. `messages` come after it. */
  readonly replaced?: {
    /** The messages that the model is shown. */
    readonly messages: readonly ModelMessage[]
    /** Tokens before, estimated. */
    readonly preTokens: number
    /** Tokens after, estimated. */
    readonly postTokens: number
  }
  /** Notes for people, which the model is not shown. */
  readonly attachments?: readonly Attachment[]
  /** Metadata of the run, in place of the former. */
  readonly metadata?: JsonObject
  /** beforeToolUse: the call is denied, with this reason for the model. beforeCompact: the compaction is skipped. */
  readonly blocked?: string
  /**
   * beforeToolUse: a person is to be asked, or the hook vouches for the call (deny and ask rules still stand). `defer`: nobody decides now;
   * where nobody is waited for the run ends with the call open, whatever allows it.
   */
  readonly permission?: 'allow' | 'ask' | 'defer'
  /** beforeToolUse: the input in place of the model's. */
  readonly input?: {
    /** The input. */
    readonly value: Json
  }
  /** afterToolUse: the result in place of the tool's. */
  readonly output?: string
  /** afterToolUse: the run ends after this turn's tools. */
  readonly prevented?: string
  /** It threw. */
  readonly error?: string
  /** It was cut by an abort, or not called because of one. */
  readonly aborted?: AbortCause
}

/** What a hook tells the model. */
export interface HookMessage {
  readonly hook: string
  readonly content: MessageContent
  /** It goes before the prompt of the run. */
  readonly isBeforePrompt?: true
}
