import type { HaltingDataParts } from './ui-message-chunk.ts'

/** What a client has to answer before the run continues. */
export interface AgUiInterrupt {
  /** Id of the interrupt: the id of the call that waits. */
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
  | {
      /** Which event. */
      readonly type: 'success' | 'cancelled'
    }
  | {
      /** Which event. */
      readonly type: 'interrupt'
      /** The calls that wait. */
      readonly interrupts: readonly AgUiInterrupt[]
    }

/** Payloads of `CUSTOM` events by their names. */
export interface AgUiCustomValues {
  /** Cost, tokens and time so far, and what is left of the limits. */
  readonly 'halting.figures': HaltingDataParts['data-halting-figures']
  /** Model and usage of a reply that is complete. */
  readonly 'halting.reply': HaltingDataParts['data-halting-reply']
  /** What a tool reports while it runs. */
  readonly 'halting.progress': HaltingDataParts['data-halting-progress']
  /** What a subagent does. */
  readonly 'halting.agent': HaltingDataParts['data-halting-agent']
  /** A sentence for a person. */
  readonly 'halting.notice': HaltingDataParts['data-halting-notice']
  /** What a person added while the run was going on. */
  readonly 'halting.message': HaltingDataParts['data-halting-message']
  /** How the run ended; before the last event. */
  readonly 'halting.ending': HaltingDataParts['data-halting-ending']
  /** A call waits for a person while the run goes on: answer with `RunStream.answer`. */
  readonly 'halting.approval': {
    /** What the answer is given by: `RunStream.answer`, or the id of the call where the run has ended. */
    readonly approvalId: string
    /** Id of the call. */
    readonly toolCallId: string
    /** Why, in one sentence. */
    readonly reason: string
  }
  /** Messages and calls of an attempt that failed: remove them. */
  readonly 'halting.retracted': {
    /** Ids of messages. */
    readonly messageIds: readonly string[]
    /** Ids of calls. */
    readonly toolCallIds: readonly string[]
  }
  /** A page that the text before it cites. */
  readonly 'halting.source': {
    /** Its address; `data:` for one that is in the message. */
    readonly url: string
    /** Its title. */
    readonly title?: string
  }
  /** A file that the model made. */
  readonly 'halting.file': {
    /** Its address; `data:` for one that is in the message. */
    readonly url: string
    /** Its type, such as `image/png`. */
    readonly mediaType: string
  }
}

type CustomEvent = {
  readonly [Name in keyof AgUiCustomValues]: {
    /** Which event. */
    readonly type: 'CUSTOM'
    /** Its name. */
    readonly name: Name
    /** Its payload. */
    readonly value: AgUiCustomValues[Name]
  }
}[keyof AgUiCustomValues]

/** Tokens of one model in a run. */
export interface AgUiUsage {
  /** Id of the model. */
  readonly model: string
  /** Tokens of the prompts, those of caches included. */
  readonly inputTokens: number
  /** Tokens of the replies. */
  readonly outputTokens: number
}

/** An event of AG-UI 1.0, as far as runs have them. */
export type AgUiEvent =
  | {
      /** Which event. */
      readonly type: 'RUN_STARTED'
      /** Id of the session. */
      readonly threadId: string
      /** Id of the run. */
      readonly runId: string
      /** Version of the protocol. */
      readonly protocolVersion: '1.0'
    }
  | {
      /** Which event. */
      readonly type: 'RUN_FINISHED'
      /** Id of the session. */
      readonly threadId: string
      /** Id of the run. */
      readonly runId: string
      /** How it ended. */
      readonly outcome: AgUiOutcome
      /** The ending. */
      readonly result: HaltingDataParts['data-halting-ending']
      /** Tokens by model. */
      readonly usage: readonly AgUiUsage[]
    }
  | {
      /** Which event. */
      readonly type: 'RUN_ERROR'
      /** One sentence for a person. */
      readonly message: string
      /** Which ending. */
      readonly code: string
      /** Tokens by model. */
      readonly usage: readonly AgUiUsage[]
    }
  | {
      /** Which event. */
      readonly type: 'STEP_STARTED' | 'STEP_FINISHED'
      /** Name of the step, unique in the run. */
      readonly stepName: string
    }
  | {
      /** Which event. */
      readonly type: 'TEXT_MESSAGE_START'
      /** Id of the message. */
      readonly messageId: string
      /** Who writes it. */
      readonly role: 'assistant'
    }
  | {
      /** Which event. */
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'
      /** Id of the message. */
      readonly messageId: string
      /** The next piece of it. */
      readonly delta: string
    }
  | {
      /** Which event. */
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'
      /** Id of the message. */
      readonly messageId: string
    }
  | {
      /** Which event. */
      readonly type: 'REASONING_MESSAGE_START'
      /** Id of the message. */
      readonly messageId: string
      /** Who writes it. */
      readonly role: 'reasoning'
    }
  | {
      /** Which event. */
      readonly type: 'TOOL_CALL_START'
      /** Id of the call. */
      readonly toolCallId: string
      /** Name of the tool. */
      readonly toolCallName: string
    }
  | {
      /** Which event. */
      readonly type: 'TOOL_CALL_ARGS'
      /** Id of the call. */
      readonly toolCallId: string
      /** The next piece of it. */
      readonly delta: string
    }
  | {
      /** Which event. */
      readonly type: 'TOOL_CALL_END'
      /** Id of the call. */
      readonly toolCallId: string
    }
  | {
      /** Which event. */
      readonly type: 'TOOL_CALL_RESULT'
      /** Id of the message. */
      readonly messageId: string
      /** Id of the call. */
      readonly toolCallId: string
      /** What the model is shown of the result. */
      readonly content: string
      /** Who writes it. */
      readonly role: 'tool'
    }
  | {
      /** Which event. */
      readonly type: 'SUBAGENT_STARTED'
      /** Id of the subagent: that of its call. */
      readonly subagentRunId: string
      /** Its name. */
      readonly name: string
      /** What it is to do. */
      readonly description?: string
      /** Id of the call that started it. */
      readonly parentToolCallId: string
    }
  | {
      /** Which event. */
      readonly type: 'SUBAGENT_FINISHED'
      /** Id of the subagent: that of its call. */
      readonly subagentRunId: string
    }
  | {
      /** Which event. */
      readonly type: 'SUBAGENT_ERROR'
      /** Id of the subagent: that of its call. */
      readonly subagentRunId: string
      /** One sentence for a person. */
      readonly message: string
      /** Which ending. */
      readonly code: string
    }
  | CustomEvent
