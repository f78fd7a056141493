import type { ContentBlock, JsonObject, ModelMessage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { isForeign, isProgramCall } from './message-bytes.ts'

/** A program of the service: code in a container that may call tools in several replies until it ends. */
interface Program {
  /** The last message with a call of the program, which the next results answer. */
  last: ModelMessage
  hasEnded: boolean
}

/**
 * Removes programs that cannot continue: those without calls in the newest reply, or without their container for this
 * model. If `mayGoOn` is false, because the request allows no calls, none can. Their calls are sent as the model's own,
 * and the code is omitted, because the service would reject it.
 */
export function withoutLostPrograms(
  messages: readonly ModelMessage[],
  id: string,
  mayGoOn: boolean,
): readonly ModelMessage[] {
  const newest = messages.findLast(({ role }) => role === 'assistant')
  const lost = new Set<string>()
  for (const [codeId, { last, hasEnded }] of programsIn(messages)) {
    if (!hasEnded && (!mayGoOn || last !== newest || liveContainerOf(last, id) === undefined)) lost.add(codeId)
  }
  return lost.size === 0 ? messages : messages.map((message) => withoutCode(message, lost))
}

function programsIn(messages: readonly ModelMessage[]): ReadonlyMap<string, Program> {
  const programs = new Map<string, Program>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const block of message.content) {
      const caller = callerOf(block)
      const program = programs.get(caller ?? '')
      if (caller !== undefined && program === undefined) programs.set(caller, { last: message, hasEnded: false })
      else if (program !== undefined) program.last = message
      const ended = 'tool_use_id' in block ? programs.get(String(block.tool_use_id)) : undefined
      if (ended !== undefined) ended.hasEnded = true
    }
  }
  return programs
}

/** Returns the code that made a call; undefined for other blocks, and for calls of the model itself. */
function callerOf(block: ContentBlock): string | undefined {
  const { caller } = block as { readonly caller?: unknown }
  return isProgramCall(block) && isJsonObject(caller) && typeof caller.tool_id === 'string' ? caller.tool_id : undefined
}

/** Returns the id of the container of this model's reply; undefined if it is missing, or has expired. */
export function liveContainerOf(message: ModelMessage, id: string): string | undefined {
  if (message.role !== 'assistant' || message.container === undefined || isForeign(message, id)) return undefined
  const { id: container, expires_at: expiry } = message.container
  if (typeof container !== 'string' || container === '') return undefined
  // The service rejects an expired container, and creates a new one if the request names none.
  return typeof expiry === 'string' && Date.parse(expiry) <= Date.now() ? undefined : container
}

/** Cached by content, which does not change, so that each message is rendered once. */
const cleared = new WeakMap<object, ModelMessage>()

function withoutCode(message: ModelMessage, lost: ReadonlySet<string>): ModelMessage {
  if (message.role !== 'assistant') return message
  const isOf = (block: ContentBlock): boolean => {
    const caller = callerOf(block)
    return (caller !== undefined && lost.has(caller)) || isLostCode(block, lost)
  }
  if (!message.content.some(isOf)) return message
  const before = cleared.get(message.content)
  if (before !== undefined) return before
  const content = message.content.flatMap((block): readonly ContentBlock[] => {
    if (!isOf(block)) return [block]
    if (isLostCode(block, lost)) return []
    // The original JSON names the code, too.
    const { caller: _, origin: __, ...call } = block as unknown as JsonObject
    return [call as unknown as ContentBlock]
  })
  const without = { ...message, content }
  cleared.set(message.content, without)
  return without
}

function isLostCode(block: ContentBlock, lost: ReadonlySet<string>): boolean {
  return block.type === 'server_tool_use' && 'id' in block && lost.has(String(block.id))
}
