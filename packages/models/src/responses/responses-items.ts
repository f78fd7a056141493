import { isJsonObject, isText, isToolResult, isToolUse } from '@halting/core/adapters'
import type { BlockOrigin, OpaqueBlock, TextBlock, ToolResultBlock, ToolUseBlock } from '@halting/core/adapters'
import type { ContentBlock, Json, JsonObject, ModelMessage } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'
import { documentText, imageUrl } from '../openai/chat-messages.ts'
import { sentArguments, sentCallId, sentResult } from '../openai/call-format.ts'
import { responsesApi } from './origin.ts'

/** Tools whose input is free-form text instead of JSON, by name. */
export interface FreeformTools {
  readonly [tool: string]: FreeformTool
}

/** How a tool accepts text. */
export interface FreeformTool {
  /** Input field of the tool that receives the text. */
  readonly field: string
  /**
   * Format of the text, in the service's form: `{ type: 'grammar', syntax: 'lark', definition: '…' }` (default: any
   * text).
   */
  readonly format?: JsonObject | undefined
}

/** Options for converting a message into items. */
export interface ItemOptions {
  /** Id of the `Model`; reasoning of other models is omitted. */
  readonly id: string
  readonly freeform: FreeformTools
  /** Whether the service can read a `reasoning` item again. */
  readonly isReadable: (item: JsonObject) => boolean
  /** Whether a result belongs to a freeform call; such results have their own type. */
  readonly isFreeformResult: (result: ToolResultBlock) => boolean
}

// Spec R-RESP-3.
/** Converts a message into input items of a Responses request: none, one or several. */
export function itemsOf(message: ModelMessage, options: ItemOptions): readonly JsonObject[] {
  if (message.role === 'assistant') return assistantItems(message.content, message.by, options)
  if (typeof message.content === 'string') return userItems([{ type: 'text', text: message.content }])
  return [
    ...message.content.filter(isToolResult).map((result) => resultItem(result, options)),
    ...userItems(message.content.filter((block) => !isToolResult(block))),
  ]
}

function userItems(blocks: readonly ContentBlock[]): readonly JsonObject[] {
  const content = blocks.map(partOf).filter((part) => part !== undefined)
  return content.length === 0 ? [] : [{ type: 'message', role: 'user', content }]
}

function partOf(block: ContentBlock): JsonObject | undefined {
  if (isText(block)) return block.text.trim() === '' ? undefined : inputText(block.text)
  if (block.type === 'image') return { type: 'input_image', image_url: imageUrl(block), detail: 'auto' }
  return block.type === 'document' ? documentPart(block) : undefined
}

function inputText(text: string): JsonObject {
  return { type: 'input_text', text }
}

/** Converts a document: a PDF becomes a file, other documents become text. */
function documentPart(block: OpaqueBlock): JsonObject {
  const source = isJsonObject(block.source) ? block.source : {}
  if (source.type === 'url' && typeof source.url === 'string') return { type: 'input_file', file_url: source.url }
  if (source.type !== 'base64' || typeof source.data !== 'string') return inputText(documentText(block))
  const type = stringOf(source.media_type) || 'application/pdf'
  const title = typeof block.title === 'string' ? block.title.trim() : ''
  const filename = title === '' ? `document.${type === 'application/pdf' ? 'pdf' : 'bin'}` : title
  return { type: 'input_file', filename, file_data: `data:${type};base64,${source.data}` }
}

function resultItem(result: ToolResultBlock, { isFreeformResult }: ItemOptions): JsonObject {
  const type = isFreeformResult(result) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: sentCallId(result.tool_use_id, longestCallId), output: outputOf(result) }
}

function outputOf({ content, is_error }: ToolResultBlock): Json {
  if (typeof content === 'string') return sentResult(content, is_error)
  const parts = content.map((block) => partOf(block) ?? inputText(isText(block) ? block.text : JSON.stringify(block)))
  if (parts.every(({ type }) => type === 'input_text')) {
    return sentResult(parts.map(({ text }) => stringOf(text)).join('\n'), is_error)
  }
  if (is_error !== true) return parts
  const [first] = parts
  return first?.type === 'input_text'
    ? [inputText(sentResult(stringOf(first.text), is_error)), ...parts.slice(1)]
    : [inputText('Error:'), ...parts]
}

function assistantItems(
  content: readonly ContentBlock[],
  by: string | undefined,
  options: ItemOptions,
): readonly JsonObject[] {
  const isOwn = by === undefined || by === options.id
  const items: JsonObject[] = []
  let foreignText = ''
  const endText = (): void => {
    if (foreignText.trim() !== '') items.push(messageItem({ type: 'output_text', text: foreignText }, undefined))
    foreignText = ''
  }
  for (const block of content) {
    if (isText(block) && originOf(block) === undefined) {
      // Other services split one text into blocks.
      foreignText += block.text
      continue
    }
    endText()
    const item = itemOf(block, isOwn, options)
    if (item !== undefined) items.push(item)
  }
  endText()
  return withoutLooseReasoning(items)
}

function itemOf(block: ContentBlock, isOwn: boolean, options: ItemOptions): JsonObject | undefined {
  if (isToolUse(block)) return callItem(block, isOwn, options)
  if (isText(block)) return textItem(block, isOwn)
  const item = isOwn ? originOf(block)?.item : undefined
  if (!isJsonObject(item) || stringOf(item.type) === '') return undefined
  return item.type === 'reasoning' ? reasoningItem(item, options) : withoutFields(item, ['id'])
}

function textItem(block: TextBlock, isOwn: boolean): JsonObject | undefined {
  const { text } = block
  if (text.trim() === '') return undefined
  const origin = originOf(block)
  const part = origin?.refusal === true ? { type: 'refusal', refusal: text } : { type: 'output_text', text }
  return messageItem(part, isOwn ? origin?.phase : undefined)
}

function messageItem(part: JsonObject, phase: Json | undefined): JsonObject {
  return { type: 'message', role: 'assistant', content: [part], ...(typeof phase === 'string' && { phase }) }
}

/** Returns a reasoning item if it has the reasoning itself: the service stores nothing. */
function reasoningItem(item: JsonObject, { isReadable }: ItemOptions): JsonObject | undefined {
  const isWhole = stringOf(item.encrypted_content) !== '' || listOf(item.content).length > 0
  // The service rejects the status in its input.
  const { summary = [], ...rest } = withoutFields(item, ['id', 'status'])
  return isWhole && isReadable(item) ? { ...rest, summary } : undefined
}

/**
 * Drops trailing reasoning: the service rejects reasoning without the item that follows it, and a truncated reply
 * lacks that item.
 */
function withoutLooseReasoning(items: readonly JsonObject[]): readonly JsonObject[] {
  const end = items.findLastIndex(({ type }) => type !== 'reasoning') + 1
  return end === items.length ? items : items.slice(0, end)
}

function callItem(call: ToolUseBlock, isOwn: boolean, { freeform }: ItemOptions): JsonObject {
  const { name, input } = call
  const origin = originOf(call)
  const shared = { call_id: sentCallId(call.id, longestCallId), name }
  const space = isOwn && typeof origin?.namespace === 'string' ? { namespace: origin.namespace } : {}
  if (isFreeformCall(call)) {
    const field = Object.hasOwn(freeform, name) ? freeform[name]?.field : undefined
    return { type: 'custom_tool_call', ...shared, input: textIn(input, field ?? 'input'), ...space }
  }
  return { type: 'function_call', ...shared, arguments: sentArguments(input, origin), ...space }
}

/** Whether the model wrote free-form text instead of JSON. */
export function isFreeformCall(call: ToolUseBlock): boolean {
  return originOf(call)?.custom === true
}

function textIn(input: unknown, field: string): string {
  if (typeof input === 'string') return input
  const text = isJsonObject(input) && Object.hasOwn(input, field) ? input[field] : undefined
  return typeof text === 'string' ? text : JSON.stringify(input ?? {})
}

/** Returns the origin of a block from this API; undefined for other blocks. */
function originOf(block: ContentBlock): BlockOrigin | undefined {
  const origin: unknown = 'origin' in block ? block.origin : undefined
  // Records may be forged.
  return isJsonObject(origin) && origin.api === responsesApi ? (origin as BlockOrigin) : undefined
}

function withoutFields(item: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)))
}

/** Maximum length of call ids that the service accepts. */
const longestCallId = 64
