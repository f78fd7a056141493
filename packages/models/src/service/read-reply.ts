import { isJsonObject } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { JsonObject, ModelReply } from '@halting/core'
import { ByteDigest, EventDigest } from '../http/stream-digest.ts'
import { longestEvent } from '../http/event-stream.ts'
import type { EventStream, ServerSentEvent } from '../http/event-stream.ts'
import type { Exchange } from '../http/exchange.ts'
import { parseJson } from '../json-fields.ts'
import { replyOf, wholeReplyOf } from './assembled-reply.ts'
import type { Redactor } from './redactor.ts'
import { serviceClock } from './retry-time.ts'
import { requestIdOf, streamError } from './service-error.ts'
import type { ServiceLabels } from './service-error.ts'
import { ping } from './stream-reader.ts'
import type { Progress, StreamReader } from './stream-reader.ts'

export interface ReadOptions {
  readonly labels: ServiceLabels
  readonly events: EventStream
  readonly redactor: Redactor
  /** Maximum number of characters of reply content (default: 256 million). */
  readonly maxLength?: number
  /** Error for a response that did not claim to be a stream, and is not one. */
  readonly ifNoEvent?: ModelError | undefined
}

const longestReply = 4 * longestEvent

/**
 * Reads the stream of one response to its end.
 * @throws ModelError if nothing was completed; see `replyOf`.
 */
export async function readReply(
  exchange: Exchange,
  reader: StreamReader,
  { labels, events, redactor, ifNoEvent, maxLength = longestReply }: ReadOptions,
): Promise<ModelReply> {
  const requestId = requestIdOf(exchange.answer.headers)
  const clock = serviceClock(exchange.answer.headers)
  let failure: ModelError | undefined
  let hasEvents = false
  let hasNews = false
  let length = 0
  const digest = new ByteDigest()
  const eventDigest = new EventDigest()
  const broken = (why: string): ModelError => brokenReply(why, requestId, `${why} ${String(digest)}`)

  const takeEvent = (received: ServerSentEvent): 'more' | 'enough' => {
    hasEvents = true
    eventDigest.add(received)
    const progress = progressOf(received, reader, labels)
    if (progress.kind !== 'ping') length += received.data.length
    if (progress.kind === 'more') hasNews = true
    if (progress.kind === 'last') exchange.deadlines.onFinishReason()
    if (progress.kind === 'error_event') {
      failure = streamError(redactor.json(progress.error ?? null), requestId, clock())
    }
    if (progress.kind === 'violation')
      failure = brokenReply(progress.why, requestId, `${progress.why} ${String(eventDigest)}`)
    if (length > maxLength) failure ??= broken('the reply was longer than the limit')
    if (failure !== undefined) return 'enough'
    return progress.kind === 'more' || progress.kind === 'ping' || progress.kind === 'last' ? 'more' : 'enough'
  }

  const end = await exchange.read((bytes) => {
    digest.add(bytes)
    const fed = events.feed(bytes)
    if (fed === 'too_long') {
      failure = broken('one event was longer than the limit')
      return 'enough'
    }
    hasNews = false
    const isEnough = fed.some((event) => takeEvent(event) === 'enough')
    // Restart the timer once per chunk, not for each event.
    if (hasNews) exchange.deadlines.onProgress()
    return isEnough ? 'enough' : 'more'
  })
  return replyOf(reader.finish(), () => {
    if (failure !== undefined) return failure
    // A broken connection says nothing about the reply, and neither does an empty stream.
    if (end.kind === 'broken') return end.error
    if (hasEvents) return broken(endedEarly)
    return ifNoEvent ?? brokenReply(endedEarly, requestId)
  })
}

/** Parses a response that is not streamed; undefined if this is not one. */
export function readWhole(body: string, reader: StreamReader): ModelReply | undefined {
  const answer = parseJson(body)
  if (!isJsonObject(answer) || !reader.takeWhole(answer)) return undefined
  const assembled = reader.finish()
  return assembled.kind === 'complete' ? wholeReplyOf(assembled) : undefined
}

function progressOf({ event: name, data }: ServerSentEvent, reader: StreamReader, labels: ServiceLabels): Progress {
  if (data === '') return ping
  if (data === '[DONE]') {
    reader.end()
    return { kind: 'end' }
  }
  const value = parseJson(data)
  // Gateways put errors of their own shape, or plain text, into `error` events.
  if (name === 'error') return reader.take(errorEvent(value, data), data)
  if (!isJsonObject(value)) return { kind: 'violation', why: `it contained an event that is not of ${labels.name}` }
  return reader.take(value, data)
}

function errorEvent(value: unknown, data: string): JsonObject {
  if (isJsonObject(value) && value.error !== undefined) return { type: 'error', error: value.error }
  return { type: 'error', error: isJsonObject(value) ? value : { message: data } }
}

const endedEarly = 'it ended before the reply was complete'

function brokenReply(why: string, requestId: string | null, fingerprint?: string): ModelError {
  return new ModelError({
    kind: 'connection',
    message: `The reply stream failed: ${why}.`,
    requestId,
    fingerprint,
  })
}
