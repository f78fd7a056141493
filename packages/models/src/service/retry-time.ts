import type { AnswerHeaders } from '../http/transport.ts'
import type { ErrorBody } from './error-body.ts'
import { bodyWaitMs, headersInBody } from './reset-body.ts'
import { answeredAtMs, limitResetOf, retryAfterMsOf } from './reset-headers.ts'

// Spec R-RESET-1.
/** When a service accepts requests again. */
export interface RetryTime {
  /** Milliseconds from now; null if the service does not say. */
  readonly waitMs: number | null
  /**
   * Where the time comes from: `retry-after`, the body of the error, a limit that is exhausted or may be, or a limit
   * that is not exhausted.
   */
  readonly source: 'header' | 'body' | 'limit' | 'other limit' | 'nothing'
}

/** A failed response. */
interface FailedReply {
  readonly status: number
  /** Status that the error implies; it differs from `status` only if that is a success. */
  readonly effectiveStatus: number
  readonly headers: AnswerHeaders
  readonly errorBody: ErrorBody
  /** Our clock, in milliseconds since 1970. */
  readonly nowMs: number
}

const nothing: RetryTime = { waitMs: null, source: 'nothing' }

/** Reads a failed response. `retry-after` applies to any status, other sources only to rate limits and overloads. */
export function retryTimeOf({ status, effectiveStatus, headers, errorBody, nowMs }: FailedReply): RetryTime {
  const now = answeredAtMs(headers, nowMs)
  const requestedMs = retryAfterMsOf(headers, now)
  if (requestedMs !== null) return { waitMs: requestedMs, source: 'header' }
  if (!mayPass.has(effectiveStatus)) return nothing
  const inBody = bodyRetryTime(errorBody, now)
  // Successful responses report limits, too.
  return inBody.source !== 'nothing' || status !== effectiveStatus
    ? inBody
    : reportedLimit(effectiveStatus, headers, now)
}

/** Reads an error in a stream, which has only a body. `nowMs` is the service's time in milliseconds since 1970. */
export function streamRetryTime(effectiveStatus: number, errorBody: ErrorBody, nowMs: number): RetryTime {
  return mayPass.has(effectiveStatus) ? bodyRetryTime(errorBody, nowMs) : nothing
}

/**
 * Returns the service's clock, in milliseconds since 1970, based on the `date` header of a response that has just
 * started, or else on our clock. It continues while the response is read, even if our clock is changed.
 */
export function serviceClock(headers: AnswerHeaders): () => number {
  const nowMs = Date.now()
  const offsetMs = answeredAtMs(headers, nowMs) - performance.now()
  return () => performance.now() + offsetMs
}

const tooManyRequests = 429
/** Rate limits and overloads, which are temporary. */
const mayPass: ReadonlySet<number> = new Set([tooManyRequests, 503, 529])

function bodyRetryTime(errorBody: ErrorBody, nowMs: number): RetryTime {
  const waitMs = bodyWaitMs(errorBody, nowMs)
  if (waitMs !== null) return { waitMs, source: 'body' }
  for (const headers of headersInBody(errorBody)) {
    const requestedMs = retryAfterMsOf(headers, nowMs)
    if (requestedMs !== null) return { waitMs: requestedMs, source: 'body' }
    const time = reportedLimit(tooManyRequests, headers, nowMs)
    if (time.source !== 'nothing') return time
  }
  return nothing
}

/** Returns the reset time of a limit. Account limits say nothing about an overload unless one is exhausted. */
function reportedLimit(status: number, headers: AnswerHeaders, nowMs: number): RetryTime {
  const reset = limitResetOf(headers, nowMs)
  if (reset === null || (status !== tooManyRequests && reset.left !== 'none')) return nothing
  return { waitMs: reset.waitMs, source: reset.left === 'some' ? 'other limit' : 'limit' }
}
