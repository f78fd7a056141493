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

/** The context in which an error was thrown. */
export interface CallPlace {
  readonly provider: string
  /**
   * `opening` means `doStream`: if an error thrown in this phase was not sent by a service, the request may have cost
   * nothing.
   */
  readonly phase: 'opening' | 'streaming'
  /** Headers of the HTTP response, if there was one. */
  readonly headers: Headers
  /** Milliseconds since 1970: by the service's clock during streaming, otherwise by ours. */
  readonly nowMs: number
}

/**
 * Converts anything that an AI SDK model throws into a `ModelError`. Error classes are recognized by name and shape: a
 * host may have several copies of the package, and we load none.
 */
export function callError(thrown: unknown, place: CallPlace): ModelError {
  if (thrown instanceof ModelError) return thrown
  const error = fieldsOf(thrown)
  if (isCallError(error)) return answerError(thrown, error, place)
  const name = stringField(error, 'name')
  const kind = Object.hasOwn(kindOfName, name) ? kindOfName[name] : undefined
  if (kind !== undefined) return usageError(thrown, kind, place)
  if (name === 'TimeoutError') return new ModelError({ kind: 'timeout', message: messageOf(thrown), cause: thrown })
  const errorField = name === 'AI_TypeValidationError' ? errorInPart(error.value) : undefined
  if (errorField !== undefined) return streamError(errorField, requestIdOf(place.headers), place.nowMs)
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
 * Whether a provider found no credentials, or could not sign in, so that no service received a request. Cloud packages
 * throw their own classes, such as `CredentialsProviderError` and `CredentialUnavailableError`, or plain errors.
 */
function isSignInFailure(name: string, message: string): boolean {
  return (
    /credential|authenticat|token/i.test(name) ||
    /\b(?:credentials?|authenticat\w*|api[- ]?keys?|sign(?:ed)? in|log(?:ged)? in|access token)\b/i.test(message)
  )
}

/** Converts the error of an `error` part: a thrown value, or the error as the service sent it. */
export function partError(error: unknown, place: CallPlace): ModelError {
  if (isStreamError(error))
    return streamError(serviceErrorIn(jsonCopyOf(error.data)), requestIdOf(place.headers), place.nowMs)
  if (error instanceof Error || isCallError(fieldsOf(error))) return callError(error, place)
  return streamError(jsonCopyOf(error), requestIdOf(place.headers), place.nowMs)
}

/** AI SDK errors that the same request would always cause again. */
const kindOfName: { readonly [name: string]: ModelErrorKind } = {
  AI_NoSuchModelError: 'model_not_found',
  AI_NoSuchProviderError: 'model_not_found',
  AI_LoadAPIKeyError: 'authentication_failed',
  AI_LoadSettingError: 'invalid_request',
  AI_InvalidArgumentError: 'invalid_request',
  AI_InvalidPromptError: 'invalid_request',
  AI_UnsupportedFunctionalityError: 'invalid_request',
}

/** The response was truncated, or the provider's package does not understand it. */
const brokenNames: ReadonlySet<string> = new Set([
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_JSONParseError',
  'AI_NoContentGeneratedError',
  'AI_TypeValidationError',
])

function usageError(thrown: unknown, kind: ModelErrorKind, { phase }: CallPlace): ModelError {
  const message = messageOf(thrown)
  // The next attempt omits a file that the package cannot send.
  const isAboutFiles = kind === 'invalid_request' && /image|\bfiles?\b|media type|document/i.test(message)
  return new ModelError({
    kind: isAboutFiles ? 'image' : kind,
    message,
    ...(phase === 'opening' && { billed: 'nothing' }),
    cause: thrown,
  })
}

const streamErrorMarker = Symbol.for('vercel.ai.providerStreamError')

/**
 * Recognizes how a version 4 provider represents an error in a stream: the event, and an inferred status. No response
 * had that status.
 */
function isStreamError(error: unknown): error is { readonly data?: unknown } {
  return streamErrorMarker in fieldsOf(error)
}

/**
 * Finds the error in a stream event. The error is under `error`, in the failed response, as a Bedrock exception, or
 * the event
 * itself.
 */
function serviceErrorIn(event: Json | undefined): Json | undefined {
  if (!isJsonObject(event)) return event
  const response = isJsonObject(event.response) ? event.response : {}
  return [event.error, response.error].find((error) => isJsonObject(error)) ?? exceptionIn(event) ?? event
}

/** Maps Bedrock's names of stream errors to those of the Messages API. */
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

/** Finds a service error that the provider's package has no schema for; the package reports it as an invalid part. */
function errorInPart(part: unknown): JsonObject | undefined {
  const copy = jsonCopyOf(part)
  if (!isJsonObject(copy) || !isJsonObject(copy.error)) return undefined
  return stringOf(copy.error.message) === '' ? undefined : copy.error
}

const callErrorMarker = Symbol.for('vercel.ai.error.AI_APICallError')

/** Whether this is an `APICallError`, or a gateway error of the same shape. */
function isCallError(error: Fields): boolean {
  if (callErrorMarker in error || stringField(error, 'name') === 'AI_APICallError') return true
  return typeof error.statusCode === 'number' && typeof error.isRetryable === 'boolean'
}

function answerError(thrown: unknown, error: Fields, place: CallPlace): ModelError {
  const { statusCode: status } = error
  const responseBody = stringField(error, 'responseBody')
  const url = urlOf(error, place)
  // Without a response, or with one that could not be read completely, the connection failed.
  if (typeof status !== 'number' || (status < 300 && responseBody === '')) return networkError(thrown, url)
  // A gateway error has the response as its cause.
  const own = error.responseHeaders ?? fieldsOf(error.cause).responseHeaders
  const headers = own === undefined ? place.headers : headersOf(own)
  const late = lateError(status, responseBody, headers)
  if (late !== undefined) return streamError(late, requestIdOf(headers), answeredAtMs(headers, place.nowMs))
  const body = responseBody === '' ? JSON.stringify({ message: messageOf(thrown) }) : responseBody
  const found = serviceError({ status, headers, body, url, nowMs: place.nowMs }, labelsFor(place.provider))
  // A provider may know that a refusal of its service is temporary.
  const passes = error.isRetryable === true && found.kind === 'invalid_request'
  const retryable = found.retryable || passes
  return new ModelError({ ...found.toRecord(), retryable, cause: thrown })
}

/**
 * Finds an error that came first in a stream, after a 200: the AI SDK invents a status for such an error. The headers
 * of a stream reveal the case. Without headers, the shape of the error does: the Messages API uses different shapes in
 * streams and in responses.
 */
function lateError(status: number, body: string, headers: Headers): Json | undefined {
  // `parseJson` returns JSON.
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

/** Whether `fetch`, a socket, or an abort by the provider itself caused the error. */
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

/** A package quotes the whole value that does not fit its schema, which may be kilobytes. */
const longestMessage = 400

function brokenStreamError(thrown: unknown, { headers }: CallPlace): ModelError {
  return new ModelError({
    kind: 'connection',
    message: `The reply stream failed: ${headOf(messageOf(thrown), longestMessage)}`,
    requestId: requestIdOf(headers),
    cause: thrown,
  })
}

/** Returns the address for messages, or one made of the provider's name if the error has none. */
function urlOf(error: Fields, { provider }: CallPlace): string {
  const reportedUrl = stringField(error, 'url')
  if (URL.canParse(reportedUrl)) return reportedUrl
  const named = `http://${provider.replaceAll(/[^\w.-]+/g, '-')}`
  return URL.canParse(named) ? named : 'http://service'
}

type Fields = { readonly [name: string | symbol]: unknown }

function fieldsOf(thrown: unknown): Fields {
  // Reading a field of any object is safe: it yields a value or undefined.
  return typeof thrown === 'object' && thrown !== null ? (thrown as Fields) : {}
}

function stringField(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}
