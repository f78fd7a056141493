import { isJsonObject, jsonOf } from '../../json.ts'
import type { AssistantMessage, ContentBlock } from '../../messages.ts'
import type { Transcript } from '../../transcript.ts'
import { OwnBlocks } from './own-blocks.ts'

/** A reply as the run keeps it. */
export interface OwnReply {
  /** JSON, frozen, and the run's own: what the adapter or anybody else does with theirs changes nothing in it. */
  readonly message: AssistantMessage
  /** What broke the stream; undefined when nothing did. */
  readonly streamError: unknown
  readonly isBillingUnknown: boolean
}

/** What a model adapter gave; undefined when it is no reply. */
export function ownReply(given: unknown, transcript: Transcript): OwnReply | undefined {
  try {
    if (typeof given !== 'object' || given === null || !('message' in given)) return undefined
    const message = ownMessage(given.message, transcript)
    if (message === undefined) return undefined
    // Plain JavaScript may give any fields beside it, or none.
    const { streamError, billed } = given as { readonly streamError?: unknown; readonly billed?: unknown }
    return { message, streamError: streamError ?? undefined, isBillingUnknown: billed === 'unknown' }
  } catch {
    // It cannot be read.
    return undefined
  }
}

function ownMessage(given: unknown, transcript: Transcript): AssistantMessage | undefined {
  const copy = jsonOf(given)
  if (!isJsonObject(copy) || !Array.isArray(copy['content']) || !isJsonObject(copy['usage'])) return undefined
  const blocks = new OwnBlocks(transcript)
  const content: ContentBlock[] = []
  for (const part of copy['content']) {
    const block = blocks.own(part)
    if (block === undefined) return undefined
    content.push(block)
  }
  const id = typeof copy['id'] === 'string' ? copy['id'] : ''
  // The parts by which the loop goes were just looked at; its figures are where they are used.
  return { ...(copy as unknown as AssistantMessage), role: 'assistant', id, content: Object.freeze(content) }
}
