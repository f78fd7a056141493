import { digestOf } from '../values/hash.ts'
import { isJsonObject, type JsonObject } from '../values/json.ts'
import type { BlockOrigin, ContentBlock, ModelMessage } from '../model/messages.ts'
import type { ModelRequest, ToolDefinition } from '../model/model.ts'
import { hasLoneEscape, isWellFormedJson, wellFormed, wellFormedJson } from '../values/well-formed.ts'

// Spec R-REQ-13.
/**
 * The request without lone halves of surrogate pairs: every request of a run goes through here before a model gets it.
 * The transcript and the records keep what was received. A list, and a message, that has nothing to repair stays the same object,
 * and one that has is repaired once: adapters recognize both.
 */
export function wellFormedRequest(request: ModelRequest): ModelRequest {
  const system = wellFormed(request.system)
  const messages = wellFormedMessages(request.messages)
  const tools = wellFormedTools(request.tools)
  if (system === request.system && messages === request.messages && tools === request.tools) return request
  return { ...request, system, messages, tools }
}

/** How far a list that only grows was found to need no repair. */
const intactLengths = new WeakMap<readonly ModelMessage[], { readonly length: number; readonly last: unknown }>()
/** What is sent in place of a message; null when nothing is left of it. */
const repairs = new WeakMap<ModelMessage, ModelMessage | null>()

function wellFormedMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const known = intactLengths.get(messages)
  // A list that is not a transcript's may have been changed in place: then its messages are looked up one by one.
  const isKnown = known !== undefined && known.length > 0 && messages[known.length - 1] === known.last
  let index = isKnown ? known.length : 0
  while (index < messages.length && isIntact(messages[index])) index++
  if (index === messages.length) {
    intactLengths.set(messages, { length: index, last: messages[index - 1] })
    return messages
  }
  return messages.flatMap((message) => wellFormedMessage(message) ?? [])
}

function isIntact(message: ModelMessage | undefined): boolean {
  return message === undefined || wellFormedMessage(message) === message
}

function wellFormedMessage(message: ModelMessage): ModelMessage | null {
  const known = repairs.get(message)
  if (known !== undefined) return known
  const repair = repairMessage(message)
  repairs.set(message, repair)
  return repair
}

function repairMessage(message: ModelMessage): ModelMessage | null {
  const { content } = message
  if (typeof content === 'string') {
    const text = wellFormed(content)
    // Only a user's content is a text.
    return text === content ? message : { role: 'user', content: text }
  }
  const container = message.role === 'assistant' ? message.container : undefined
  // Nearly every message is as it should be.
  if (content.every(isWellFormedBlock) && isWellFormedJson(container)) return message
  // The thoughts of a message are one chain: a service refuses what is left of one.
  const losesThoughts = content.some((block) => isSigned(block) && !isWellFormedBlock(block))
  const kept = losesThoughts ? content.filter((block) => !isSigned(block)) : content
  const blocks = kept.map((block) => (isWellFormedBlock(block) ? block : repairBlock(block)))
  // A service refuses a message without content.
  if (blocks.length === 0) return null
  return container === undefined
    ? { ...message, content: blocks }
    : // Only a message of the model has a container.
      ({ ...message, content: blocks, container: wellFormedJson(container) } as ModelMessage)
}

/** Thinking that a service would no longer accept once it is changed. An `origin` that holds more than texts may hold a signature. */
function isSigned(block: ContentBlock): boolean {
  if (block.type === 'redacted_thinking') return true
  if (block.type !== 'thinking') return false
  return block.signature !== '' || Object.values(block.origin ?? {}).some((part) => typeof part === 'object')
}

function isWellFormedBlock(block: ContentBlock): boolean {
  return isWellFormedJson(block) && !('origin' in block && Object.values(originOf(block)).some(isBroken))
}

/** Also of JSON in a text, which an adapter may send as it is. */
function isBroken(part: unknown): boolean {
  return typeof part === 'string' ? !part.isWellFormed() || hasLoneEscape(part) : !isWellFormedJson(part)
}

function originOf(block: ContentBlock): JsonObject {
  return 'origin' in block && isJsonObject(block.origin) ? block.origin : {}
}

function repairBlock(block: ContentBlock): ContentBlock {
  // Blocks are JSON: they are from a record, or become part of one.
  const repaired = wellFormedJson(block as unknown as JsonObject)
  return {
    ...repaired,
    ...('id' in block && isText(block.id) && { id: wellFormedId(block.id) }),
    ...('tool_use_id' in block && isText(block.tool_use_id) && { tool_use_id: wellFormedId(block.tool_use_id) }),
    ...('origin' in block && isJsonObject(block.origin) && { origin: repairOrigin(block.origin) }),
    // It has the type that it had.
  } as unknown as ContentBlock
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Made of the whole id, so that two ids stay two, and a call and its result keep the same one. */
function wellFormedId(id: string): string {
  return id.isWellFormed() ? id : `call_${digestOf(id)}`
}

/** What the service wrote, word for word, is left out where it is broken: the adapter then writes what the block says. */
function repairOrigin(origin: JsonObject): BlockOrigin {
  const parts = Object.entries(origin).filter(([, part]) => typeof part !== 'string' || !isBroken(part))
  // `api` is a name of the adapter's own.
  return wellFormedJson(Object.fromEntries(parts)) as BlockOrigin
}

const repairedTools = new WeakMap<readonly ToolDefinition[], readonly ToolDefinition[]>()

function wellFormedTools(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const known = repairedTools.get(tools)
  if (known !== undefined) return known
  const repaired = isWellFormedJson(tools)
    ? tools
    : // Definitions are JSON, and have the fields that they had.
      tools.map((tool) => wellFormedJson(tool as unknown as JsonObject) as unknown as ToolDefinition)
  repairedTools.set(tools, repaired)
  return repaired
}
