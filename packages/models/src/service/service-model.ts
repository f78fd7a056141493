import { ModelError } from '@halting/core'
import { digestOf } from '@halting/core/adapters'
import type { ModelCallOptions } from '@halting/core/adapters'
import type { ModelReply, ModelRequest } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { defaultIdleTimeoutMs, defaultRequestTimeoutMs } from '../http/deadlines.ts'
import { createEventStream, createLineStream, longestEvent } from '../http/event-stream.ts'
import { openExchange } from '../http/exchange.ts'
import type { Exchange, ExchangeOptions } from '../http/exchange.ts'
import { parseJson } from '../json-fields.ts'
import type { KeyRing } from './credentials.ts'
import { transportOf } from './endpoint.ts'
import type { ServiceOptions } from './endpoint.ts'
import { readErrorBody, readErrorValue, isErrorBody } from './error-body.ts'
import type { ErrorBody } from './error-body.ts'
import { headerSafe } from './headers.ts'
import { readReply, readWhole } from './read-reply.ts'
import { callRedacted } from './redactor.ts'
import type { Redactor } from './redactor.ts'
import { shownUrl } from './secret-shapes.ts'
import { mayBringReply, requestIdOf, serviceError } from './service-error.ts'
import type { ServiceLabels } from './service-error.ts'
import type { StreamReader } from './stream-reader.ts'

/** The parts in which the protocols of services differ. */
export interface Protocol {
  /** Address of requests. */
  readonly url: string
  /** Headers of each request, except for the credentials. */
  readonly headers: Readonly<Record<string, string>>
  readonly labels: ServiceLabels
  /** Knows the model's secrets; everything that is emitted passes through it. */
  readonly redactor: Redactor
  body(request: ModelRequest): Uint8Array
  /** Releases a body that is no longer read. */
  release(body: Uint8Array): void
  reader(request: ModelRequest, emit: (update: ModelUpdate) => void): StreamReader
  /**
   * Returns the protocol to use after a refusal of something optional; undefined if there is no alternative. Each fact
   * about the service is learned once per model, so the result must not lead to the same refusal.
   */
  afterRefusal?(refusal: Refusal): Protocol | undefined
  /** Called after a reply, when it is known what the service accepts. The result is shown as warnings of the reply. */
  onReply?(): readonly string[]
}

/** A response that refuses a request. */
export interface Refusal {
  /** Undefined if a stream reported the refusal before any content. */
  readonly status: number | undefined
  readonly body: ErrorBody
}

/**
 * The current protocol of a model. A protocol that learned from a refusal is used for later requests, and has the same
 * redactor.
 */
export interface ProtocolHolder {
  protocol: Protocol
}

export interface CallLimits extends Omit<ExchangeOptions, 'signal'> {
  /** Maximum number of characters in one event, or in a response that is not streamed. */
  readonly maxEventLength: number
}

export function limitsOf(options: ServiceOptions): CallLimits {
  const { idleTimeoutMs = defaultIdleTimeoutMs, requestTimeoutMs = defaultRequestTimeoutMs, endTimeoutMs } = options
  const { maxEventLength = longestEvent } = options
  return { idleTimeoutMs, requestTimeoutMs, endTimeoutMs, maxEventLength, transport: transportOf(options) }
}

/** Maximum number of refusals for which one request is repeated. */
const maxRefusals = 6

/**
 * Makes one attempt at a request: sends it, and reads the response to its end. If the service refuses something
 * optional, the request is repeated at once without it, because nothing was billed.
 * @throws ModelError, or the reason of the run's signal.
 */
export function callService(
  spoken: ProtocolHolder,
  keys: KeyRing,
  limits: CallLimits,
  request: ModelRequest,
  call: ModelCallOptions,
): Promise<ModelReply> {
  return callRedacted(spoken.protocol.redactor, call, async (redacted) => {
    for (let refusals = 0; ; refusals++) {
      const { protocol } = spoken
      const outcome = await makeAttempt(protocol, keys, limits, withAttemptKey(request, refusals), redacted)
      if (outcome.kind === 'reply') {
        const warnings = protocol.onReply?.() ?? []
        const { reply } = outcome
        return warnings.length === 0 ? reply : { ...reply, warnings: [...(reply.warnings ?? []), ...warnings] }
      }
      const next = refusals < maxRefusals ? protocol.afterRefusal?.(outcome.refusal) : undefined
      if (next === undefined) throw outcome.error
      spoken.protocol = next
    }
  })
}

/** Changes the idempotency key: a service repeats its response to a known key. */
function withAttemptKey(request: ModelRequest, refusals: number): ModelRequest {
  return refusals === 0 ? request : { ...request, idempotencyKey: `${request.idempotencyKey}-${refusals}` }
}

type AttemptOutcome =
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  | { readonly kind: 'refused'; readonly error: ModelError; readonly refusal: Refusal }

async function makeAttempt(
  protocol: Protocol,
  keys: KeyRing,
  limits: CallLimits,
  request: ModelRequest,
  call: ModelCallOptions,
): Promise<AttemptOutcome> {
  const { signal } = call
  signal.throwIfAborted()
  const key = await keys.current(signal)
  protocol.redactor.add(key.credential.apiKey, key.credential.authToken)
  const body = protocol.body(request)
  try {
    const opened = await openExchange(
      {
        url: protocol.url,
        // Headers of the user override keys.
        headers: { ...key.headers, ...protocol.headers, 'idempotency-key': headerSafe(request.idempotencyKey) },
        body,
      },
      { ...limits, signal },
    )
    if (opened.kind === 'open' && opened.exchange.answer.status === 401) {
      throw await refusedKeyError(opened.exchange, protocol, (error) => keys.renew(key, error, signal))
    }
    keys.noteUse(key)
    if (opened.kind === 'failed') throw opened.error
    const { exchange } = opened
    try {
      const { status } = exchange.answer
      if (!mayBringReply(status)) {
        const { error, errorBody } = await readFailure(exchange, protocol)
        return { kind: 'refused', error, refusal: { status, body: errorBody } }
      }
      return await readAnswer(exchange, protocol, limits, { request, call })
    } finally {
      exchange.dispose()
    }
  } finally {
    protocol.release(body)
  }
}

/** Returns the reply, or a refusal: some services report it only in a stream. */
async function readAnswer(
  exchange: Exchange,
  protocol: Protocol,
  limits: CallLimits,
  { request, call }: { readonly request: ModelRequest; readonly call: ModelCallOptions },
): Promise<AttemptOutcome> {
  let hasBegun = false
  let errorBody: ErrorBody | undefined
  // An aborted call emits nothing.
  const reader = protocol.reader(request, (update) => {
    if (update.type !== 'api_event') hasBegun = true
    if (!call.signal.aborted) call.emit(update)
  })
  const listening: StreamReader = {
    take(event, text) {
      const progress = reader.take(event, text)
      if (progress.kind === 'error_event') errorBody = readErrorValue(progress.error)
      return progress
    },
    end: () => reader.end(),
    takeWhole: (answer) => reader.takeWhole(answer),
    finish: () => reader.finish(),
  }
  try {
    return { kind: 'reply', reply: await readBody(exchange, listening, protocol, limits) }
  } catch (error) {
    if (errorBody === undefined || hasBegun || !(error instanceof ModelError)) throw error
    return { kind: 'refused', error, refusal: { status: undefined, body: errorBody } }
  }
}

async function refusedKeyError(
  exchange: Exchange,
  protocol: Protocol,
  renew: (error: ModelError) => Promise<ModelError>,
): Promise<ModelError> {
  try {
    return await renew((await readFailure(exchange, protocol)).error)
  } finally {
    exchange.dispose()
  }
}

/**
 * Detects the kind of response by its beginning, and by its content type if that is not enough: a stream, unless it is
 * a document.
 */
async function readBody(
  exchange: Exchange,
  reader: StreamReader,
  { url, labels, redactor }: Protocol,
  { maxEventLength }: CallLimits,
): Promise<ModelReply> {
  const { headers } = exchange.answer
  const type = headers.get('content-type')?.toLowerCase() ?? ''
  const events = createEventStream(maxEventLength)
  const options = { labels, redactor, maxLength: 4 * maxEventLength }
  const otherwise = notAStreamError(exchange, url, type)
  const ifNoEvent = type.startsWith('text/event-stream') ? undefined : otherwise
  const isDocument = /json|html|xml/.test(type)
  const beginning = await exchange.beginning(isDocument ? longestField : 1)
  const isJson = beginning.startsWith('{')
  if (isJson && /ndjson|jsonl/.test(type)) {
    return readReply(exchange, reader, { ...options, events: createLineStream(maxEventLength) })
  }
  // No line of a stream begins like this: some services send every response with the content type of a stream.
  const isStream = isDocument ? fields.some((field) => beginning.startsWith(field)) : !isJson
  if (isStream) return readReply(exchange, reader, { ...options, events, ifNoEvent })
  const isMeantAsJson = isJson || type.includes('json')
  const maxLength = isMeantAsJson ? maxEventLength : errorBodyBytes
  return readDocument(exchange, reader, { url, labels, redactor }, { isMeantAsJson, maxLength, otherwise })
}

/** Possible beginnings of an event stream; a colon starts a comment. */
const fields = ['data:', 'event:', 'id:', 'retry:', ':'] as const
const longestField = 6

function notAStreamError({ answer }: Exchange, url: string, type: string): ModelError {
  return new ModelError({
    kind: 'invalid_request',
    status: answer.status,
    message: `${shownUrl(url)} answered with ${type || 'nothing'} instead of a stream of events. Is the base URL right?`,
    requestId: requestIdOf(answer.headers),
    // An HTML page comes from another server, so no service processed the request.
    ...(/html|xml/.test(type) && { billed: 'nothing' as const }),
  })
}

const errorBodyBytes = 65_536

async function readFailure(
  exchange: Exchange,
  { url, labels, redactor }: Protocol,
): Promise<{ readonly error: ModelError; readonly errorBody: ErrorBody }> {
  const { status, headers } = exchange.answer
  // The outcome is known, so wait only briefly for the description of the failure.
  exchange.deadlines.onFinishReason()
  const { text } = await exchange.text(errorBodyBytes)
  const body = redactor.source(text)
  return {
    error: serviceError({ status, headers, body, url, nowMs: Date.now() }, labels),
    errorBody: readErrorBody(body),
  }
}

interface DocumentOptions {
  readonly isMeantAsJson: boolean
  readonly maxLength: number
  /** Error for a document that is not from a service. */
  readonly otherwise: ModelError
}

/** Reads a document: a whole response, an error under a 200, an HTML page, or a truncated one of these. */
async function readDocument(
  exchange: Exchange,
  reader: StreamReader,
  { url, labels, redactor }: Pick<Protocol, 'url' | 'labels' | 'redactor'>,
  { isMeantAsJson, maxLength, otherwise }: DocumentOptions,
): Promise<ModelReply> {
  const { status, headers } = exchange.answer
  const { text: body, end } = await exchange.text(maxLength)
  const whole = readWhole(body, reader)
  if (whole !== undefined) return whole
  if (end.kind === 'broken') throw end.error
  if (body.trim() === '' || (isMeantAsJson && parseJson(body) === undefined)) {
    const message = 'The reply was cut off and is incomplete.'
    // The same text would be truncated at the same place.
    const fingerprint = body.trim() === '' ? undefined : `cut ${digestOf(body)}`
    throw new ModelError({ kind: 'connection', message, requestId: requestIdOf(headers), fingerprint })
  }
  const source = redactor.source(body)
  throw isErrorBody(source)
    ? serviceError({ status, headers, body: source, url, nowMs: Date.now() }, labels)
    : otherwise
}
