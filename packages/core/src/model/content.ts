import { isJsonObject, jsonOf, type Json, type JsonObject } from '../values/json.ts'
import { withDetectedType } from './media/media-problem.ts'
import type { ContentBlock, MessageContent } from './messages.ts'

// Normalizes untrusted content. A block that the service refuses would be refused in every later request too, so it is converted to text.

/** The content of a message from a person or a hook. */
export function messageContentOf(value: unknown): MessageContent {
  const content = normalizedContent(value, isMessageBlock)
  return content.length === 0 ? '(empty message)' : content
}

/** The content of a tool result for the model; empty without content. */
export function resultContentOf(value: unknown): string | readonly ContentBlock[] {
  return normalizedContent(value, isResultBlock)
}

/** Converts any value to text: a text itself, an empty text for nothing, otherwise its JSON. */
export function plainTextOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : asText(jsonOf(value))
}

function normalizedContent(
  value: unknown,
  isAllowed: (block: JsonObject) => boolean,
): string | readonly ContentBlock[] {
  if (typeof value === 'string') return value
  const copy = jsonOf(value)
  return Array.isArray(copy) ? copy.flatMap((part: Json) => normalizedBlocks(part, isAllowed)) : plainTextOf(copy)
}

function normalizedBlocks(part: Json, isAllowed: (block: JsonObject) => boolean): readonly ContentBlock[] {
  // The API refuses an empty text.
  if (part === '' || (isJsonObject(part) && part['type'] === 'text' && part['text'] === '')) return []
  if (isJsonObject(part) && isAllowed(part)) {
    // `isAllowed` has checked the fields that distinguish the blocks.
    return [withDetectedType(part) as unknown as ContentBlock]
  }
  return [{ type: 'text', text: asText(part) }]
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A tool result may contain text, images, documents and search results only. */
function isResultBlock(block: JsonObject): boolean {
  switch (block['type']) {
    case 'text':
      return typeof block['text'] === 'string'
    case 'image':
    case 'document':
      return isJsonObject(block['source']) && typeof block['source']['type'] === 'string'
    default:
      return block['type'] === 'search_result' || block['type'] === 'tool_reference'
  }
}

/** Calls and thinking are only for the model, results only for the loop. Unknown types are passed to the service. */
function isMessageBlock(block: JsonObject): boolean {
  switch (block['type']) {
    case 'text':
    case 'image':
    case 'document':
      return isResultBlock(block)
    case 'tool_use':
    case 'tool_result':
    case 'thinking':
    case 'redacted_thinking':
      return false
    default:
      return typeof block['type'] === 'string'
  }
}
