import type { ContentBlock, JsonObject, ModelMessage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { isForeign, isProgramCall } from './message-bytes.ts'

/** A program of the service: code that it runs in a container, and that may call tools in reply after reply until it ends. */
interface Program {
  /** The last message with a call of it, which the next results answer. */
  last: ModelMessage
  hasEnded: boolean
}

/**
 * The same list where each program in it has ended, or may go on: its calls stand in the newest reply, and its container is there for the
 * model known by `id`. `mayGoOn`: not where a request lets nothing be called, which is to be answered and not to go on. Of one that cannot, the calls are sent as the model's own and the code is left out: the service would refuse them.
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

/** The code that made a call; undefined for what is none, or was called by the model itself. */
function callerOf(block: ContentBlock): string | undefined {
  const { caller } = block as { readonly caller?: unknown }
  return isProgramCall(block) && isJsonObject(caller) && typeof caller.tool_id === 'string' ? caller.tool_id : undefined
}

/** The container that a reply of this model came from, by its name; undefined where there is none, or it is gone. */
export function liveContainerOf(message: ModelMessage, id: string): string | undefined {
  if (message.role !== 'assistant' || message.container === undefined || isForeign(message, id)) return undefined
  const { id: container, expires_at: expiry } = message.container
  if (typeof container !== 'string' || container === '') return undefined
  // The service refuses one that is gone; it makes a new one when it is told of none.
  return typeof expiry === 'string' && Date.parse(expiry) <= Date.now() ? undefined : container
}

/** By their content, which does not change: a message is rendered once. */
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
    // What the service wrote names the code, too.
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
