import type { Json, JsonObject } from '../values/json.ts'

/**
 * The original form of a block if the common shape cannot represent it: a number that JavaScript would round, or a field
 * that the service wants back. Only the adapter that wrote it reads it. It is sent to no other service.
 */
export type BlockOrigin = {
  /** Name of the API that wrote the block. Only its adapter reads the other fields. */
  readonly api: string
  readonly [field: string]: Json | undefined
}

/** Messages in the format of the Messages API: the wire, the record and the library share one shape. Unknown blocks are passed through unchanged. */
export interface TextBlock {
  readonly type: 'text'
  /** The text. */
  readonly text: string
  /** Citations from the service, unchanged. */
  readonly citations?: unknown
  /** The original form of the block, if this shape cannot represent it. */
  readonly origin?: BlockOrigin
}

/** A tool call. `id` is unique in a conversation; `input` comes from the model and is unchecked. */
export interface ToolUseBlock {
  readonly type: 'tool_use'
  /** Unique within the conversation. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** The input from the model, unchecked. */
  readonly input: unknown
  /** The original form of the block, if this shape cannot represent it. */
  readonly origin?: BlockOrigin
}

/** The result of the call `tool_use_id`. Every call has exactly one. */
export interface ToolResultBlock {
  readonly type: 'tool_result'
  /** Id of the call. */
  readonly tool_use_id: string
  /** The content for the model: a text or blocks. */
  readonly content: string | readonly ContentBlock[]
  /** Whether the call failed. Default: false. */
  readonly is_error?: boolean
}

/** Visible reasoning. It is sent back with its signature to the model that wrote it, and to no other. */
export interface ThinkingBlock {
  readonly type: 'thinking'
  /** The reasoning as text. */
  readonly thinking: string
  /** Empty if the service does not sign it. */
  readonly signature: string
  /** The original form of the block, if this shape cannot represent it. */
  readonly origin?: BlockOrigin
}

/** Hidden reasoning. It is sent back unchanged. */
export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking'
  /** The reasoning, encrypted by the service. */
  readonly data: string
}

/** An image, by data or by URL. */
export interface ImageBlock {
  readonly type: 'image'
  /** The location of the image. */
  readonly source: {
    /** `base64` for data, `url` for an address, or a type known only to the service. */
    readonly type: string
    /** Media type of the data: `image/png`. */
    readonly media_type?: string
    /** The image in base64. */
    readonly data?: string
    /** Address from which the service loads the image. */
    readonly url?: string
  }
}

/** A block of a type that only the service understands (server tools, future citations). The block is stored and sent back unchanged. */
export interface OpaqueBlock {
  /** The type of the block. */
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

/** A block of a message, in the format of the Messages API. Types unknown to this library are `OpaqueBlock`s. */
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

/** A message to the model: from a person, or with tool results. */
export interface UserMessage {
  readonly role: 'user'
  /** A text, or blocks. */
  readonly content: MessageContent
}

/** Why the model ended its reply. Open-ended, because services add reasons. */
export type ModelStopReason =
  | 'end_turn'
  | 'tool_use'
  | 'max_tokens'
  | 'stop_sequence'
  | 'pause_turn'
  /** The service has compacted the conversation and expects another request. */
  | 'compaction'
  | 'refusal'
  | 'model_context_window_exceeded'
  | (string & {})

/** A message of the model, as received from the service. */
export interface AssistantMessage {
  readonly role: 'assistant'
  /** The message id from the service. */
  readonly id: string
  /** The service's name of the model that answered. */
  readonly model: string
  /** The blocks of the reply. */
  readonly content: readonly ContentBlock[]
  /** Why the model stopped; null if the service does not report it. */
  readonly stop_reason: ModelStopReason | null
  /** The stop sequence that ended the reply; null or absent for none. */
  readonly stop_sequence?: string | null
  /** Details from the service about a refusal. */
  readonly stop_details?: JsonObject
  /** The container in which the service's own tools ran code. A later request names it to find the files again. */
  readonly container?: JsonObject
  /** Tokens of the request. */
  readonly usage: Usage
  /** The id of the `Model` that was asked. Signatures are valid only for the model that wrote them. */
  readonly by?: string
}

/** A message for the model: from the user or the assistant. */
export type ModelMessage =
  | UserMessage
  | ({
      readonly role: 'assistant'
      /** The blocks of the reply. */
      readonly content: readonly ContentBlock[]
    } & Pick<AssistantMessage, 'by' | 'container'>)

/** Tokens of one request or a sum of many, as the API counts them. `input_tokens` are the uncached ones. */
export type Usage = {
  /** Input tokens that were neither read from the prompt cache nor written to it. */
  readonly input_tokens: number
  /** Output tokens, including reasoning. */
  readonly output_tokens: number
  /** Input tokens written to the prompt cache. */
  readonly cache_creation_input_tokens: number
  /** Input tokens read from the prompt cache. */
  readonly cache_read_input_tokens: number
  /** Tokens written to the cache, by their lifetime; absent if the service does not report it. */
  readonly cache_creation?: CacheCreation
  /** Uses of the service's own tools that are billed separately from tokens. */
  readonly server_tool_use?: {
    /** Web searches. */
    readonly web_search_requests: number
  }
  /** The passes of the service, if it reports them. The billed amount is their sum (`billedParts`). */
  readonly iterations?: readonly UsageIteration[]
}

type CacheCreation = { readonly ephemeral_5m_input_tokens: number; readonly ephemeral_1h_input_tokens: number }

/**
 * One pass of a request. The totals above are the sum of the passes of type `message`, which are part of the reply.
 * Other types are billed in addition: `compaction`, `advisor_message` and future ones.
 */
export type UsageIteration = {
  /** The type of the pass. */
  readonly type: string
  /** The model of the pass, if reported. */
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

/** The sum of two usages, field by field. */
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
/** Tokens that count against `maxTotalTokens`: input (including cached) plus output. */
export function totalTokensOf(usage: Usage): number {
  return inputTokensOf(usage) + usage.output_tokens
}

/** A block in the format of the Messages API, without the fields that only its adapter can read. */
export function withoutOrigin(block: ContentBlock): ContentBlock {
  if (!('origin' in block)) return block
  const { origin: _, ...blockWithoutOrigin } = block
  return blockWithoutOrigin
}

/** Whether a block is a tool call. */
export function isToolUse(block: ContentBlock): block is ToolUseBlock {
  return block.type === 'tool_use'
}

/** Whether a block is a tool result. */
export function isToolResult(block: ContentBlock): block is ToolResultBlock {
  return block.type === 'tool_result'
}

/** Whether a block is text. */
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
  return calls ?? noToolCalls
}
const noToolCalls: readonly ToolUseBlock[] = []

/** The content as blocks: a text becomes one block. */
export function blocksOf(content: MessageContent): readonly ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The visible text of a message. Blocks are joined without separators. */
export function textOf(content: MessageContent): string {
  if (typeof content === 'string') return content
  let text = ''
  for (const block of content) if (isText(block)) text += block.text
  return text
}
