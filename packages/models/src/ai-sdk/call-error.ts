import { headOf, isJsonObject, messageOf, type ModelErrorKind } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { Json, JsonObject } from '@halting/core'
import { networkError } from '../http/network-error.ts'
import { parseJson, stringOf } from '../json-fields.ts'
import { answeredAtMs } from '../service/reset-headers.ts'
import { requestIdOf, serviceError, streamError } from '../service/service-error.ts'
import type { ServiceLabels } from '../service/service-error.ts'
import { jsonCopyOf } from './json-copy.ts'
import { headersOf } from './part-source.ts'

/** Where something was thrown. */
export interface CallPlace {
  readonly provider: string
  /** `opening` is `doStream`; what is thrown there by no service may have cost nothing. */
  readonly phase: 'opening' | 'streaming'
  /** Of the answer, where there was one. */
  readonly headers: Headers
  /** Milliseconds since 1970: by the service's clock while it streams, else by ours. */
  readonly nowMs: number
}

/**
 * The error that something thrown by a model of the AI SDK stands for. Its error classes are known by their name and
 * shape: hosts may hold several copies of the package, and we load none.
 */
export function callError(thrown: unknown, place: CallPlace): ModelError {
  if (thrown instanceof ModelError) return thrown
  const error = fieldsOf(thrown)
  if (isCallError(error)) return answerError(thrown, error, place)
  const name = stringField(error, 'name')
  const kind = Object.hasOwn(kindOfName, name) ? kindOfName[name] : undefined
  if (kind !== undefined) return usageError(thrown, kind, place)
  if (name === 'TimeoutError') return new ModelError({ kind: 'timeout', message: messageOf(thrown), cause: thrown })
  const serviceError = name === 'AI_TypeValidationError' ? errorInPart(error.value) : undefined
  if (serviceError !== undefined) return streamError(serviceError, requestIdOf(place.headers), place.nowMs)
  if (isNetworkFailure(thrown)) return networkError(thrown, urlOf(error, place))
  if (place.phase === 'streaming' || brokenNames.has(name)) return brokenStreamError(thrown, place)
  if (isSignInFailure(name, messageOf(thrown))) return usageError(thrown, 'authentication_failed', place)
  return new ModelError({
    kind: 'unknown',
    message: `${place.provider} failed: ${messageOf(thrown)}`,
    retryable: false,
    cause: thrown,
  })
}

/**
 * Whether a provider found nothing to sign in with, or could not: no service was asked. Clouds throw errors of classes of their own, such as
 * `CredentialsProviderError` and `CredentialUnavailableError`, or plain ones.
 */
function isSignInFailure(name: string, message: string): boolean {
  return (
    /credential|authenticat|token/i.test(name) ||
    /\b(?:credentials?|authenticat\w*|api[- ]?keys?|sign(?:ed)? in|log(?:ged)? in|access token)\b/i.test(message)
  )
}

/** The error of an `error` part: something thrown, or what the service said, as it said it. */
export function partError(error: unknown, place: CallPlace): ModelError {
  if (isStreamError(error))
    return streamError(serviceErrorIn(jsonCopyOf(error.data)), requestIdOf(place.headers), place.nowMs)
  if (error instanceof Error || isCallError(fieldsOf(error))) return callError(error, place)
  return streamError(jsonCopyOf(error), requestIdOf(place.headers), place.nowMs)
}

/** Errors of the AI SDK that no further try at the same request would avoid. */
const kindOfName: { readonly [name: string]: ModelErrorKind } = {
  AI_NoSuchModelError: 'model_not_found',
  AI_NoSuchProviderError: 'model_not_found',
  AI_LoadAPIKeyError: 'authentication_failed',
  AI_LoadSettingError: 'invalid_request',
  AI_InvalidArgumentError: 'invalid_request',
  AI_InvalidPromptError: 'invalid_request',
  AI_UnsupportedFunctionalityError: 'invalid_request',
}

/** What the service sent was cut, or is not what the provider's package knows. */
const brokenNames: ReadonlySet<string> = new Set([
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_JSONParseError',
  'AI_NoContentGeneratedError',
  'AI_TypeValidationError',
])

function usageError(thrown: unknown, kind: ModelErrorKind, { phase }: CallPlace): ModelError {
  const message = messageOf(thrown)
  // A file that the package has no form for is left out of the next attempt.
  const isAboutFiles = kind === 'invalid_request' && /image|\bfiles?\b|media type|document/i.test(message)
  return new ModelError({
    kind: isAboutFiles ? 'image' : kind,
    message,
    ...(phase === 'opening' && { billed: 'nothing' }),
    cause: thrown,
  })
}

const streamErrorMarker = Symbol.for('vercel.ai.providerStreamError')

/** What a provider of version 4 makes of an error in a stream: the event, and a status that it infers. No answer had that status. */
function isStreamError(error: unknown): error is { readonly data?: unknown } {
  return streamErrorMarker in fieldsOf(error)
}

/**
 * The error in an event of a stream: under `error`, in the response that failed, an exception of Bedrock, or the event
 * itself.
 */
function serviceErrorIn(event: Json | undefined): Json | undefined {
  if (!isJsonObject(event)) return event
  const response = isJsonObject(event.response) ? event.response : {}
  return [event.error, response.error].find((error) => isJsonObject(error)) ?? exceptionIn(event) ?? event
}

/** What Bedrock calls an error in a stream, and what the Messages API calls it. */
const typeOfException: { readonly [name: string]: string } = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  internalServerException: 'api_error',
  modelStreamErrorException: 'api_error',
  validationException: 'invalid_request_error',
}

function exceptionIn(event: JsonObject): JsonObject | undefined {
  const [name = '', ...others] = Object.keys(event)
  const type = Object.hasOwn(typeOfException, name) ? typeOfException[name] : undefined
  const exception = event[name]
  if (type === undefined || others.length > 0 || !isJsonObject(exception)) return undefined
  return { type, message: stringOf(exception.message) || name }
}

/** An error of the service that the provider's package has no schema for: it calls it a part that does not fit. */
function errorInPart(part: unknown): JsonObject | undefined {
  const copy = jsonCopyOf(part)
  if (!isJsonObject(copy) || !isJsonObject(copy.error)) return undefined
  return stringOf(copy.error.message) === '' ? undefined : copy.error
}

const callErrorMarker = Symbol.for('vercel.ai.error.AI_APICallError')

/** An `APICallError`, or what has its shape: the errors of a gateway. */
function isCallError(error: Fields): boolean {
  if (callErrorMarker in error || stringField(error, 'name') === 'AI_APICallError') return true
  return typeof error.statusCode === 'number' && typeof error.isRetryable === 'boolean'
}

function answerError(thrown: unknown, error: Fields, place: CallPlace): ModelError {
  const { statusCode: status } = error
  const responseBody = stringField(error, 'responseBody')
  const url = urlOf(error, place)
  // Without an answer, or with one that could not be read to its end, it is the connection that failed.
  if (typeof status !== 'number' || (status < 300 && responseBody === '')) return networkError(thrown, url)
  // An error of a gateway has the answer as its cause.
  const own = error.responseHeaders ?? fieldsOf(error.cause).responseHeaders
  const headers = own === undefined ? place.headers : headersOf(own)
  const late = lateError(status, responseBody, headers)
  if (late !== undefined) return streamError(late, requestIdOf(headers), answeredAtMs(headers, place.nowMs))
  const body = responseBody === '' ? JSON.stringify({ message: messageOf(thrown) }) : responseBody
  const found = serviceError({ status, headers, body, url, nowMs: place.nowMs }, labelsFor(place.provider))
  // A provider may know a refusal of its service that passes.
  const passes = error.isRetryable === true && found.kind === 'invalid_request'
  const retryable = found.retryable || passes
  return new ModelError({ ...found.toRecord(), retryable, cause: thrown })
}

/**
 * An error that came first in a stream, after a 200: the AI SDK makes up a status for it. Then the headers are those of
 * a stream; without headers the shape of the Messages API tells, which is in a stream another than in an answer.
 */
function lateError(status: number, body: string, headers: Headers): Json | undefined {
  // What `parseJson` gives is JSON.
  const event = parseJson(body) as Json | undefined
  if (/^text\/event-stream\b/i.test(headers.get('content-type') ?? ''))
    return serviceErrorIn(event) ?? { message: body }
  if (status !== 500 && status !== 529) return undefined
  if (!isJsonObject(event) || Object.keys(event).length !== 2) return undefined
  return stringOf(event.type).endsWith('_error') && typeof event.message === 'string' ? event : undefined
}

function labelsFor(provider: string): ServiceLabels {
  return {
    name: `the service that the provider "${provider}" speaks to`,
    baseUrlSetting: 'the base URL of the provider',
    keySetting: 'the settings of the provider',
  }
}

/** Whether `fetch`, a socket or an abort of the provider's own is behind it. */
function isNetworkFailure(thrown: unknown): boolean {
  let error = thrown
  for (let depth = 0; depth < 8 && error instanceof Error; depth++) {
    if (
      'code' in error &&
      typeof error.code === 'string' &&
      /^(E[A-Z]|UND_ERR|CERT_|DEPTH_|SELF_|UNABLE_)/.test(error.code)
    )
      return true
    if (error.name === 'AbortError' || /^(fetch failed|failed to fetch|terminated|network error)$/i.test(error.message))
      return true
    error = error.cause
  }
  return false
}

/** What does not fit the schema of a package is told in full by it: kilobytes of it. */
const longestMessage = 400

function brokenStreamError(thrown: unknown, { headers }: CallPlace): ModelError {
  return new ModelError({
    kind: 'connection',
    message: `The reply stream failed: ${headOf(messageOf(thrown), longestMessage)}`,
    requestId: requestIdOf(headers),
    cause: thrown,
  })
}

/** What the place is called in a message. A provider that gives no address is named instead. */
function urlOf(error: Fields, { provider }: CallPlace): string {
  const given = stringField(error, 'url')
  if (URL.canParse(given)) return given
  const named = `http://${provider.replaceAll(/[^\w.-]+/g, '-')}`
  return URL.canParse(named) ? named : 'http://service'
}

type Fields = { readonly [name: string | symbol]: unknown }

function fieldsOf(thrown: unknown): Fields {
  // Reading a field of an object gives something or undefined, which is all that is done with it.
  return typeof thrown === 'object' && thrown !== null ? (thrown as Fields) : {}
}

function stringField(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}
