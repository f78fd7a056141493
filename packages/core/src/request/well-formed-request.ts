import { digestOf } from '../values/hash.ts'
import { isJsonObject, type JsonObject } from '../values/json.ts'
import type { BlockOrigin, ContentBlock, ModelMessage } from '../model/messages.ts'
import type { ModelRequest, ToolDefinition } from '../model/model.ts'
import { hasLoneEscape, isWellFormedJson, wellFormed, wellFormedJson } from '../values/well-formed.ts'

// Spec R-REQ-13.
/**
 * The request without lone surrogates. Every request of a run is repaired by this function before a model receives it.
 * The transcript and the records retain what was received. A list or message that needs no repair stays the same object.
 * One that needs repair is repaired once, so that adapters recognize both.
 */
export function wellFormedRequest(request: ModelRequest): ModelRequest {
  const system = wellFormed(request.system)
  const messages = wellFormedMessages(request.messages)
  const tools = wellFormedTools(request.tools)
  if (system === request.system && messages === request.messages && tools === request.tools) return request
  return { ...request, system, messages, tools }
}

/** For lists that only grow: the length up to which they need no repair. */
const repairFreeLengths = new WeakMap<readonly ModelMessage[], { readonly length: number; readonly last: unknown }>()
/** The replacement of a message; null if the repair leaves it empty. */
const repairs = new WeakMap<ModelMessage, ModelMessage | null>()

function wellFormedMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const cached = repairFreeLengths.get(messages)
  // A list that does not belong to a transcript may have been changed in place. Its messages are checked individually then.
  const isKnown = cached !== undefined && cached.length > 0 && messages[cached.length - 1] === cached.last
  let index = isKnown ? cached.length : 0
  while (index < messages.length && isIntact(messages[index])) index++
  if (index === messages.length) {
    repairFreeLengths.set(messages, { length: index, last: messages[index - 1] })
    return messages
  }
  return messages.flatMap((message) => wellFormedMessage(message) ?? [])
}

function isIntact(message: ModelMessage | undefined): boolean {
  return message === undefined || wellFormedMessage(message) === message
}

function wellFormedMessage(message: ModelMessage): ModelMessage | null {
  const cached = repairs.get(message)
  if (cached !== undefined) return cached
  const repair = repairMessage(message)
  repairs.set(message, repair)
  return repair
}

function repairMessage(message: ModelMessage): ModelMessage | null {
  const { content } = message
  if (typeof content === 'string') {
    const text = wellFormed(content)
    // Only user content can be a text.
    return text === content ? message : { role: 'user', content: text }
  }
  const container = message.role === 'assistant' ? message.container : undefined
  // Nearly every message is well-formed.
  if (content.every(isWellFormedBlock) && isWellFormedJson(container)) return message
  // The thinking blocks of a message form a chain: a service refuses a part of the chain.
  const losesThoughts = content.some((block) => isSigned(block) && !isWellFormedBlock(block))
  const remaining = losesThoughts ? content.filter((block) => !isSigned(block)) : content
  const blocks = remaining.map((block) => (isWellFormedBlock(block) ? block : repairBlock(block)))
  // A service refuses a message without content.
  if (blocks.length === 0) return null
  return container === undefined
    ? { ...message, content: blocks }
    : // Only a message of the model has a container.
      ({ ...message, content: blocks, container: wellFormedJson(container) } as ModelMessage)
}

/** A thinking block that a service would reject after a change. An `origin` with fields other than texts may contain a signature. */
function isSigned(block: ContentBlock): boolean {
  if (block.type === 'redacted_thinking') return true
  if (block.type !== 'thinking') return false
  return block.signature !== '' || Object.values(block.origin ?? {}).some((part) => typeof part === 'object')
}

function isWellFormedBlock(block: ContentBlock): boolean {
  return isWellFormedJson(block) && !('origin' in block && Object.values(originOf(block)).some(isBroken))
}

/** Also checks JSON within a text, which an adapter may send unchanged. */
function isBroken(part: unknown): boolean {
  return typeof part === 'string' ? !part.isWellFormed() || hasLoneEscape(part) : !isWellFormedJson(part)
}

function originOf(block: ContentBlock): JsonObject {
  return 'origin' in block && isJsonObject(block.origin) ? block.origin : {}
}

function repairBlock(block: ContentBlock): ContentBlock {
  // Blocks are JSON: they come from a record or become part of one.
  const repaired = wellFormedJson(block as unknown as JsonObject)
  return {
    ...repaired,
    ...('id' in block && isText(block.id) && { id: wellFormedId(block.id) }),
    ...('tool_use_id' in block && isText(block.tool_use_id) && { tool_use_id: wellFormedId(block.tool_use_id) }),
    ...('origin' in block && isJsonObject(block.origin) && { origin: repairOrigin(block.origin) }),
    // The repaired block has the same type.
  } as unknown as ContentBlock
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Derived from the whole id, so that two ids stay different, and a call and its result have the same one. */
function wellFormedId(id: string): string {
  return id.isWellFormed() ? id : `call_${digestOf(id)}`
}

/** The service's exact original is dropped if it contains lone surrogates. The adapter then writes the block from its fields. */
function repairOrigin(origin: JsonObject): BlockOrigin {
  const parts = Object.entries(origin).filter(([, part]) => typeof part !== 'string' || !isBroken(part))
  // `api` is a name set by the adapter.
  return wellFormedJson(Object.fromEntries(parts)) as BlockOrigin
}

const repairedTools = new WeakMap<readonly ToolDefinition[], readonly ToolDefinition[]>()

function wellFormedTools(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const cached = repairedTools.get(tools)
  if (cached !== undefined) return cached
  const repaired = isWellFormedJson(tools)
    ? tools
    : // Definitions are JSON and keep their fields.
      tools.map((tool) => wellFormedJson(tool as unknown as JsonObject) as unknown as ToolDefinition)
  repairedTools.set(tools, repaired)
  return repaired
}
