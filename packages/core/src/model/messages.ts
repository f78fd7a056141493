import type { Json, JsonObject } from '../values/json.ts'

/**
 * How the service wrote a block, where the common shape cannot hold it: a number that JavaScript would round, a
 * field that the service wants back. Only the adapter that wrote it reads it. It is sent to no other service.
 */
export type BlockOrigin = {
  /** Name of the API that wrote the block; only its adapter reads the other fields. */
  readonly api: string
  readonly [field: string]: Json | undefined
}

/**
 * Messages as the Messages API writes them: the wire, the record and the library share one shape.
 * Blocks that this library does not know are carried along untouched.
 */
export interface TextBlock {
  readonly type: 'text'
  /** The text. */
  readonly text: string
  /** Citations, as the service wrote them. */
  readonly citations?: unknown
  /** How the service wrote the block, where this shape cannot hold it. */
  readonly origin?: BlockOrigin
}

/** A call of a tool. `id` is unique in a conversation, `input` is what the model wrote, unchecked. */
export interface ToolUseBlock {
  readonly type: 'tool_use'
  /** Unique within the conversation. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** What the model wrote, unchecked. */
  readonly input: unknown
  /** How the service wrote the block, where this shape cannot hold it. */
  readonly origin?: BlockOrigin
}

/** The result of the call `tool_use_id`; every call has exactly one. */
export interface ToolResultBlock {
  readonly type: 'tool_result'
  /** Id of the call that this is the result of. */
  readonly tool_use_id: string
  /** What the model is shown: a text or blocks. */
  readonly content: string | readonly ContentBlock[]
  /** Whether the call failed. Default: false. */
  readonly is_error?: boolean
}

/** Reasoning that is shown. Goes back with its signature, to the model that wrote it and to no other. */
export interface ThinkingBlock {
  readonly type: 'thinking'
  /** The reasoning as text. */
  readonly thinking: string
  /** Empty where the service signs nothing. */
  readonly signature: string
  /** How the service wrote the block, where this shape cannot hold it. */
  readonly origin?: BlockOrigin
}

/** Reasoning that is not shown. Goes back as it is. */
export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking'
  /** The reasoning, encrypted by the service. */
  readonly data: string
}

/** An image, by data or by URL. */
export interface ImageBlock {
  readonly type: 'image'
  /** Where the image is. */
  readonly source: {
    /** `base64` for data, `url` for an address, or a kind that only the service understands. */
    readonly type: string
    /** Media type of the data: `image/png`. */
    readonly media_type?: string
    /** The image in base64. */
    readonly data?: string
    /** Address from which the service loads the image. */
    readonly url?: string
  }
}

/** A block of a kind that only the service understands (server tools, citations to come): kept and sent back as it came. */
export interface OpaqueBlock {
  /** The kind of the block. */
  readonly type:
    | `${string}_tool_use`
    | `${string}_tool_result`
    | 'document'
    | 'container_upload'
    | 'compaction'
    | 'search_result'
    | 'tool_reference'
    // Stored by `fromAiSdk` for the provider that sent it, and by the Responses API.
    | `ai_sdk_${string}`
    | `responses_${string}`
  readonly [field: string]: unknown
}

/** A block of a message, in the shape of the Messages API. Kinds that this library does not know are `OpaqueBlock`s and are kept. */
export type ContentBlock =
  | TextBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ImageBlock
  | OpaqueBlock

/** A text, or blocks. */
export type MessageContent = string | readonly ContentBlock[]

/** A message to the model: from a person, or with results of tools. */
export interface UserMessage {
  readonly role: 'user'
  /** A text, or blocks. */
  readonly content: MessageContent
}

/** Why the model ended its reply; open-ended, since services add to it. */
export type ModelStopReason =
  | 'end_turn'
  | 'tool_use'
  | 'max_tokens'
  | 'stop_sequence'
  | 'pause_turn'
  /** The service has compacted the conversation, and waits. */
  | 'compaction'
  | 'refusal'
  | 'model_context_window_exceeded'
  | (string & {})

/** A message of the model, as the service gave it. */
export interface AssistantMessage {
  readonly role: 'assistant'
  /** The message's id, as the service gave it. */
  readonly id: string
  /** The model that answered, as the service names it. */
  readonly model: string
  /** The reply, block by block. */
  readonly content: readonly ContentBlock[]
  /** Why the model stopped; null when the service does not say. */
  readonly stop_reason: ModelStopReason | null
  /** The sequence at which it stopped; null or absent for none. */
  readonly stop_sequence?: string | null
  /** What a service says about a refusal. */
  readonly stop_details?: JsonObject
  /** Where the service's own tools ran code; a later request names it to find the files again. */
  readonly container?: JsonObject
  /** Tokens of the request. */
  readonly usage: Usage
  /** The id of the `Model` that was asked. Signatures are valid only for the model that wrote them. */
  readonly by?: string
}

/** What a model is shown: user and assistant messages, nothing else. */
export type ModelMessage =
  | UserMessage
  | ({
      readonly role: 'assistant'
      /** The reply, block by block. */
      readonly content: readonly ContentBlock[]
    } & Pick<AssistantMessage, 'by' | 'container'>)

/** Tokens of one request or a sum of many, as the API counts them. `input_tokens` are the uncached ones. */
export type Usage = {
  /** Input tokens that were neither read from the prompt cache nor written to it. */
  readonly input_tokens: number
  /** Output tokens, reasoning included. */
  readonly output_tokens: number
  /** Input tokens written to the prompt cache. */
  readonly cache_creation_input_tokens: number
  /** Input tokens read from the prompt cache. */
  readonly cache_read_input_tokens: number
  /** Tokens written to the cache, by their lifetime; absent when the service does not say. */
  readonly cache_creation?: CacheCreation
  /** Uses of the service's own tools that are billed apart from tokens. */
  readonly server_tool_use?: {
    /** Searches of the web. */
    readonly web_search_requests: number
  }
  /** The passes that the service made, where it tells them: what it billed adds up over these (`billedParts`). */
  readonly iterations?: readonly UsageIteration[]
}

type CacheCreation = { readonly ephemeral_5m_input_tokens: number; readonly ephemeral_1h_input_tokens: number }

/**
 * One pass of a request: `message` is part of the reply, and the counts above are the sum of these. Others come on top
 * of them: `compaction`, `advisor_message` and what services may add.
 */
export type UsageIteration = {
  /** What the pass was for. */
  readonly type: string
  /** Who made it, where that is told. */
  readonly model?: string | null
  /** Input tokens of the pass that were not cached. */
  readonly input_tokens: number
  /** Output tokens of the pass. */
  readonly output_tokens: number
  /** Input tokens of the pass written to the prompt cache. */
  readonly cache_creation_input_tokens?: number | null
  /** Input tokens of the pass read from the prompt cache. */
  readonly cache_read_input_tokens?: number | null
  /** Tokens written to the cache, by their lifetime. */
  readonly cache_creation?: CacheCreation | null
}

/** No tokens of any kind. */
export const noUsage: Usage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
})

/** The sum of two usages, count by count. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_creation_input_tokens: a.cache_creation_input_tokens + b.cache_creation_input_tokens,
    cache_read_input_tokens: a.cache_read_input_tokens + b.cache_read_input_tokens,
  }
  if (!(a.cache_creation || b.cache_creation || a.server_tool_use || b.server_tool_use)) return sum
  const searches = (a.server_tool_use?.web_search_requests ?? 0) + (b.server_tool_use?.web_search_requests ?? 0)
  const hour = (a.cache_creation?.ephemeral_1h_input_tokens ?? 0) + (b.cache_creation?.ephemeral_1h_input_tokens ?? 0)
  return {
    ...sum,
    cache_creation: {
      ephemeral_5m_input_tokens: sum.cache_creation_input_tokens - hour,
      ephemeral_1h_input_tokens: hour,
    },
    server_tool_use: { web_search_requests: searches },
  }
}

/** All input tokens of a request: uncached, written to the cache, and read from it. */
export function inputTokensOf(usage: Usage): number {
  return usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
}

// Spec R-GUARD-4.
/** What counts against `maxTotalTokens`: input, cached too, plus output. */
export function totalTokensOf(usage: Usage): number {
  return inputTokensOf(usage) + usage.output_tokens
}

/** A block as the Messages API knows it: without what only the adapter that wrote it can read. */
export function withoutOrigin(block: ContentBlock): ContentBlock {
  if (!('origin' in block)) return block
  const { origin: _, ...plain } = block
  return plain
}

/** True for a call of a tool. */
export function isToolUse(block: ContentBlock): block is ToolUseBlock {
  return block.type === 'tool_use'
}

/** True for the result of a call. */
export function isToolResult(block: ContentBlock): block is ToolResultBlock {
  return block.type === 'tool_result'
}

/** True for a block of text. */
export function isText(block: ContentBlock): block is TextBlock {
  return block.type === 'text'
}

/** The calls of a message, in their order. */
export function toolCallsOf(message: {
  /** The blocks of the message. */
  readonly content: readonly ContentBlock[]
}): readonly ToolUseBlock[] {
  let calls: ToolUseBlock[] | undefined
  for (const block of message.content) if (isToolUse(block)) (calls ??= []).push(block)
  return calls ?? none
}
const none: readonly ToolUseBlock[] = []

/** The content as blocks: a text is one. */
export function blocksOf(content: MessageContent): readonly ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The text that a person reads in a message; blocks are joined as they stand. */
export function textOf(content: MessageContent): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const block of content) if (isText(block)) text += block.text
  return text
}
