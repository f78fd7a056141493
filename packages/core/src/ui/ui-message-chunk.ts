import type { StopCategory } from '../endings/reason.ts'
import type { EndingReason } from '../endings/ending.ts'
import type { RunEvent } from '../state/events.ts'
import type { Json } from '../values/json.ts'
import type { Usage } from '../model/messages.ts'

/** Data parts of a run in a UI message stream: payloads of `data-…` parts by type. */
export interface HaltingDataParts {
  /** Transient: a reply of the model is complete. */
  readonly 'data-halting-reply': {
    /** Id of the message in the conversation. */
    readonly messageId: string
    /** Id of the model that wrote it. */
    readonly model: string
    /** Tokens of the reply. */
    readonly usage: Usage
    /** Why the model stopped, in the service's terms. */
    readonly stopReason: string | null
  }
  /** Transient: cost, tokens and time of the run so far, and what its limits leave. */
  readonly 'data-halting-figures': Omit<Extract<RunEvent, { readonly type: 'figures' }>, 'type'>
  /** Transient: progress of a running tool. */
  readonly 'data-halting-progress': {
    /** Id of the call. */
    readonly toolCallId: string
    /** Name of the tool. */
    readonly toolName: string
    /** What the tool reported. */
    readonly data: Json
  }
  /** Transient: activity of a subagent of a call. */
  readonly 'data-halting-agent': {
    /** Id of the call that started the subagent. */
    readonly toolCallId: string
    /** Name of the kind of subagent. */
    readonly agentType: string
    /** What it is doing. */
    readonly activity: AgentActivity
  }
  /** Transient: a sentence for a person. */
  readonly 'data-halting-notice': {
    /** The sentence. */
    readonly message: string
  }
  /** A message that a person added during the run. */
  readonly 'data-halting-message': {
    /** Id of the message in the conversation. */
    readonly messageId: string
    /** Its text. */
    readonly text: string
  }
  /** How the run ended. Sent once, as the last part of the message. */
  readonly 'data-halting-ending': {
    /** The ending. */
    readonly reason: EndingReason
    /** Its category. */
    readonly category: StopCategory
    /** One sentence for a person. */
    readonly message: string
    /** US dollars of the run, including subagents. */
    readonly costUsd: number
    /** Turns of the run. */
    readonly turns: number
    /** Tokens of the run, including subagents. */
    readonly totalTokens: number
  }
}

/** A step of a subagent in short form, for display. */
export type AgentActivity =
  | {
      readonly type: 'text'
      /** The text. */
      readonly text: string
    }
  | {
      readonly type: 'tool_start' | 'tool_end'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
    }
  | {
      readonly type: 'approval'
      /** Id of the request for approval. */
      readonly approvalId: string
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
      /** Input of the call. */
      readonly input: unknown
      /** Why a person is asked. */
      readonly message: string
    }
  | {
      readonly type: 'end'
      /** How the subagent ended. */
      readonly reason: EndingReason
    }

type DataChunk = {
  readonly [Type in keyof HaltingDataParts]: {
    readonly type: Type
    readonly id?: string
    readonly data: HaltingDataParts[Type]
    readonly transient?: boolean
  }
}[keyof HaltingDataParts]

/** A chunk of the UI message stream of the AI SDK 7; only those that runs emit. `UIMessageChunk` of `ai` accepts each. */
export type UIMessageChunk =
  | {
      readonly type: 'start'
      /** Id of the message that the stream builds. */
      readonly messageId: string
    }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | {
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'
      /** Id of the part that the chunk belongs to. */
      readonly id: string
    }
  | {
      readonly type: 'text-delta' | 'reasoning-delta'
      /** Id of the part that the chunk belongs to. */
      readonly id: string
      /** The text to append. */
      readonly delta: string
    }
  | {
      readonly type: 'tool-input-start'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
    }
  | {
      readonly type: 'tool-input-delta'
      /** Id of the call. */
      readonly toolCallId: string
      /** The text to append to the input, as JSON. */
      readonly inputTextDelta: string
    }
  | {
      readonly type: 'tool-input-available'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
      /** Input of the call. */
      readonly input: unknown
      readonly providerExecuted?: true
    }
  | {
      readonly type: 'tool-approval-request'
      /** Id of the request for approval. */
      readonly approvalId: string
      /** Id of the call. */
      readonly toolCallId: string
      /** Why, as a sentence or as a word of the closed set. */
      readonly reason: string
    }
  | {
      readonly type: 'tool-output-available'
      /** Id of the call. */
      readonly toolCallId: string
      /** The result, as in the model's view. */
      readonly output: unknown
      readonly providerExecuted?: true
    }
  | {
      readonly type: 'tool-output-error'
      /** Id of the call. */
      readonly toolCallId: string
      /** What went wrong, for the person. */
      readonly errorText: string
    }
  | {
      readonly type: 'tool-output-denied'
      /** Id of the call. */
      readonly toolCallId: string
    }
  | {
      readonly type: 'source-url'
      /** Id of the source. */
      readonly sourceId: string
      /** Address of the source, or the file as a data URL. */
      readonly url: string
      /** Title of the source; absent for none. */
      readonly title?: string
    }
  | {
      readonly type: 'file'
      /** Address of the source, or the file as a data URL. */
      readonly url: string
      /** Media type of the file: `image/png`. */
      readonly mediaType: string
    }
  | {
      readonly type: 'abort'
      /** Why, as a sentence or as a word of the closed set. */
      readonly reason: string
    }
  | {
      readonly type: 'error'
      /** What went wrong, for the person. */
      readonly errorText: string
    }
  | {
      readonly type: 'finish'
      /** Why the message ends. */
      readonly finishReason: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
    }
  | DataChunk
