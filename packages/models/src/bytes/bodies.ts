import type { ModelMessage } from '@halting/core'
import { Conversation } from './conversation.ts'
import { RenderedMessages } from './rendered-messages.ts'
import type { WireFormat } from './wire-format.ts'

/**
 * Returns the body of a request as one buffer: `head`, the messages, `tail`. The buffer is part of the conversation's
 * own memory: release it with `releaseBody` after the call, and do not use it afterwards. If it is never released, the
 * next request
 * copies the conversation.
 * @param head Everything before the first message; a comma follows unless it ends with `[`. Parts that rarely change
 * belong here, because a new head moves the messages.
 * @param tail Everything after the last message. Parts that change with each request belong here.
 */
export type Bodies = (head: string, messages: readonly ModelMessage[], tail: string) => Uint8Array

/**
 * Creates the request bodies of one adapter. A list of messages that grew costs only what was added. A new list is
 * assembled from cached renderings of its messages.
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

/** Returns the conversation that a list may extend or vary. */
function relativeOf(messages: readonly ModelMessage[], renderings: RenderedMessages): Conversation | undefined {
  const [first] = messages
  const home = first === undefined ? null : renderings.homeOf(first)
  return home instanceof Conversation ? home : undefined
}

const borrowed = new WeakMap<Uint8Array, Conversation>()

/** Whether messages of this body may be deferred: see `TurnKind.answeredBy`. Call it right after creating the body. */
export function hasDeferredParts(body: Uint8Array): boolean {
  return borrowed.get(body)?.hasDeferredParts ?? false
}

/** Reports that a body is no longer used. */
export function releaseBody(body: Uint8Array): void {
  borrowed.get(body)?.release(body)
}
