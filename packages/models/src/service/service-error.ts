import { ModelError } from '@halting/core'
import type { ModelErrorInit, ModelErrorKind } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import type { AnswerHeaders } from '../http/transport.ts'
import { excessTokensOf } from './context-limit.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import type { ErrorBody } from './error-body.ts'
import { errorKindOf, impliedStatus } from './error-kind.ts'
import { retryTimeOf, streamRetryTime } from './retry-time.ts'
import type { RetryTime } from './retry-time.ts'
import { shownUrl } from './secret-shapes.ts'

/** An answer that is no stream, as far as it was read. Some gateways answer 200 with an error in the body. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: string
  readonly url: string
  readonly nowMs: number
}

/** How a service is spoken of to the person who can set it right. */
export interface ServiceLabels {
  /** The protocol, such as "the Messages API". */
  readonly name: string
  /** Where its address is set. */
  readonly baseUrlSetting: string
  /** Where its key is set. */
  readonly keySetting: string
}

/** The error that an HTTP status and its body stand for. */
export function serviceError({ status, headers, body, url, nowMs }: FailedAnswer, labels: ServiceLabels): ModelError {
  const errorBody = readErrorBody(body)
  const effectiveStatus = mayBringReply(status) ? impliedStatus(errorBody) : status
  const time = retryTimeOf({ status, effectiveStatus, headers, errorBody, nowMs })
  const kind = errorKindOf({
    ...errorBody,
    status: effectiveStatus,
    // A limit that is not used up is not what a spending cap waits for.
    asksToWait: time.waitMs !== null && time.source !== 'other limit',
    namesReset: time.source === 'body',
  })
  return new ModelError({
    kind,
    status,
    message: messageFor({ status, errorBody, headers, url }, labels),
    retryAfterMs: time.source === 'header' ? time.waitMs : waitFor(kind, time),
    requestId: requestIdOf(headers) ?? errorBody.requestId,
    ...retryableOf(headers, status),
    billed: mayBeBilled(errorBody, status) ? 'unknown' : 'nothing',
    ...windowFigures(kind, errorBody),
  })
}

export function requestIdOf(headers: AnswerHeaders): string | null {
  return headers.get('request-id') ?? headers.get('x-request-id')
}

/** Statuses of a gateway that lost its patience: they say nothing about what the service behind it did. */
const gatewayStatuses: ReadonlySet<number> = new Set([408, 502, 504])

/** Every success but those that say that there is nothing to read. */
export function mayBringReply(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205
}

/** No such thing is done at this address: that of another server. */
const notImplemented = 501

/** An error under a success may tell of a reply that was begun; what is not in a service's own shape, of anything. */
function mayBeBilled(errorBody: ErrorBody, status: number): boolean {
  if (status === notImplemented) return false
  return mayBringReply(status) || gatewayStatuses.has(status) || (!errorBody.isFromService && status >= 500)
}

/**
 * The error that came in a stream, after a 200: there is no status that would say anything. `nowMs` is the service's time,
 * in milliseconds since 1970.
 */
export function streamError(error: Json | undefined, requestId: string | null, nowMs: number): ModelError {
  const errorBody = readErrorValue(error)
  const status = impliedStatus(errorBody)
  const time = streamRetryTime(status, errorBody, nowMs)
  const kind = errorKindOf({ ...errorBody, status, asksToWait: true, namesReset: time.waitMs !== null })
  const words = errorBody.message || errorBody.type || 'it gave no reason'
  return new ModelError({
    kind,
    retryAfterMs: waitFor(kind, time),
    message: `The service aborted its reply: ${words.replace(/\.$/, '')}.`,
    requestId,
    ...windowFigures(kind, errorBody),
  })
}

/** What no waiting helps against has no time at which it is over. */
function waitFor(kind: ModelErrorKind, { waitMs }: RetryTime): number | null {
  return kind === 'rate_limit' || kind === 'overloaded' || kind === 'server_error' ? waitMs : null
}

/** A figure in any other failure is not about this request's size. */
function windowFigures(
  kind: ModelErrorKind,
  { contextLimit, message }: ErrorBody,
): Pick<ModelErrorInit, 'contextLimit' | 'excessTokens'> {
  return kind === 'prompt_too_long' ? { contextLimit, excessTokens: excessTokensOf(message) } : {}
}

/** The service's own word on whether to try again outranks the rule of the kind. A conflict (409) may pass. */
function retryableOf(headers: AnswerHeaders, status: number): { readonly retryable?: boolean } {
  const errorBody = headers.get('x-should-retry')
  if (errorBody === 'true' || errorBody === 'false') return { retryable: errorBody === 'true' }
  if (status === notImplemented) return { retryable: false }
  return status === 409 ? { retryable: true } : {}
}

interface FailureText {
  readonly status: number
  readonly errorBody: ErrorBody
  readonly headers: AnswerHeaders
  readonly url: string
}

function messageFor({ status, errorBody, headers, url }: FailureText, labels: ServiceLabels): string {
  const location = headers.get('location')
  if (status >= 300 && status < 400) {
    const place = location === null ? 'nowhere' : shownUrl(location)
    return `${shownUrl(url)} answered ${status} and points to ${place}. Set ${labels.baseUrlSetting} to that address.`
  }
  if (errorBody.isApi) {
    const name = [errorBody.type, errorBody.code].find((part) => part !== '') ?? ''
    const text = `${status}${name === '' ? '' : ` ${name}`}: ${errorBody.message}`
    return status === 401 ? `${text} (the key comes from ${labels.keySetting})` : text
  }
  const rest = errorBody.message === '' ? 'an empty body' : `"${errorBody.message}"`
  return status === 404 || status === notImplemented
    ? `${shownUrl(url)} answered ${status} with ${rest}, which is not a reply of ${labels.name}. Is the base URL right?`
    : `The service, or something in front of it, answered ${status} with ${rest}.`
}
