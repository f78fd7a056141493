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

/** A response that is not a stream, as far as it was read. Some gateways answer 200 with an error in the body. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: string
  readonly url: string
  readonly nowMs: number
}

/** How messages name a service and its settings. */
export interface ServiceLabels {
  /** The protocol, such as "the Messages API". */
  readonly name: string
  /** Setting of the address. */
  readonly baseUrlSetting: string
  /** Setting of the key. */
  readonly keySetting: string
}

/** Creates the error for an HTTP status and body. */
export function serviceError({ status, headers, body, url, nowMs }: FailedAnswer, labels: ServiceLabels): ModelError {
  const errorBody = readErrorBody(body)
  const effectiveStatus = mayBringReply(status) ? impliedStatus(errorBody) : status
  const time = retryTimeOf({ status, effectiveStatus, headers, errorBody, nowMs })
  const kind = errorKindOf({
    ...errorBody,
    status: effectiveStatus,
    // A spending cap does not wait for a limit that is not exhausted.
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

/** Statuses of a gateway that timed out: such a status does not say what the service behind the gateway did. */
const gatewayStatuses: ReadonlySet<number> = new Set([408, 502, 504])

/** Whether a status may come with a reply: every success except those without content. */
export function mayBringReply(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205
}

/** The address does not support this operation, so it belongs to another server. */
const notImplemented = 501

/**
 * Whether the request may be billed. An error under a success may follow a partial reply; an error that is not from the
 * service may mean anything.
 */
function mayBeBilled(errorBody: ErrorBody, status: number): boolean {
  if (status === notImplemented) return false
  return mayBringReply(status) || gatewayStatuses.has(status) || (!errorBody.isFromService && status >= 500)
}

/**
 * Creates the error for an error event after a 200, which has no meaningful status. `nowMs` is the service's time in
 * milliseconds since 1970.
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

/** Returns the wait, if waiting helps against this kind of error. */
function waitFor(kind: ModelErrorKind, { waitMs }: RetryTime): number | null {
  return kind === 'rate_limit' || kind === 'overloaded' || kind === 'server_error' ? waitMs : null
}

/** Returns the context limit. In any other kind of failure, such a figure does not refer to this request's size. */
function windowFigures(
  kind: ModelErrorKind,
  { contextLimit, message }: ErrorBody,
): Pick<ModelErrorInit, 'contextLimit' | 'excessTokens'> {
  return kind === 'prompt_too_long' ? { contextLimit, excessTokens: excessTokensOf(message) } : {}
}

/** Returns whether the service says to retry, which overrides the default of the kind. A conflict (409) may pass. */
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
