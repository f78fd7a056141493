import type { HaltingDataParts } from './ui-message-chunk.ts'

/** A question that a client must answer before the run continues. */
export interface AgUiInterrupt {
  /** Id of the interrupt: the id of the waiting call. */
  readonly id: string
  /** Always `tool_call`: a call needs approval. */
  readonly reason: 'tool_call'
  /** Why a person is asked. */
  readonly message: string
  /** Id of the call. */
  readonly toolCallId: string
}

/** How an AG-UI run ended: done, waiting for answers, or cancelled. */
export type AgUiOutcome =
  | { readonly type: 'success' | 'cancelled' }
  | {
      readonly type: 'interrupt'
      /** The calls that wait for an answer. */
      readonly interrupts: readonly AgUiInterrupt[]
    }

/** Payloads of `CUSTOM` events by name. */
export interface AgUiCustomValues {
  /** Cost, tokens and time so far, and what the limits leave. */
  readonly 'halting.figures': HaltingDataParts['data-halting-figures']
  /** Model and usage of a complete reply. */
  readonly 'halting.reply': HaltingDataParts['data-halting-reply']
  /** Progress of a running tool. */
  readonly 'halting.progress': HaltingDataParts['data-halting-progress']
  /** Activity of a subagent. */
  readonly 'halting.agent': HaltingDataParts['data-halting-agent']
  /** A sentence for a person. */
  readonly 'halting.notice': HaltingDataParts['data-halting-notice']
  /** A message that a person added during the run. */
  readonly 'halting.message': HaltingDataParts['data-halting-message']
  /** How the run ended. Sent before the last event. */
  readonly 'halting.ending': HaltingDataParts['data-halting-ending']
  /** A call waits for a person during the run: answer with `RunStream.answer`. */
  readonly 'halting.approval': {
    /** Id for the answer. */
    readonly approvalId: string
    /** Id of the call. */
    readonly toolCallId: string
    /** Why a person is asked. */
    readonly reason: string
  }
  /** Messages and calls of a failed attempt: remove them. */
  readonly 'halting.retracted': {
    /** Ids of the messages to remove. */
    readonly messageIds: readonly string[]
    /** Ids of the calls to remove. */
    readonly toolCallIds: readonly string[]
  }
  /** A page cited by the preceding text. */
  readonly 'halting.source': {
    /** Its address, or the file as a data URL. */
    readonly url: string
    /** Title of the page; absent for none. */
    readonly title?: string
  }
  /** A file that the model created. */
  readonly 'halting.file': {
    /** Its address, or the file as a data URL. */
    readonly url: string
    /** Media type of the file: `image/png`. */
    readonly mediaType: string
  }
}

type CustomEvent = {
  readonly [Name in keyof AgUiCustomValues]: {
    readonly type: 'CUSTOM'
    readonly name: Name
    readonly value: AgUiCustomValues[Name]
  }
}[keyof AgUiCustomValues]

/** Tokens of one model in a run. */
export interface AgUiUsage {
  /** Id of the model. */
  readonly model: string
  /** Input tokens, including cached ones. */
  readonly inputTokens: number
  /** Output tokens. */
  readonly outputTokens: number
}

/** An event of AG-UI 1.0; only those that runs emit. */
export type AgUiEvent =
  | {
      readonly type: 'RUN_STARTED'
      /** Id of the thread, which is the session. */
      readonly threadId: string
      /** Id of the run. */
      readonly runId: string
      readonly protocolVersion: '1.0'
    }
  | {
      readonly type: 'RUN_FINISHED'
      /** Id of the thread, which is the session. */
      readonly threadId: string
      /** Id of the run. */
      readonly runId: string
      /** How the run ended. */
      readonly outcome: AgUiOutcome
      /** The ending, with its figures. */
      readonly result: HaltingDataParts['data-halting-ending']
      /** Tokens, by model. */
      readonly usage: readonly AgUiUsage[]
    }
  | {
      readonly type: 'RUN_ERROR'
      /** What went wrong, in a sentence. */
      readonly message: string
      /** The reason of the ending, from the closed set. */
      readonly code: string
      /** Tokens, by model. */
      readonly usage: readonly AgUiUsage[]
    }
  | {
      readonly type: 'STEP_STARTED' | 'STEP_FINISHED'
      /** Name of the step. */
      readonly stepName: string
    }
  | {
      readonly type: 'TEXT_MESSAGE_START'
      /** Id of the message. */
      readonly messageId: string
      readonly role: 'assistant'
    }
  | {
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'
      /** Id of the message. */
      readonly messageId: string
      /** The text to append. */
      readonly delta: string
    }
  | {
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'
      /** Id of the message. */
      readonly messageId: string
    }
  | {
      readonly type: 'REASONING_MESSAGE_START'
      /** Id of the message. */
      readonly messageId: string
      readonly role: 'reasoning'
    }
  | {
      readonly type: 'TOOL_CALL_START'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolCallName: string
    }
  | {
      readonly type: 'TOOL_CALL_ARGS'
      /** Id of the call. */
      readonly toolCallId: string
      /** The text to append. */
      readonly delta: string
    }
  | {
      readonly type: 'TOOL_CALL_END'
      /** Id of the call. */
      readonly toolCallId: string
    }
  | {
      readonly type: 'TOOL_CALL_RESULT'
      /** Id of the message. */
      readonly messageId: string
      /** Id of the call. */
      readonly toolCallId: string
      /** The result, as text. */
      readonly content: string
      readonly role: 'tool'
    }
  | {
      readonly type: 'SUBAGENT_STARTED'
      /** Id of the run of the subagent. */
      readonly subagentRunId: string
      /** Name of the subagent. */
      readonly name: string
      /** Its task; absent if unknown. */
      readonly description?: string
      /** Id of the call that started it. */
      readonly parentToolCallId: string
    }
  | {
      readonly type: 'SUBAGENT_FINISHED'
      /** Id of the run of the subagent. */
      readonly subagentRunId: string
    }
  | {
      readonly type: 'SUBAGENT_ERROR'
      /** Id of the run of the subagent. */
      readonly subagentRunId: string
      /** What went wrong, in a sentence. */
      readonly message: string
      /** The reason of the ending, from the closed set. */
      readonly code: string
    }
  | CustomEvent
