import type { ModelMessage } from '@halting/core'
import { Conversation } from './conversation.ts'
import { RenderedMessages } from './rendered-messages.ts'
import type { WireFormat } from './wire-format.ts'

/**
 * The body of a request in one piece: `head`, the messages, `tail`. It stands in the conversation's own memory: give it
 * back with `releaseBody` when the call is over, and do not look at it after that. One that is never given back costs
 * the next request a copy of the conversation, and nothing else.
 *
 * @param head Everything before the first message; a comma is written after it unless it ends with `[`. What seldom
 *   changes belongs here: another head moves the messages behind it.
 * @param tail Everything after the last message. What changes from request to request belongs here.
 */
export type Bodies = (head: string, messages: readonly ModelMessage[], tail: string) => Uint8Array

/**
 * Bodies of one adapter's requests. A list of messages that grows between requests costs what was added to it. A list
 * never seen before is put together from what was rendered of its messages.
 */
export function createBodies(format: WireFormat): Bodies {
  const renderings = new RenderedMessages(format)
  const conversations = new WeakMap<readonly ModelMessage[], Conversation>()
  return (head, messages, tail) => {
    const known = conversations.get(messages) ?? relativeOf(messages, renderings)
    const open = known?.openTurns(messages)
    const conversation = known !== undefined && open !== undefined ? known : new Conversation(format, renderings)
    conversations.set(messages, conversation)
    const body = conversation.body(head, messages, open ?? conversation.openTurns(messages) ?? [], tail)
    borrowed.set(body, conversation)
    return body
  }
}

/** The conversation that a list may be a copy of, grown or with other messages at its end. */
function relativeOf(messages: readonly ModelMessage[], renderings: RenderedMessages): Conversation | undefined {
  const [first] = messages
  const home = first === undefined ? null : renderings.homeOf(first)
  return home instanceof Conversation ? home : undefined
}

const borrowed = new WeakMap<Uint8Array, Conversation>()

/** Whether something that stands in the messages of this body may not be in it yet: see `TurnKind.answeredBy`. Ask as soon as it is made. */
export function hasDeferredParts(body: Uint8Array): boolean {
  return borrowed.get(body)?.hasDeferredParts ?? false
}

/** Says that nobody will read a body any more. */
export function releaseBody(body: Uint8Array): void {
  borrowed.get(body)?.release(body)
}
