import type { JsonObject, ModelReply } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { createEventStream } from '../../src/http/event-stream.ts'
import { ResponsesReader } from '../../src/responses/responses-reader.ts'
import type { ResponsesReaderOptions } from '../../src/responses/responses-reader.ts'
import type { Assembled, Progress } from '../../src/service/stream-reader.ts'
import { requestOf } from './call.ts'

export interface ResponsesRead {
  readonly assembled: Assembled
  readonly updates: readonly ModelUpdate[]
  /** The event that ended the reading before the end of the stream, if any. */
  readonly end: Progress | undefined
}

/** Reads events in process: to their end, or to the first event that ends it. */
export function readEvents(
  events: readonly JsonObject[],
  { isOver = false, ...options }: ResponsesReaderOptions & { readonly isOver?: boolean } = {},
): ResponsesRead {
  const { reader, updates } = createReading(options)
  for (const event of events) {
    const progress = reader.take(event, JSON.stringify(event))
    if (!isGoingOn(progress)) return { assembled: reader.finish(), updates, end: progress }
  }
  if (isOver) reader.end()
  return { assembled: reader.finish(), updates, end: undefined }
}

/** Reads a stream from chunks, in process. */
export function readPieces(pieces: readonly Uint8Array[]): ResponsesRead {
  const { reader, updates } = createReading({})
  const stream = createEventStream()
  let end: Progress | undefined
  for (const piece of pieces) {
    const events = stream.feed(piece)
    if (events === 'too_long') break
    for (const { data } of events) {
      if (end !== undefined) continue
      const progress = reader.take(JSON.parse(data) as JsonObject, data)
      if (!isGoingOn(progress)) end = progress
    }
  }
  return { assembled: reader.finish(), updates, end }
}

function createReading(options: ResponsesReaderOptions): {
  readonly reader: ResponsesReader
  readonly updates: readonly ModelUpdate[]
} {
  const updates: ModelUpdate[] = []
  return { reader: new ResponsesReader('asked', requestOf(), (update) => updates.push(update), options), updates }
}

function isGoingOn({ kind }: Progress): boolean {
  return kind === 'more' || kind === 'ping' || kind === 'last'
}

/** The reply of a complete stream. */
export function replyOfRead({ assembled, end }: ResponsesRead): ModelReply {
  if (assembled.kind !== 'complete') throw new Error(`the stream gave ${assembled.kind}: ${JSON.stringify(end)}`)
  const { message, billed } = assembled
  return billed === undefined ? { message } : { message, billed }
}

/** The event that starts an item at an index of the response. */
export function added(place: number, item: JsonObject): JsonObject {
  return { type: 'response.output_item.added', output_index: place, item }
}

/** The event that ends it. */
export function done(place: number, item: JsonObject): JsonObject {
  return { type: 'response.output_item.done', output_index: place, item }
}

/** A piece of a text. */
export function textDelta(place: number, delta: string, content_index = 0): JsonObject {
  return { type: 'response.output_text.delta', output_index: place, content_index, delta }
}

/** A piece of the arguments of a call. */
export function argumentsDelta(place: number, delta: string): JsonObject {
  return { type: 'response.function_call_arguments.delta', output_index: place, delta }
}

export function message(text: string, fields: JsonObject = {}): JsonObject {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }], ...fields }
}

export function call(json: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: 'call_1', name: 'read', arguments: json, ...fields }
}

export const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 } as const

export const created: JsonObject = { type: 'response.created', response: { id: 'resp_1', model: 'm', output: [] } }

/** The event that ends a response. */
export function ended(fields: JsonObject = {}, type = 'completed'): JsonObject {
  return {
    type: `response.${type}`,
    response: { id: 'resp_1', model: 'm', status: type, output: [], usage, ...fields },
  }
}
