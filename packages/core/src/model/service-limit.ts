import { durationMs } from '../values/clock.ts'
import { hashText } from '../values/hash.ts'
import type { ModelErrorJson } from './model-error.ts'

// Spec R-SERV-2.
/** If a service asks for a longer wait, the wait is reported as a wait instead of a retry. */
export const longestQuietWaitMs: number = 5_000

/** Length of the first of several consecutive waits if the service reports no time. Each further wait is twice as long, up to a maximum. */
const firstWaitMs = 15_000
const longestWaitMs = 300_000

/** The longest time that a run may wait for services: 31 days, in milliseconds. */
export const longestWaitForLimitsMs: number = 31 * 86_400_000

/** Parses how long a run waits for services, in milliseconds: `8h`, or 0 for `none`. Undefined if invalid or longer than allowed. */
export function parseWaitMs(text: string): number | undefined {
  if (text.trim() === 'none') return 0
  const milliseconds = durationMs(text) ?? 0
  return milliseconds > 0 && milliseconds <= longestWaitForLimitsMs ? milliseconds : undefined
}

/**
 * Whether waiting helps: after a rate limit with a reset time, or if a service is overloaded, failing or unreachable.
 * Waiting does not help for a wrong key, a spending cap without a reset time, or a connection that breaks in the middle
 * of replies.
 */
export function isServiceLimit({ kind, status, retryable, retryAfterMs, neverConnected }: ModelErrorJson): boolean {
  if (!retryable) return false
  switch (kind) {
    case 'rate_limit':
      return retryAfterMs !== null
    case 'overloaded':
    case 'server_error':
      return true
    case 'timeout':
      return status !== null && status >= 500
    case 'connection':
      return neverConnected === true
    default:
      return false
  }
}

/** The inputs for the length of a wait. */
export interface ServiceWaitTerms {
  readonly error: ModelErrorJson
  /** Number of consecutive waits, including this one. */
  readonly number: number
  /** Milliseconds of waiting that the run has left. */
  readonly leftMs: number
  /** Makes the waits of several runs differ. */
  readonly key: string
}

/**
 * How long to wait for a service, in milliseconds. Undefined if the remaining time ends before the service accepts
 * requests again, or none is left. If a service repeatedly reports no usable time, the waits become longer. Never
 * shorter than what the service asked for.
 */
export function serviceWaitMs({ error, number, leftMs, key }: ServiceWaitTerms): number | undefined {
  const requestedMs = error.retryAfterMs ?? 0
  if (leftMs <= 0 || leftMs < Math.max(requestedMs, longestQuietWaitMs)) return undefined
  const firstMs = requestedMs > 0 ? longestQuietWaitMs : firstWaitMs
  const minMs = Math.min(longestWaitMs, firstMs * 2 ** Math.min(number - 1, 10))
  const waitForMs = Math.max(requestedMs, minMs)
  // Spreads out runs that got the same reset time.
  const jitterMs = hashText(key, number) % Math.ceil(Math.min(2_000, waitForMs / 10))
  return Math.min(leftMs, waitForMs + jitterMs)
}

/** Maximum number of waits within a time in milliseconds, based on the shortest reported wait. */
export function maxServiceWaits(waitForLimitsMs: number): number {
  return Math.floor(waitForLimitsMs / longestQuietWaitMs)
}
