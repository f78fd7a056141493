import { isJsonObject, jsonOf, type Json, type JsonObject } from '../values/json.ts'
import { withOwnType } from './media/media-problem.ts'
import type { ContentBlock, MessageContent } from './messages.ts'

// Content as strangers give it. What a service would refuse, it would refuse in every later request too: so it is told as text.

/** What a person or a hook says to the model. */
export function messageContentOf(given: unknown): MessageContent {
  const content = contentOf(given, isMessageBlock)
  return content.length === 0 ? '(empty message)' : content
}

/** What a tool gives for the model; empty when it shows nothing. */
export function resultContentOf(given: unknown): string | readonly ContentBlock[] {
  return contentOf(given, isResultBlock)
}

/** A text for whatever was given where a text belongs: itself, nothing for nothing, else its JSON. */
export function plainTextOf(given: unknown): string {
  if (typeof given === 'string') return given
  return given === undefined || given === null ? '' : writtenOut(jsonOf(given))
}

function contentOf(given: unknown, mayStand: (block: JsonObject) => boolean): string | readonly ContentBlock[] {
  if (typeof given === 'string') return given
  const copy = jsonOf(given)
  return Array.isArray(copy) ? copy.flatMap((part: Json) => blockOf(part, mayStand)) : plainTextOf(copy)
}

function blockOf(part: Json, mayStand: (block: JsonObject) => boolean): readonly ContentBlock[] {
  // The API refuses an empty text.
  if (part === '' || (isJsonObject(part) && part['type'] === 'text' && part['text'] === '')) return []
  if (isJsonObject(part) && mayStand(part)) {
    // `mayStand` looked at the fields by which blocks differ.
    return [withOwnType(part) as unknown as ContentBlock]
  }
  return [{ type: 'text', text: writtenOut(part) }]
}

function writtenOut(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Text, an image, a document, something found: nothing else is taken inside a result. */
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

/** Calls and thoughts are the model's, results are the loop's; of a kind that is not known, the service may know. */
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
