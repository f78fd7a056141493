import { ModelError } from '@halting/core'
import type { Json, ModelErrorKind } from '@halting/core'
import { retryAfterMsOf } from '../http/retry-after.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import type { Said } from './error-body.ts'

/** An answer that is no stream, as far as it was read. Some gateways answer 200 with an error in the body. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly url: string
  readonly nowMs: number
}

/** How a service is spoken of to the person who can set it right. */
export interface ServiceWords {
  /** The protocol, such as "the Messages API". */
  readonly name: string
  /** Where its address is set. */
  readonly baseUrlSetting: string
  /** Where its key is set. */
  readonly keySetting: string
}

/** The error that an HTTP status and its body stand for. */
export function serviceError({ status, headers, body, url, nowMs }: FailedAnswer, words: ServiceWords): ModelError {
  const said = readErrorBody(body)
  const retryAfterMs = retryAfterMsOf(headers, nowMs)
  const kind = kindOf({ ...said, status: status === 200 ? statusOf(said) : status, asksToWait: retryAfterMs !== null })
  return new ModelError({
    kind,
    status,
    message: wordingOf({ status, said, headers, url }, words),
    retryAfterMs,
    requestId: requestIdOf(headers) ?? said.requestId,
    ...retryableOf(headers, status),
    ...(wasMadeInBetween(said, status) ? { billed: 'unknown' } : { billed: 'nothing' }),
  })
}

export function requestIdOf(headers: Headers): string | null {
  return headers.get('request-id') ?? headers.get('x-request-id')
}

/**
 * A gateway that lost its patience says nothing about what the service behind it did, and an error under a 200 may
 * tell of a reply that was begun.
 */
function wasMadeInBetween(said: Said, status: number): boolean {
  return status === 200 || (!said.isApi && (status >= 500 || status === 408))
}

/** The error that came in a stream, after a 200: there is no status that would say anything. */
export function streamError(error: Json | undefined, requestId: string | null): ModelError {
  const said = readErrorValue(error)
  return new ModelError({
    kind: kindOf({ ...said, status: statusOf(said), asksToWait: true }),
    message: `The service gave up while it was answering: ${said.message || said.type || 'it did not say why'}.`,
    requestId,
  })
}

const statusOfType: { readonly [type: string]: number } = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/** The status that an error without one of its own amounts to. */
function statusOf({ type, code }: Said): number {
  const fromCode = Number(code)
  if (Number.isInteger(fromCode) && fromCode >= 400 && fromCode < 600) return fromCode
  return (Object.hasOwn(statusOfType, type) ? statusOfType[type] : undefined) ?? 500
}

const kindOfCode: { readonly [code: string]: ModelErrorKind } = {
  overloaded_error: 'overloaded',
  insufficient_quota: 'billing_error',
  billing_hard_limit_reached: 'billing_error',
  billing_not_active: 'billing_error',
  context_length_exceeded: 'prompt_too_long',
  exceed_context_size_error: 'prompt_too_long',
  invalid_api_key: 'authentication_failed',
  model_not_found: 'model_not_found',
  invalid_image_url: 'image',
  invalid_image_format: 'image',
  image_parse_error: 'image',
  image_too_large: 'image',
}

// The words of the services; there is no other sign by which one 400 can be told from another.
const capTooLarge = /max_(completion_)?tokens\W.{0,60}too large/i
const promptTooLong =
  /prompt is too long|exceeds? (the |this model's )?(available |maximum )?context|maximum context length|context window|request_too_large|input is too long|too large for model/i
const imageRefused =
  /image (exceeds|dimensions?|does not match|is too|input)|(unsupported|too many) images?|process image|image\.source|image_url|not support (images?|vision)/i
const noCredit = /(credit|insufficient) balance/i
const spendCap = /spend|usage limit|monthly limit|billing|credit|quota|budget/i
/** More at once than a minute's allowance: no waiting helps. */
const neverFits = /request too large/i
const atCapacity = /overload|capacity|too busy/i

function kindOf(answer: Said & { readonly status: number; readonly asksToWait: boolean }): ModelErrorKind {
  const { status, type, code, message, asksToWait } = answer
  for (const name of [type, code]) {
    const kind = Object.hasOwn(kindOfCode, name) ? kindOfCode[name] : undefined
    if (kind !== undefined) return kind
  }
  switch (status) {
    case 401:
    case 403:
      return 'authentication_failed'
    case 402:
      return 'billing_error'
    case 404:
      return 'model_not_found'
    case 408:
    case 504:
      return 'timeout'
    case 413:
      return 'prompt_too_long'
    case 429:
      if (neverFits.test(message)) return 'prompt_too_long'
      // A rate limit says when to come back; a spending cap does not, and no waiting helps.
      return !asksToWait && spendCap.test(message) ? 'billing_error' : 'rate_limit'
    case 498:
    case 529:
      return 'overloaded'
    case 503:
      return answer.isApi && atCapacity.test(message) ? 'overloaded' : 'server_error'
    default:
  }
  if (status >= 500) return 'server_error'
  if (capTooLarge.test(message)) return 'invalid_request'
  if (promptTooLong.test(message)) return 'prompt_too_long'
  if (imageRefused.test(message)) return 'image'
  if (noCredit.test(message)) return 'billing_error'
  return 'invalid_request'
}

/** The service's own word on whether to try again outranks the rule of the kind. A conflict (409) may pass. */
function retryableOf(headers: Headers, status: number): { readonly retryable?: boolean } {
  const said = headers.get('x-should-retry')
  if (said === 'true' || said === 'false') return { retryable: said === 'true' }
  return status === 409 ? { retryable: true } : {}
}

interface Worded {
  readonly status: number
  readonly said: Said
  readonly headers: Headers
  readonly url: string
}

function wordingOf({ status, said, headers, url }: Worded, words: ServiceWords): string {
  const location = headers.get('location')
  if (status >= 300 && status < 400) {
    const place = location ?? 'nowhere'
    return `${url} answered ${status} and points to ${place}. Set ${words.baseUrlSetting} to where it leads.`
  }
  if (said.isApi) {
    const name = [said.type, said.code].find((part) => part !== '') ?? ''
    const told = `${status}${name === '' ? '' : ` ${name}`}: ${said.message}`
    return status === 401 ? `${told} (the key comes from ${words.keySetting})` : told
  }
  const rest = said.message === '' ? 'an empty body' : `"${said.message}"`
  return status === 404
    ? `${url} answered 404 with ${rest}, which is no answer of ${words.name}. Is the base URL right?`
    : `The service, or something in front of it, answered ${status} with ${rest}.`
}
