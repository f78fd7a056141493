import { ModelError } from '@halting/core'
import type { ModelErrorInit, ModelErrorKind } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import type { AnswerHeaders } from '../http/transport.ts'
import { excessTokensOf } from './context-limit.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import type { Said } from './error-body.ts'
import { kindOf, statusOf } from './error-kind.ts'
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
  const said = readErrorBody(body)
  const meant = mayBringReply(status) ? statusOf(said) : status
  const time = retryTimeOf({ status, meant, headers, said, nowMs })
  const kind = kindOf({
    ...said,
    status: meant,
    // A limit that is not used up is not what a spending cap waits for.
    asksToWait: time.waitMs !== null && time.source !== 'other limit',
    namesReset: time.source === 'body',
  })
  return new ModelError({
    kind,
    status,
    message: wordingOf({ status, said, headers, url }, labels),
    retryAfterMs: time.source === 'header' ? time.waitMs : waitOf(kind, time),
    requestId: requestIdOf(headers) ?? said.requestId,
    ...retryableOf(headers, status),
    billed: mayBeBilled(said, status) ? 'unknown' : 'nothing',
    ...windowFigures(kind, said),
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
function mayBeBilled(said: Said, status: number): boolean {
  if (status === notImplemented) return false
  return mayBringReply(status) || gatewayStatuses.has(status) || (!said.isServices && status >= 500)
}

/**
 * The error that came in a stream, after a 200: there is no status that would say anything. `nowMs` is the service's time,
 * in milliseconds since 1970.
 */
export function streamError(error: Json | undefined, requestId: string | null, nowMs: number): ModelError {
  const said = readErrorValue(error)
  const status = statusOf(said)
  const time = streamRetryTime(status, said, nowMs)
  const kind = kindOf({ ...said, status, asksToWait: true, namesReset: time.waitMs !== null })
  const words = said.message || said.type || 'it gave no reason'
  return new ModelError({
    kind,
    retryAfterMs: waitOf(kind, time),
    message: `The service aborted its reply: ${words.replace(/\.$/, '')}.`,
    requestId,
    ...windowFigures(kind, said),
  })
}

/** What no waiting helps against has no time at which it is over. */
function waitOf(kind: ModelErrorKind, { waitMs }: RetryTime): number | null {
  return kind === 'rate_limit' || kind === 'overloaded' || kind === 'server_error' ? waitMs : null
}

/** A figure in any other failure is not about this request's size. */
function windowFigures(
  kind: ModelErrorKind,
  { contextLimit, message }: Said,
): Pick<ModelErrorInit, 'contextLimit' | 'excessTokens'> {
  return kind === 'prompt_too_long' ? { contextLimit, excessTokens: excessTokensOf(message) } : {}
}

/** The service's own word on whether to try again outranks the rule of the kind. A conflict (409) may pass. */
function retryableOf(headers: AnswerHeaders, status: number): { readonly retryable?: boolean } {
  const said = headers.get('x-should-retry')
  if (said === 'true' || said === 'false') return { retryable: said === 'true' }
  if (status === notImplemented) return { retryable: false }
  return status === 409 ? { retryable: true } : {}
}

interface Worded {
  readonly status: number
  readonly said: Said
  readonly headers: AnswerHeaders
  readonly url: string
}

function wordingOf({ status, said, headers, url }: Worded, labels: ServiceLabels): string {
  const location = headers.get('location')
  if (status >= 300 && status < 400) {
    const place = location === null ? 'nowhere' : shownUrl(location)
    return `${shownUrl(url)} answered ${status} and points to ${place}. Set ${labels.baseUrlSetting} to that address.`
  }
  if (said.isApi) {
    const name = [said.type, said.code].find((part) => part !== '') ?? ''
    const told = `${status}${name === '' ? '' : ` ${name}`}: ${said.message}`
    return status === 401 ? `${told} (the key comes from ${labels.keySetting})` : told
  }
  const rest = said.message === '' ? 'an empty body' : `"${said.message}"`
  return status === 404 || status === notImplemented
    ? `${shownUrl(url)} answered ${status} with ${rest}, which is not a reply of ${labels.name}. Is the base URL right?`
    : `The service, or something in front of it, answered ${status} with ${rest}.`
}
