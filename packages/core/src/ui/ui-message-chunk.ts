import type { StopCategory } from '../endings/reason.ts'
import type { EndingReason } from '../endings/ending.ts'
import type { RunEvent } from '../events.ts'
import type { Json } from '../json.ts'
import type { Usage } from '../messages.ts'

/** Data parts of a run in a UI message stream: the payload of each `data-…` part by its type. */
export interface HaltingDataParts {
  /** Transient: a reply of the model is complete. */
  readonly 'data-halting-reply': {
    /** Id of the message in the conversation. */
    readonly messageId: string
    /** Id of the model that wrote it. */
    readonly model: string
    /** Tokens of the reply. */
    readonly usage: Usage
    /** Why the model ended it, in the words of the service. */
    readonly stopReason: string | null
  }
  /** Transient: cost, tokens and time of the run so far, and what is left of its limits. */
  readonly 'data-halting-figures': Omit<Extract<RunEvent, { readonly type: 'figures' }>, 'type'>
  /** Transient: progress of a tool while it runs. */
  readonly 'data-halting-progress': {
    /** Id of the call. */
    readonly toolCallId: string
    /** Name of the tool. */
    readonly toolName: string
    /** What the tool reported. */
    readonly data: Json
  }
  /** Transient: what a subagent does for a call. */
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
  /** A message that a person added while the run was going on. */
  readonly 'data-halting-message': {
    /** Id of the message in the conversation. */
    readonly messageId: string
    /** Its text. */
    readonly text: string
  }
  /** How the run ended; once, as the last part of the message. */
  readonly 'data-halting-ending': {
    /** Which ending. */
    readonly reason: EndingReason
    /** Its category. */
    readonly category: StopCategory
    /** One sentence for a person. */
    readonly message: string
    /** US dollars that the run has cost, subagents included. */
    readonly costUsd: number
    /** Turns of the run. */
    readonly turns: number
    /** Tokens of the run, subagents included. */
    readonly totalTokens: number
  }
}

/** What a subagent does: a step of it in short, for display. */
export type AgentActivity =
  | {
      /** What kind of step. */
      readonly type: 'text'
      /** The text. */
      readonly text: string
    }
  | {
      /** What kind of step. */
      readonly type: 'tool_start' | 'tool_end'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
    }
  | {
      /** What kind of step. */
      readonly type: 'approval'
      /** What the answer is given by: `RunStream.answer`, or the id of the call where the run has ended. */
      readonly approvalId: string
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
      /** The input, as the model wrote it. */
      readonly input: unknown
      /** One sentence for a person. */
      readonly message: string
    }
  | {
      /** What kind of step. */
      readonly type: 'end'
      /** Which ending. */
      readonly reason: EndingReason
    }

type DataChunk = {
  readonly [Type in keyof HaltingDataParts]: {
    /** Which chunk. */
    readonly type: Type
    /** Id of the part in the stream. */
    readonly id?: string
    /** Its payload. */
    readonly data: HaltingDataParts[Type]
    /** It is not stored in the message. */
    readonly transient?: boolean
  }
}[keyof HaltingDataParts]

/** A chunk of the UI message stream of the AI SDK 7, as far as runs have them: `UIMessageChunk` of `ai` accepts each. */
export type UIMessageChunk =
  | {
      /** Which chunk. */
      readonly type: 'start'
      /** Id of the message. */
      readonly messageId: string
    }
  | {
      /** Which chunk. */
      readonly type: 'start-step' | 'finish-step' | 'reset-step'
    }
  | {
      /** Which chunk. */
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'
      /** Id of the part in the stream. */
      readonly id: string
    }
  | {
      /** Which chunk. */
      readonly type: 'text-delta' | 'reasoning-delta'
      /** Id of the part in the stream. */
      readonly id: string
      /** The next piece of it. */
      readonly delta: string
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-input-start'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-input-delta'
      /** Id of the call. */
      readonly toolCallId: string
      /** The next piece of the JSON text of the input. */
      readonly inputTextDelta: string
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-input-available'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolName: string
      /** The input, as the model wrote it. */
      readonly input: unknown
      /** The service ran the tool itself. */
      readonly providerExecuted?: true
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-approval-request'
      /** What the answer is given by: `RunStream.answer`, or the id of the call where the run has ended. */
      readonly approvalId: string
      /** Id of the call. */
      readonly toolCallId: string
      /** Why, in one sentence. */
      readonly reason: string
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-output-available'
      /** Id of the call. */
      readonly toolCallId: string
      /** What the model is shown of the result. */
      readonly output: unknown
      /** The service ran the tool itself. */
      readonly providerExecuted?: true
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-output-error'
      /** Id of the call. */
      readonly toolCallId: string
      /** What went wrong. */
      readonly errorText: string
    }
  | {
      /** Which chunk. */
      readonly type: 'tool-output-denied'
      /** Id of the call. */
      readonly toolCallId: string
    }
  | {
      /** Which chunk. */
      readonly type: 'source-url'
      /** Id of the source: its address. */
      readonly sourceId: string
      /** Its address; `data:` for one that is in the message. */
      readonly url: string
      /** Its title. */
      readonly title?: string
    }
  | {
      /** Which chunk. */
      readonly type: 'file'
      /** Its address; `data:` for one that is in the message. */
      readonly url: string
      /** Its type, such as `image/png`. */
      readonly mediaType: string
    }
  | {
      /** Which chunk. */
      readonly type: 'abort'
      /** Why, in one sentence. */
      readonly reason: string
    }
  | {
      /** Which chunk. */
      readonly type: 'error'
      /** What went wrong. */
      readonly errorText: string
    }
  | {
      /** Which chunk. */
      readonly type: 'finish'
      /** Why the run ended, in the terms of the AI SDK. */
      readonly finishReason: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
    }
  | DataChunk
