import type { Prices } from './prices.ts'
import type { JsonObject } from '../values/json.ts'
import type { AssistantMessage, ContentBlock, ModelMessage, Usage } from './messages.ts'
import type { ModelError } from './model-error.ts'
import type { Sampling, ToolChoice } from './sampling.ts'

/** A tool as the model is told of it. */
export interface ToolDefinition {
  /** Name of the tool. */
  readonly name: string
  /** What it does, for the model. */
  readonly description: string
  /** JSON Schema of the input, `type: object`. */
  readonly input_schema: JsonObject
}

/**
 * How much a model may think before it answers.
 * `enabled`: at most so many tokens of the reply, less where the reply is cut shorter. `adaptive`: as much as the model finds right.
 */
export type Thinking =
  | {
      readonly type: 'enabled'
      /** The most tokens of reasoning. */
      readonly budgetTokens: number
    }
  | { readonly type: 'adaptive' }
  | { readonly type: 'disabled' }

/** How the service may search the web while it answers one request. */
export interface WebSearchUse {
  /** Most searches; a positive whole number. Each is billed a fee. */
  readonly maxUses: number
  /** Results of these domains and what lies below them alone, such as `example.com`. Not beside `blockedDomains`. */
  readonly allowedDomains?: readonly string[]
  /** No results of these. */
  readonly blockedDomains?: readonly string[]
}

/** One request. `messages` is shared with the run and grows after the call: read it during the call, copy what is kept. */
export interface ModelRequest {
  /** The system prompt; '' for none. */
  readonly system: string
  /** The conversation. */
  readonly messages: readonly ModelMessage[]
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[]
  /** `none`: the model is to answer without a tool, although they are listed. */
  readonly toolChoice?: ToolChoice
  /** As the service has it when absent. What a service cannot be told is left out, with a warning of the reply. */
  readonly sampling?: Sampling
  /** As the model was made when absent. A model that cannot be told passes it over. */
  readonly thinking?: Thinking
  /** Lets the service search the web by its own tool. For models that say `webSearch`. */
  readonly webSearch?: WebSearchUse
  /** Most tokens that the reply may have; already lowered to what the budget allows. */
  readonly maxOutputTokens: number
  /** Names this attempt: the next attempt at the same request has another. */
  readonly idempotencyKey: string
}

/** What a model tells while it replies. For looking at; nothing may depend on it, except that complete blocks are final. */
export type ModelUpdate =
  /** The service's own event, in the shape of the Messages API (`stream_event`). */
  | {
      readonly type: 'api_event'
      /** The event. */
      readonly event: JsonObject
    }
  /** Some more text of block `index`. */
  | {
      readonly type: 'text_delta'
      /** Index of the block in the message. */
      readonly index: number
      /** The text to append. */
      readonly text: string
    }
  /** Some more of what the model thinks, in block `index`. */
  | {
      readonly type: 'thinking_delta'
      /** Index of the block in the message. */
      readonly index: number
      /** The reasoning to append. */
      readonly text: string
    }
  /** Block `index` is a call of a tool, whose input follows in pieces. Again for the same block where the service begins it anew. */
  | {
      readonly type: 'tool_input_start'
      /** Index of the block in the message. */
      readonly index: number
      /** Id of the call. */
      readonly callId: string
      /** Name of the tool. */
      readonly name: string
    }
  /** Some more of the input of the call in block `index`. The complete block has the input that counts. */
  | {
      readonly type: 'tool_input_delta'
      /** Index of the block in the message. */
      readonly index: number
      /** The next piece of the JSON text of the input. */
      readonly json: string
    }
  /** Block `index` is complete, and stands as it was told: a read-only tool may start now. */
  | {
      readonly type: 'block'
      /** Index of the block in the message. */
      readonly index: number
      /** The block. */
      readonly block: ContentBlock
      /** Id of the message. */
      readonly messageId: string
    }

/** What an adapter is handed beside the request. */
export interface ModelCallOptions {
  /** Aborted when the run is; `reason` is a `RunAbort` with the cause. */
  readonly signal: AbortSignal
  /** Reports progress of the reply. */
  emit(update: ModelUpdate): void
}

/** A reply, whole or as far as it came. */
export interface ModelReply {
  /** The reply. */
  readonly message: AssistantMessage
  /**
   * Set when the stream broke after at least one completed block: `message` holds the completed blocks alone.
   * A break before that is a rejection, which may be retried.
   */
  readonly streamError?: ModelError
  /**
   * `unknown` when the service told no usage for a whole reply: it is charged at its worst case. `nothing` when no model wrote it, such as
   * the next call of a program that runs at the service: a usage of zero is then what it used.
   */
  readonly billed?: 'unknown' | 'nothing'
  /** What was asked for and is done otherwise, or not at all, in words for a person: a `notice` each. Tell one once. */
  readonly warnings?: readonly string[]
}

/**
 * A pass that the service may make beside the reply, within one request: a summary of the conversation, a question to
 * another model. It is billed on top of the reply.
 */
export interface ExtraPass {
  /** Who makes it: the id by which it is priced. */
  readonly model: string
  /** Most of them in one request. Infinity when nobody said: a budget is then a configuration error. */
  readonly uses: number
  /** Most tokens that one may read; it reads no more than there is. */
  readonly inputTokens: number
  /** Most tokens that one may write. The asked model then reads them. */
  readonly outputTokens: number
  /** None is made while the request has fewer tokens than this; 0 when absent. */
  readonly fromInputTokens?: number
}

/** A place in the queue of a model that has come to its turn: one request, or none. */
export interface Admission {
  /** As the model's own, without the wait. Once. */
  readonly call: Model['call']
  /** No request is made. */
  leave(): void
}

/** What a service reports afterwards of a reply. At least one of both; `usd` goes before what the prices make of `usage`. */
export interface LookedUpUsage {
  /** What it was billed at, in US dollars. */
  readonly usd?: number
  /** The tokens that it used. */
  readonly usage?: Usage
}

/** The port to a model. Implementations are stateless between calls as far as the run can see. */
export interface Model {
  /** The exact id by which it is priced and named in results. */
  readonly id: string
  /** Tokens of input and output that fit. */
  readonly contextWindow: number
  /** Most tokens that one reply can have, when asked for. */
  readonly maxOutputTokens: number
  /** What is asked for unless a reply was cut: the default cap. `maxOutputTokens` when absent. */
  readonly defaultOutputTokens?: number
  /**
   * Most uses of the service's own tools that one request may have; none when absent. Each may be billed a fee, and
   * reads the prompt again. Infinity when nobody said: a dollar or token budget is then a configuration error.
   */
  readonly maxServerToolUses?: number
  /**
   * The service can search the web for a request that says `webSearch`; it cannot when absent. `domains`: which lists
   * of domains it keeps to.
   */
  readonly webSearch?: {
    /** Which lists of domains it accepts. */
    readonly domains: 'allowed and blocked' | 'allowed' | 'none'
  }
  /** Passes beside the reply that the service may make within one request, each billed on top of it; none when absent. */
  readonly extraPasses?: readonly ExtraPass[]
  /** Most input tokens that one image is billed as; 6,000 when absent. */
  readonly maxImageTokens?: number
  /** Most characters that the name of a tool may have; 128 when absent, as the Messages API has it. */
  readonly maxToolNameLength?: number
  /** What the model costs, where `RunOptions.prices` has no price for it; undefined for a model that brings none. */
  readonly prices?: Prices
  /**
   * For a model whose requests wait for their turn: resolves when one may be made. The loop asks here before anything of an attempt is on record, so that what is
   * killed while it waits has asked for nothing. Where it is left out, or the process is another by then, `call` waits by itself.
   * @throws when it is aborted.
   */
  admit?(options: {
    /** Input tokens of the request, estimated. */
    readonly tokens: number
    /** Aborted when the run is. */
    readonly signal: AbortSignal
  }): Promise<Admission>
  /**
   * For a service that reports later what a reply came to: asked once when a run is resumed whose process ended during the request, and for no longer than five
   * seconds. `replyId` is the `id` of the `message_start` event that the model reported. Resolves to undefined where the service does not know it, or not yet;
   * what fails counts as that.
   */
  lookUpUsage?(
    replyId: string,
    options: {
      /** Aborted when the run is, or the time is over. */
      readonly signal: AbortSignal
    },
  ): Promise<LookedUpUsage | undefined>
  /**
   * Makes one attempt; never retries by itself.
   * @throws ModelError for everything that the service or the way to it can do wrong.
   */
  call(request: ModelRequest, options: ModelCallOptions): Promise<ModelReply>
}
