import type { JsonObject, ModelReply } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { createEventStream } from '../../src/http/event-stream.ts'
import { ChatReader } from '../../src/openai/chat-reader.ts'
import type { Assembled, Progress } from '../../src/service/stream-reader.ts'
import { requestOf } from './call.ts'

export interface ChatRead {
  readonly assembled: Assembled
  readonly updates: readonly ModelUpdate[]
  /** The event that ended the reading before the end of the stream, if any. */
  readonly end: Progress | undefined
}

/** Reads a stream from chunks, in process: to its end, or to the first event that ends it. */
export function readPieces(pieces: readonly Uint8Array[]): ChatRead {
  const updates: ModelUpdate[] = []
  const reader = new ChatReader('asked', requestOf(), (update) => updates.push(update))
  const stream = createEventStream()
  let end: Progress | undefined
  for (const piece of pieces) {
    const events = stream.feed(piece)
    if (events === 'too_long') break
    for (const { data } of events) {
      if (end === undefined) end = takeData(reader, data)
    }
  }
  return { assembled: reader.finish(), updates, end }
}

function takeData(reader: ChatReader, data: string): Progress | undefined {
  if (data === '[DONE]') {
    reader.end()
    return { kind: 'end' }
  }
  const progress = reader.take(JSON.parse(data) as JsonObject)
  return isGoingOn(progress) ? undefined : progress
}

function isGoingOn({ kind }: Progress): boolean {
  return kind === 'more' || kind === 'ping' || kind === 'last'
}

/** Reads chunks and the final `[DONE]`, unless it is omitted. */
export function readChunks(chunks: readonly JsonObject[], end: 'done' | 'none' = 'done'): ChatRead {
  const updates: ModelUpdate[] = []
  const reader = new ChatReader('asked', requestOf(), (update) => updates.push(update))
  for (const chunk of chunks) {
    const progress = reader.take(chunk)
    if (!isGoingOn(progress)) return { assembled: reader.finish(), updates, end: progress }
  }
  if (end === 'done') reader.end()
  return { assembled: reader.finish(), updates, end: undefined }
}

/** The reply of a complete stream. */
export function replyOfRead({ assembled }: ChatRead): ModelReply {
  if (assembled.kind !== 'complete') throw new Error(`the stream gave ${assembled.kind}`)
  const { message, billed } = assembled
  return billed === undefined ? { message } : { message, billed }
}

/** A chunk with this delta, in the common format. */
export function chunk(delta: JsonObject, more: JsonObject = {}): JsonObject {
  return { id: 'c1', model: 'm', choices: [{ index: 0, delta }], ...more }
}

/** A chunk with a piece of a call. */
export function piece(fields: JsonObject, called: JsonObject = {}): JsonObject {
  return chunk({ tool_calls: [{ ...fields, function: called }] })
}

export function finish(reason: string, more: JsonObject = {}): JsonObject {
  return { id: 'c1', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: reason, ...more }] }
}

export const usageChunk: JsonObject = {
  id: 'c1',
  choices: [],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
}
