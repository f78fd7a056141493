import type { ContentBlock, Json, JsonObject, MessageContent } from '@halting/core'
import { blocksOf, isJsonObject } from '@halting/core/adapters'
import { UsageError } from '../usage-error.ts'

/** A message of the person, as a host hands it in. */
export interface HostMessage {
  readonly content: MessageContent
  readonly id?: string
  readonly when?: 'now' | 'next' | 'later'
  /** False: it waits for the next message, and goes with it. */
  readonly asks: boolean
  /** The host wrote it: nothing in it is a command or names a file. */
  readonly isComposed: boolean
}

const priorities = ['now', 'next', 'later'] as const

/** Reads a line of the type `user` (spec R-HOST-5). @throws UsageError that says what is wrong with it. */
export function readUserMessage(line: JsonObject): HostMessage {
  const { message, uuid, priority, shouldQuery, client_composed: composed } = line
  if (!isJsonObject(message)) throw wrong('has no message')
  if ((message['role'] ?? 'user') !== 'user') throw wrong('has a role that is not user')
  const when = priorities.find((one) => one === priority)
  if (priority !== undefined && priority !== null && when === undefined)
    throw wrong('has a priority other than now, next and later')
  return {
    content: contentOf(message['content']),
    ...(typeof uuid === 'string' && uuid !== '' && { id: uuid }),
    ...(when !== undefined && { when }),
    asks: shouldQuery !== false,
    isComposed: composed === true,
  }
}

function contentOf(content: Json | undefined): MessageContent {
  if (typeof content === 'string') {
    if (content.trim() === '') throw wrong('is empty')
    return content
  }
  if (!Array.isArray(content)) throw wrong('has a content that is neither a string nor a list of blocks')
  if (content.length === 0) throw wrong('is empty')
  const stranger = content.find((block) => !isJsonObject(block) || typeof block['type'] !== 'string')
  if (stranger !== undefined) throw wrong('has a block without a type')
  // True as far as it was looked at; the session refuses blocks that no prompt has.
  return content as readonly Json[] as readonly ContentBlock[]
}

function wrong(problem: string): UsageError {
  return new UsageError(
    `A message of the host ${problem}. Expected {"type":"user","message":{"role":"user","content":"…"},"parent_tool_use_id":null,"session_id":""}.`,
  )
}

/** One message of two. */
export function joined(first: MessageContent, second: MessageContent): MessageContent {
  return [...blocksOf(first), ...blocksOf(second)]
}
