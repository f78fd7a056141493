import { isJsonObject, ModelError } from '@halting/core'
import type { Json, ModelErrorKind } from '@halting/core'
import { retryAfterMsOf } from '../http/retry-after.ts'

/** An answer that is no stream, as far as it was read. Some gateways answer 200 with an error in the body. */
export interface FailedAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly url: string
  readonly nowMs: number
}

/** The error that an HTTP status and its body stand for in the Messages API. */
export function apiError({ status, headers, body, url, nowMs }: FailedAnswer): ModelError {
  const said = readBody(body)
  const retryAfterMs = retryAfterMsOf(headers, nowMs)
  const kind = kindOf({
    status: status === 200 ? (statusOfType[said.type] ?? 500) : status,
    type: said.type,
    message: said.message,
    asksToWait: retryAfterMs !== null,
  })
  return new ModelError({
    kind,
    status,
    message: wordingOf(status, said, headers, url),
    retryAfterMs,
    requestId: headers.get('request-id') ?? said.requestId,
    ...retryableOf(headers, status),
    ...(wasMadeInBetween(said, status) ? { billed: 'unknown' } : { billed: 'nothing' }),
  })
}

/** A gateway that lost its patience says nothing about what the service behind it did. */
function wasMadeInBetween(said: Said, status: number): boolean {
  return !said.isApi && (status >= 500 || status === 408 || status === 200)
}

/** The error of an `event: error`, which comes after a 200: there is no status that would say anything. */
export function streamError(error: Json | undefined, requestId: string | null): ModelError {
  const type = isJsonObject(error) && typeof error.type === 'string' ? error.type : ''
  const message = isJsonObject(error) && typeof error.message === 'string' ? error.message : ''
  return new ModelError({
    kind: kindOf({ status: statusOfType[type] ?? 500, type, message, asksToWait: true }),
    message: `The service gave up while it was answering: ${message || type || 'it did not say why'}.`,
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

// The words of the service; there is no other sign by which one 400 can be told from another.
const promptTooLong = /prompt is too long|exceeds? (the )?context (limit|window)|request_too_large/i
const imageRefused =
  /image (exceeds|dimensions?|does not match|is too)|(unsupported|too many) images?|process image|image\.source/i
const noCredit = /credit balance/i
const spendCap = /spend|usage limit|monthly limit|billing|credit|quota|budget/i

function kindOf(answer: {
  readonly status: number
  readonly type: string
  readonly message: string
  readonly asksToWait: boolean
}): ModelErrorKind {
  const { status, type, message, asksToWait } = answer
  if (type === 'overloaded_error') return 'overloaded'
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
      // A rate limit says when to come back; a spending cap does not, and no waiting helps.
      return !asksToWait && spendCap.test(message) ? 'billing_error' : 'rate_limit'
    case 529:
      return 'overloaded'
    default:
  }
  if (status >= 500) return 'server_error'
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

interface Said {
  readonly type: string
  readonly message: string
  readonly requestId: string | null
  /** Whether the body is an error of the Messages API; else something in between answered. */
  readonly isApi: boolean
}

function readBody(body: string): Said {
  const value = parseJson(body)
  const error = isJsonObject(value) ? value.error : undefined
  if (!isJsonObject(value) || !isJsonObject(error)) {
    return { type: '', message: plainText(body), requestId: null, isApi: false }
  }
  return {
    type: typeof error.type === 'string' ? error.type : '',
    message: typeof error.message === 'string' ? error.message : plainText(body),
    requestId: typeof value.request_id === 'string' ? value.request_id : null,
    isApi: true,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The first words of a page that a proxy answered with. */
function plainText(body: string): string {
  const text = body
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/gi, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function wordingOf(status: number, said: Said, headers: Headers, url: string): string {
  const location = headers.get('location')
  if (status >= 300 && status < 400) {
    const place = location ?? 'nowhere'
    return `${url} answered ${status} and points to ${place}. Set ANTHROPIC_BASE_URL to where it leads.`
  }
  if (said.isApi) return `${status} ${said.type}: ${said.message}`
  const rest = said.message === '' ? 'an empty body' : `"${said.message}"`
  return status === 404
    ? `${url} answered 404 with ${rest}, which is no answer of the Messages API. Is the base URL right?`
    : `The service, or something in front of it, answered ${status} with ${rest}.`
}
