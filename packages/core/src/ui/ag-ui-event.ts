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
  | { readonly type: 'success' | 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }

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
  readonly 'halting.approval': { readonly approvalId: string; readonly toolCallId: string; readonly reason: string }
  /** Messages and calls of an attempt that failed: remove them. */
  readonly 'halting.retracted': { readonly messageIds: readonly string[]; readonly toolCallIds: readonly string[] }
  /** A page that the text before it cites. */
  readonly 'halting.source': { readonly url: string; readonly title?: string }
  /** A file that the model made. */
  readonly 'halting.file': { readonly url: string; readonly mediaType: string }
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
  /** Tokens of the prompts, those of caches included. */
  readonly inputTokens: number
  /** Tokens of the replies. */
  readonly outputTokens: number
}

/** An event of AG-UI 1.0, as far as runs have them. */
export type AgUiEvent =
  | { readonly type: 'RUN_STARTED'; readonly threadId: string; readonly runId: string; readonly protocolVersion: '1.0' }
  | {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly outcome: AgUiOutcome
      readonly result: HaltingDataParts['data-halting-ending']
      readonly usage: readonly AgUiUsage[]
    }
  | {
      readonly type: 'RUN_ERROR'
      readonly message: string
      readonly code: string
      readonly usage: readonly AgUiUsage[]
    }
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | { readonly type: 'TEXT_MESSAGE_START'; readonly messageId: string; readonly role: 'assistant' }
  | {
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'
      readonly messageId: string
      readonly delta: string
    }
  | {
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'
      readonly messageId: string
    }
  | { readonly type: 'REASONING_MESSAGE_START'; readonly messageId: string; readonly role: 'reasoning' }
  | { readonly type: 'TOOL_CALL_START'; readonly toolCallId: string; readonly toolCallName: string }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly toolCallId: string
      readonly content: string
      readonly role: 'tool'
    }
  | {
      readonly type: 'SUBAGENT_STARTED'
      readonly subagentRunId: string
      readonly name: string
      readonly description?: string
      readonly parentToolCallId: string
    }
  | { readonly type: 'SUBAGENT_FINISHED'; readonly subagentRunId: string }
  | { readonly type: 'SUBAGENT_ERROR'; readonly subagentRunId: string; readonly message: string; readonly code: string }
  | CustomEvent
