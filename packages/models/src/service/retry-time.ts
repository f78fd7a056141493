import type { AnswerHeaders } from '../http/transport.ts'
import type { ErrorBody } from './error-body.ts'
import { bodyWaitMs, headersInBody } from './reset-body.ts'
import { answeredAtMs, limitResetOf, retryAfterMsOf } from './reset-headers.ts'

// Spec R-RESET-1.
/** When a service says that it takes requests again. */
export interface RetryTime {
  /** Milliseconds from now; null when it does not say. */
  readonly waitMs: number | null
  /**
   * What says so: `retry-after`; the body of the error; a limit of which nothing is left, or that does not say; a limit
   * of which something is left.
   */
  readonly source: 'header' | 'body' | 'limit' | 'other limit' | 'nothing'
}

/** A failed answer. */
interface FailedReply {
  readonly status: number
  /** The status that the error amounts to: another than `status` under a success alone. */
  readonly effectiveStatus: number
  readonly headers: AnswerHeaders
  readonly errorBody: ErrorBody
  /** Our clock, in milliseconds since 1970. */
  readonly nowMs: number
}

const nothing: RetryTime = { waitMs: null, source: 'nothing' }

/** Reads a failed answer. `retry-after` counts with any status, the rest only where the service is limited or overloaded. */
export function retryTimeOf({ status, effectiveStatus, headers, errorBody, nowMs }: FailedReply): RetryTime {
  const now = answeredAtMs(headers, nowMs)
  const asked = retryAfterMsOf(headers, now)
  if (asked !== null) return { waitMs: asked, source: 'header' }
  if (!mayPass.has(effectiveStatus)) return nothing
  const inBody = bodyRetryTime(errorBody, now)
  // Limits are reported with answers that are none of an error, too.
  return inBody.source !== 'nothing' || status !== effectiveStatus
    ? inBody
    : reportedLimit(effectiveStatus, headers, now)
}

/** Reads an error in a stream, which has a body alone. `nowMs` is the service's time, in milliseconds since 1970. */
export function streamRetryTime(effectiveStatus: number, errorBody: ErrorBody, nowMs: number): RetryTime {
  return mayPass.has(effectiveStatus) ? bodyRetryTime(errorBody, nowMs) : nothing
}

/**
 * The service's clock, in milliseconds since 1970, as the `date` of an answer that has just begun sets it; ours without one.
 * It goes on while the answer is read, also where our clock is set meanwhile.
 */
export function serviceClock(headers: AnswerHeaders): () => number {
  const nowMs = Date.now()
  const offsetMs = answeredAtMs(headers, nowMs) - performance.now()
  return () => performance.now() + offsetMs
}

const tooManyRequests = 429
/** Limits and overloads: what passes by itself. */
const mayPass: ReadonlySet<number> = new Set([tooManyRequests, 503, 529])

function bodyRetryTime(errorBody: ErrorBody, nowMs: number): RetryTime {
  const waitMs = bodyWaitMs(errorBody, nowMs)
  if (waitMs !== null) return { waitMs, source: 'body' }
  for (const headers of headersInBody(errorBody)) {
    const asked = retryAfterMsOf(headers, nowMs)
    if (asked !== null) return { waitMs: asked, source: 'body' }
    const time = reportedLimit(tooManyRequests, headers, nowMs)
    if (time.source !== 'nothing') return time
  }
  return nothing
}

/** The limits of an account say nothing of an overload, unless one is used up as well. */
function reportedLimit(status: number, headers: AnswerHeaders, nowMs: number): RetryTime {
  const reset = limitResetOf(headers, nowMs)
  if (reset === null || (status !== tooManyRequests && reset.left !== 'none')) return nothing
  return { waitMs: reset.waitMs, source: reset.left === 'some' ? 'other limit' : 'limit' }
}
