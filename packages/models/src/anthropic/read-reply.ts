import { isJsonObject, ModelError } from '@halting/core'
import type { JsonObject, ModelReply, ModelUpdate } from '@halting/core'
import { createEventStream } from '../http/event-stream.ts'
import type { ServerSentEvent } from '../http/event-stream.ts'
import type { BodyEnd, Exchange } from '../http/exchange.ts'
import { streamError } from './api-error.ts'
import { MessageAssembler } from './message-assembler.ts'

/**
 * Reads the stream of one answer to its end.
 * A stream that breaks rejects while nothing was completed, which may be retried; after that its completed blocks are
 * kept, and `interrupted` says that more was to come (spec R-REQ-7).
 * @throws ModelError
 */
export async function readReply(exchange: Exchange, emit: (update: ModelUpdate) => void): Promise<ModelReply> {
  const requestId = exchange.response.headers.get('request-id')
  const events = createEventStream()
  const assembler = new MessageAssembler(emit)
  let failure: ModelError | undefined

  const takeEvent = (received: ServerSentEvent): 'more' | 'enough' => {
    const event = parse(received)
    if (event === undefined) return 'more'
    if (event === 'garbage') {
      failure = broken('it held something that is no event of the Messages API', requestId)
      return 'enough'
    }
    emit({ type: 'api_event', event })
    const progress = assembler.take(event)
    if (progress.kind === 'more') exchange.deadlines.advanced()
    if (progress.kind === 'error_event') failure = streamError(progress.error, requestId)
    if (progress.kind === 'violation') failure = broken(progress.why, requestId)
    return progress.kind === 'more' || progress.kind === 'ping' ? 'more' : 'enough'
  }

  const end = await exchange.read((bytes) => {
    const fed = events.feed(bytes)
    if (fed === 'too_long') {
      failure = broken('one event was longer than any service sends', requestId)
      return 'enough'
    }
    return fed.some((event) => takeEvent(event) === 'enough') ? 'enough' : 'more'
  })
  const assembled = assembler.finish()
  if (assembled.kind === 'complete') return { message: assembled.message }
  const error = failure ?? endError(end, requestId)
  if (assembled.kind === 'nothing') throw error
  return { message: assembled.message, interrupted: error }
}

function endError(end: BodyEnd, requestId: string | null): ModelError {
  if (end.kind === 'broken') return end.error
  return broken('it ended before the reply did', requestId)
}

function broken(why: string, requestId: string | null): ModelError {
  return new ModelError({ kind: 'connection', message: `The stream of the reply broke: ${why}.`, requestId })
}

/** The event in the shape of the Messages API; undefined for what carries none. */
function parse({ event: name, data }: ServerSentEvent): JsonObject | 'garbage' | undefined {
  if (data === '' || data === '[DONE]') return undefined
  const value = parseJson(data)
  // Gateways are known to put an error of their own shape, or plain words, into an `error` event.
  if (name === 'error') return errorEvent(value, data)
  return isJsonObject(value) ? value : 'garbage'
}

function errorEvent(value: unknown, data: string): JsonObject {
  if (isJsonObject(value) && isJsonObject(value.error)) return { type: 'error', error: value.error }
  return { type: 'error', error: isJsonObject(value) ? value : { message: data } }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
