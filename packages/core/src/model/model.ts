import type { Prices } from './prices.ts'
import type { JsonObject } from '../values/json.ts'
import type { AssistantMessage, ContentBlock, ModelMessage, Usage } from './messages.ts'
import type { ModelError } from './model-error.ts'
import type { Sampling, ToolChoice } from './sampling.ts'

/** A tool definition as the model gets it. */
export interface ToolDefinition {
  /** Name of the tool. */
  readonly name: string
  /** Description of the tool, for the model. */
  readonly description: string
  /** JSON Schema of the input, `type: object`. */
  readonly input_schema: JsonObject
}

/**
 * How much a model may think before it answers. `enabled`: up to the given number of reply tokens, or fewer if the
 * reply's cap is lower. `adaptive`: the model decides.
 */
export type Thinking =
  | {
      readonly type: 'enabled'
      /** Maximum tokens of reasoning. */
      readonly budgetTokens: number
    }
  | { readonly type: 'adaptive' }
  | { readonly type: 'disabled' }

/** How the service may search the web during one request. */
export interface WebSearchUse {
  /** Maximum number of searches; a positive integer. Each is billed a fee. */
  readonly maxUses: number
  /** Only return results from these domains and their subdomains, such as `example.com`. Cannot be combined with `blockedDomains`. */
  readonly allowedDomains?: readonly string[]
  /** Exclude results from these domains. */
  readonly blockedDomains?: readonly string[]
}

/** One request. `messages` is shared with the run and grows after the call: read it during the call, and copy what you store. */
export interface ModelRequest {
  /** The system prompt; '' for none. */
  readonly system: string
  /** The conversation. */
  readonly messages: readonly ModelMessage[]
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[]
  /** `none`: the model must answer without a tool although tools are listed. */
  readonly toolChoice?: ToolChoice
  /** How to sample tokens. Default: the service's default. Unsupported settings are omitted, with a warning in the reply. */
  readonly sampling?: Sampling
  /** How much to think. Default: the model's default. A model without this setting ignores it. */
  readonly thinking?: Thinking
  /** Lets the service search the web with its own tool. For models with `webSearch`. */
  readonly webSearch?: WebSearchUse
  /** Maximum tokens of the reply; already lowered to what the budget allows. */
  readonly maxOutputTokens: number
  /** Identifies this attempt: the next attempt at the same request has another key. */
  readonly idempotencyKey: string
}

/** Progress of a reply. For display only: nothing may depend on it, except that complete blocks are final. */
export type ModelUpdate =
  /** The service's own event, in the format of the Messages API (`stream_event`). */
  | {
      readonly type: 'api_event'
      /** The event. */
      readonly event: JsonObject
    }
  /** Text to append to block `index`. */
  | {
      readonly type: 'text_delta'
      /** Index of the block in the message. */
      readonly index: number
      /** The text to append. */
      readonly text: string
    }
  /** Reasoning to append to block `index`. */
  | {
      readonly type: 'thinking_delta'
      /** Index of the block in the message. */
      readonly index: number
      /** The reasoning to append. */
      readonly text: string
    }
  /** Block `index` is a tool call whose input follows in parts. Emitted again for the same block if the service begins it again. */
  | {
      readonly type: 'tool_input_start'
      /** Index of the block in the message. */
      readonly index: number
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
    }
  /** A part of the input of the call in block `index`. The complete block contains the valid input. */
  | {
      readonly type: 'tool_input_delta'
      /** Index of the block in the message. */
      readonly index: number
      /** The next part of the JSON text of the input. */
      readonly json: string
    }
  /** Block `index` is complete and final: a read-only tool may start now. */
  | {
      readonly type: 'block'
      /** Index of the block in the message. */
      readonly index: number
      /** The block. */
      readonly block: ContentBlock
      /** Id of the message. */
      readonly messageId: string
    }

/** Options for a call of an adapter. */
export interface ModelCallOptions {
  /** Aborted when the run is aborted; `reason` is a `RunAbort` with the cause. */
  readonly signal: AbortSignal
  /** Reports progress of the reply. */
  emit(update: ModelUpdate): void
}

/** A reply, either complete or up to the point at which its stream broke. */
export interface ModelReply {
  /** The reply. */
  readonly message: AssistantMessage
  /**
   * Set if the stream broke after at least one complete block: `message` contains only the complete blocks. If the
   * stream breaks earlier, the call rejects instead, and may be retried.
   */
  readonly streamError?: ModelError
  /**
   * `unknown` if the service reported no usage for a complete reply, which is charged at its worst case. `nothing` if no
   * model wrote the reply, for example for the next call of a program that runs at the service: a usage of zero is valid
   * then.
   */
  readonly billed?: 'unknown' | 'nothing'
  /** Settings that were changed or ignored, as texts for a person; each becomes a `notice`. Report each one once. */
  readonly warnings?: readonly string[]
}

/**
 * A pass that the service may make in addition to the reply, within one request: a summary of the conversation, or a
 * question to another model. It is billed separately.
 */
export interface ExtraPass {
  /** The id of the model that makes it, which determines the price. */
  readonly model: string
  /** Maximum number of passes in one request. Infinity if unknown: a budget is a configuration error then. */
  readonly uses: number
  /** Maximum input tokens of a pass; never more than the request has. */
  readonly inputTokens: number
  /** Maximum output tokens of a pass. The requested model then reads them. */
  readonly outputTokens: number
  /** Minimum number of tokens of the request at which a pass is made (default: 0). */
  readonly fromInputTokens?: number
}

/** Admission at the head of the model's queue: it allows one request at most. */
export interface Admission {
  /** Works like the model's own `call`, without the wait. Call it at most once. */
  readonly call: Model['call']
  /** Releases the admission without a request. */
  leave(): void
}

/** Usage of a reply that a service reports later. At least one field is set; `usd` takes precedence over the price of `usage`. */
export interface LookedUpUsage {
  /** Billed amount in US dollars. */
  readonly usd?: number
  /** Tokens used. */
  readonly usage?: Usage
}

/** A model adapter. Calls must be independent of each other as far as the run can observe. */
export interface Model {
  /** The exact id that determines its price and its name in results. */
  readonly id: string
  /** Maximum number of tokens of input and output together. */
  readonly contextWindow: number
  /** Maximum tokens of a reply that can be requested. */
  readonly maxOutputTokens: number
  /** The default cap of a reply, unless a reply was truncated. Default: `maxOutputTokens`. */
  readonly defaultOutputTokens?: number
  /**
   * Maximum uses of the service's own tools in one request (default: none). Each may be billed a fee and reads the
   * prompt again. Infinity if unknown: a dollar or token budget is a configuration error then.
   */
  readonly maxServerToolUses?: number
  /** Set if the service can search the web for a request with `webSearch`. `domains`: which domain lists it supports. */
  readonly webSearch?: {
    /** The supported domain lists. */
    readonly domains: 'allowed and blocked' | 'allowed' | 'none'
  }
  /** Passes that the service may make in addition to the reply, within one request, each billed separately. Default: none. */
  readonly extraPasses?: readonly ExtraPass[]
  /** Maximum billed input tokens of one image (default: 6,000). */
  readonly maxImageTokens?: number
  /** Maximum characters of a tool name (default: 128, as in the Messages API). */
  readonly maxToolNameLength?: number
  /** Prices of the model, used if `RunOptions.prices` has none for it; undefined for a model without prices. */
  readonly prices?: Prices
  /**
   * For a model whose requests wait in a queue: resolves when a request may be made. The loop calls this before it
   * records any part of an attempt, so a process that is killed while waiting has requested nothing. If it is not
   * called, or the process was replaced since, `call` waits by itself.
   * @throws when aborted.
   */
  admit?(options: {
    /** Estimated input tokens of the request. */
    readonly tokens: number
    /** Aborted when the run is aborted. */
    readonly signal: AbortSignal
  }): Promise<Admission>
  /**
   * For a service that can report the usage of a reply later. Called once when a run is resumed whose process ended
   * during the request, with a timeout of five seconds. `replyId` is the `id` of the `message_start` event that the
   * model reported. Resolves to undefined if the usage is unknown or not yet known; a failure counts as undefined.
   */
  lookUpUsage?(
    replyId: string,
    options: {
      /** Aborted when the run is aborted, or after the timeout. */
      readonly signal: AbortSignal
    },
  ): Promise<LookedUpUsage | undefined>
  /** Makes one attempt; never retries by itself. @throws ModelError for every failure of the service or the connection. */
  call(request: ModelRequest, options: ModelCallOptions): Promise<ModelReply>
}
