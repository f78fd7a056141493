import { isJsonObject, isText, isToolResult, isToolUse, textOf } from '@halting/core/adapters'
import type {
  BlockOrigin,
  ImageBlock,
  OpaqueBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
} from '@halting/core/adapters'
import type { ContentBlock, Json, JsonObject, ModelMessage } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { mergeDetails } from './chat-delta.ts'
import { chatApi } from './chat-reader.ts'
import { idFromSeed, sentArguments, sentCallId, sentResult } from './call-format.ts'
import { documentOmitted, imageFollows, imagesOfResult, resultsReceived } from '../service/wire-texts.ts'

export interface ChatDialect {
  /** Id of the target model; reasoning of other models is not sent to it. */
  readonly id: string
  /** Call ids have exactly nine letters and digits (Mistral). */
  readonly hasShortCallIds: boolean
  /** A user message may not directly follow a result: an assistant message separates them (Mistral). */
  readonly separatesUserFromResults: boolean
}

/** Separates a result from a user message, where these may not be adjacent. */
export const separator: JsonObject = { role: 'assistant', content: resultsReceived }

/** Converts a message into messages of a chat completion request: none, one or several. */
export function chatMessagesOf(message: ModelMessage, dialect: ChatDialect): readonly JsonObject[] {
  if (message.role === 'assistant') return assistantMessages(message.content, message.by, dialect)
  if (typeof message.content === 'string') return userMessages([{ type: 'text', text: message.content }])
  const results = message.content.filter(isToolResult)
  // Results are text in this protocol: their images follow in a user message.
  const others = [...results.flatMap(imagesOf), ...message.content.filter((block) => !isToolResult(block))]
  const userTurn = userMessages(others)
  return [
    ...results.map((result) => resultMessage(result, dialect)),
    ...(dialect.separatesUserFromResults && results.length > 0 && userTurn.length > 0 ? [separator] : []),
    ...userTurn,
  ]
}

function userMessages(blocks: readonly ContentBlock[]): readonly JsonObject[] {
  const parts = blocks.map(partOf).filter((part) => part !== undefined)
  if (parts.length === 0) return []
  const texts = parts.map(({ text }) => text)
  // Many services accept only text; use a list only for other content.
  const content = texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : parts
  return [{ role: 'user', content }]
}

function partOf(block: ContentBlock): JsonObject | undefined {
  if (isText(block)) return block.text.trim() === '' ? undefined : { type: 'text', text: block.text }
  if (block.type === 'image') return { type: 'image_url', image_url: { url: imageUrl(block) } }
  if (block.type === 'document') return { type: 'text', text: documentText(block) }
  return undefined
}

export function documentText({ source, title }: OpaqueBlock): string {
  const isPlain = isJsonObject(source) && source.type === 'text' && typeof source.data === 'string'
  const name = typeof title === 'string' ? title : ''
  if (!isPlain) return documentOmitted(name)
  return name === '' ? stringOf(source.data) : `${name}\n\n${stringOf(source.data)}`
}

export function imageUrl({ source }: ImageBlock): string {
  return source.url ?? `data:${source.media_type ?? 'image/png'};base64,${source.data ?? ''}`
}

function imagesOf({ tool_use_id, content }: ToolResultBlock): readonly ContentBlock[] {
  if (typeof content === 'string') return []
  const images = content.filter(({ type }) => type === 'image')
  return images.length === 0 ? [] : [{ type: 'text', text: imagesOfResult(tool_use_id) }, ...images]
}

function resultMessage({ tool_use_id, content, is_error }: ToolResultBlock, dialect: ChatDialect): JsonObject {
  const text = typeof content === 'string' ? content : content.map(resultText).join('\n')
  return { role: 'tool', tool_call_id: callId(tool_use_id, dialect), content: sentResult(text, is_error) }
}

function resultText(block: ContentBlock): string {
  if (isText(block)) return block.text
  if (block.type === 'document') return documentText(block)
  return block.type === 'image' ? imageFollows : JSON.stringify(block)
}

function assistantMessages(
  content: readonly ContentBlock[],
  by: string | undefined,
  dialect: ChatDialect,
): readonly JsonObject[] {
  const text = textOf(content)
  const calls = content.filter(isToolUse).map((call) => chatToolCall(call, by, dialect))
  if (text.trim() === '' && calls.length === 0) return []
  const thoughts = isAsked(by, dialect) ? content.filter(isOwnThought) : []
  const reasoning = reasoningOf(thoughts)
  const { content: thoughtParts, ...fields } = reasoning
  const textContent = text.trim() === '' ? null : text
  return [
    {
      role: 'assistant',
      content: thoughtParts === undefined ? textContent : [...listOf(thoughtParts), ...textParts(textContent)],
      ...fields,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

/** Whether the target model wrote the message: signed content is only for its author. */
function isAsked(by: string | undefined, { id }: ChatDialect): boolean {
  return by === undefined || by === id
}

function textParts(text: string | null): readonly JsonObject[] {
  return text === null ? [] : [{ type: 'text', text }]
}

function chatToolCall(
  { id, name, input, origin }: ToolUseBlock,
  by: string | undefined,
  dialect: ChatDialect,
): JsonObject {
  const own = origin?.api === chatApi ? origin : undefined
  return {
    id: callId(id, dialect),
    type: 'function',
    function: { name, arguments: sentArguments(input, own) },
    // Strict services reject the field.
    ...(own?.extra_content !== undefined && isAsked(by, dialect) && { extra_content: own.extra_content }),
  }
}

/** Maximum length of ids that the strictest of the other services accepts. */
const longestCallId = 40

function callId(id: string, { hasShortCallIds }: ChatDialect): string {
  if (hasShortCallIds) return /^[a-zA-Z0-9]{9}$/.test(id) ? id : idFromSeed(id)
  return sentCallId(id, longestCallId)
}

type OwnThought = ThinkingBlock & { readonly origin: BlockOrigin }

/** Whether a block is reasoning of a chat completions service; reasoning of other services is signed for those. */
function isOwnThought(block: ContentBlock): block is OwnThought {
  return block.type === 'thinking' && block.origin?.api === chatApi
}

/** Returns reasoning in its original fields: models that reason between calls need it back. */
function reasoningOf(thoughts: readonly OwnThought[]): { readonly [field: string]: Json } {
  let fields: { readonly [field: string]: Json } = {}
  let details: readonly JsonObject[] = []
  for (const { thinking, origin } of thoughts) {
    details = mergeDetails(details, listOf(origin.details).filter(isJsonObject))
    const field = stringOf(origin.field)
    if (thinking === '' || field === '') continue
    if (field === 'content') {
      const part = { type: 'thinking', thinking: [{ type: 'text', text: thinking }] }
      fields = { ...fields, content: [...listOf(fields.content), part] }
    } else fields = { ...fields, [field]: stringOf(fields[field]) + thinking }
  }
  return details.length > 0 ? { ...fields, reasoning_details: details } : fields
}
