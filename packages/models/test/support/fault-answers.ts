import type { JsonObject } from '@halting/core'
import { answeringReply, framesOf, repliedUsage, wholeResponse } from './fault-reply.ts'
import type { FaultProtocol } from './fault-reply.ts'

/** An HTTP response that is not a stream of a reply. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The event after half of the body; absent if all of it is sent. */
  readonly breaks?: 'reset' | 'silent'
}

/** Responses of services and intermediaries, by the names in the table of docs/spec. */
export type FaultAnswer = keyof typeof faultAnswers

type MakeAnswer = (protocol: FaultProtocol, nowMs: number) => HttpAnswer

const json = { 'content-type': 'application/json' }

/** How far in the future the date in `429 with a date` is. */
export const retryDateMs = 60_000

export const faultAnswers = {
  '400': saying(400, 'invalid_request_error', 'messages: at least one is needed'),
  '400 prompt too long': saying(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum', {
    code: 'context_length_exceeded',
  }),
  '400 image': saying(400, 'invalid_request_error', 'Could not process image'),
  '401': saying(401, 'authentication_error', 'invalid key', { code: 'invalid_api_key' }),
  '402': saying(402, 'billing_error', 'pay first'),
  '403': saying(403, 'permission_error', 'not for you'),
  '404': saying(404, 'not_found_error', 'no such model', { code: 'model_not_found' }),
  '404 HTML': page(404, 'Not Found'),
  '408': saying(408, 'timeout_error', 'too slow'),
  '409': saying(409, 'conflict_error', 'try again'),
  '413': saying(413, 'request_too_large', 'Request exceeds the maximum size'),
  '429': saying(429, 'rate_limit_error', 'so many tokens a minute', { code: 'rate_limit_exceeded' }),
  '429 with seconds': saying(429, 'rate_limit_error', 'so many a minute', { headers: { 'retry-after': '7' } }),
  '429 with a date': (protocol, nowMs) =>
    saying(429, 'rate_limit_error', 'so many a minute', {
      // A date has no fractions of a second.
      headers: { 'retry-after': new Date(Math.ceil((nowMs + retryDateMs) / 1000) * 1000).toUTCString() },
    })(protocol, nowMs),
  '429 with a reset': saying(429, 'rate_limit_error', 'so many a minute', {
    headers: { 'x-ratelimit-reset-requests': '7s', 'x-ratelimit-remaining-requests': '0' },
  }),
  '429 spending cap with a reset': saying(429, 'rate_limit_error', 'You have reached your spend limit for now', {
    fields: { resets_in_seconds: 7 },
  }),
  '429 spending cap': saying(429, 'rate_limit_error', 'You have reached your spend limit for this month', {
    code: 'insufficient_quota',
  }),
  '500': saying(500, 'api_error', 'Internal server error'),
  '500 not to be retried': saying(500, 'api_error', 'do not ask again', { headers: { 'x-should-retry': 'false' } }),
  '501 HTML': page(501, 'Unsupported method'),
  '502 HTML': page(502, 'Bad Gateway'),
  '503': saying(503, 'api_error', 'down for maintenance'),
  '503 at capacity': saying(503, 'api_error', 'The model is at capacity'),
  '504': saying(504, 'timeout_error', 'the request took too long'),
  '504 HTML': page(504, 'Gateway Time-out'),
  '529': saying(529, 'overloaded_error', 'Overloaded'),
  '529 with a reset': saying(529, 'overloaded_error', 'Overloaded', { fields: { retry_after: 7 } }),
  '200 error JSON': saying(200, 'overloaded_error', 'Overloaded'),
  '200 HTML': page(200, 'Welcome to the hotel'),
  '200 whole JSON': (protocol) => ({ status: 200, headers: json, body: JSON.stringify(wholeReply(protocol)) }),
  '200 cut JSON': (protocol) => ({
    status: 200,
    headers: json,
    body: JSON.stringify(wholeReply(protocol)).slice(0, -9),
  }),
  '200 reset JSON': (protocol) => halfOf(wholeReply(protocol), 'reset'),
  '200 silent JSON': (protocol) => halfOf(wholeReply(protocol), 'silent'),
  '200 empty': () => ({ status: 200, headers: json, body: '' }),
  '200 stream as plain text': (protocol) => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: framesOf(protocol, answeringReply).map(({ bytes }) => bytes).join(''), // prettier-ignore
  }),
  '200 stream without a type': (protocol) => ({
    status: 200,
    headers: {},
    body: framesOf(protocol, answeringReply).map(({ bytes }) => bytes).join(''), // prettier-ignore
  }),
  '201 stream': streamUnder(201),
  '206 stream': streamUnder(206),
  '201 whole JSON': (protocol) => ({ status: 201, headers: json, body: JSON.stringify(wholeReply(protocol)) }),
  '204': () => ({ status: 204, headers: {}, body: '' }),
  '307': () => ({ status: 307, headers: { location: 'https://elsewhere.example/v1' }, body: '' }),
} as const satisfies Readonly<Record<string, MakeAnswer>>

interface Further {
  /** The code that chat completion services send with the type. */
  readonly code?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of the error. */
  readonly fields?: JsonObject
}

/** An error in the format of either protocol. */
function saying(status: number, type: string, message: string, { code, headers, fields }: Further = {}): MakeAnswer {
  return (protocol) => ({
    status,
    headers: { ...json, ...headers },
    body: JSON.stringify(
      protocol === 'messages'
        ? { type: 'error', error: { type, message, ...fields } }
        : { error: { message, type, param: null, code: code ?? null, ...fields } },
    ),
  })
}

/** A reply as a stream, with a status other than 200. */
function streamUnder(status: number): MakeAnswer {
  return (protocol) => ({
    status,
    headers: { 'content-type': 'text/event-stream' },
    body: framesOf(protocol, answeringReply).map(({ bytes }) => bytes).join(''), // prettier-ignore
  })
}

/** A page of an intermediary. */
function page(status: number, title: string): MakeAnswer {
  const body = `<html><head><style>p { color: red }</style></head><body><h1>${title}</h1></body></html>`
  return () => ({ status, headers: { 'content-type': 'text/html' }, body })
}

function halfOf(reply: JsonObject, breaks: 'reset' | 'silent'): HttpAnswer {
  return { status: 200, headers: json, body: JSON.stringify(reply), breaks }
}

/** The response of a service that does not stream. */
function wholeReply(protocol: FaultProtocol): JsonObject {
  const { blocks } = answeringReply
  if (protocol === 'responses') return wholeResponse(answeringReply)
  if (protocol === 'messages') {
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'served',
      content: blocks,
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: repliedUsage,
    }
  }
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = repliedUsage
  return {
    id: 'msg_1',
    object: 'chat.completion',
    model: 'served',
    choices: [{ index: 0, message: { role: 'assistant', content: blocks[0]?.text ?? '' }, finish_reason: 'stop' }],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  }
}
