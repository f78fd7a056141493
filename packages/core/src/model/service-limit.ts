import { durationMs } from '../values/clock.ts'
import { hashText } from '../values/hash.ts'
import type { ModelErrorJson } from './model-error.ts'

// Spec R-SERV-2.
/** A wait that a service asks for is told of, and is no retry any more, where it is longer. */
export const longestQuietWaitMs: number = 5_000

/** The first wait in a row where the service does not say how long; twice as long each time, up to the longest. */
const firstUnsaidMs = 15_000
const longestUnsaidMs = 300_000

/** The longest time that a run may wait for services: 31 days, in milliseconds. */
export const longestWaitForLimitsMs: number = 31 * 86_400_000

/** How long a run waits for services, as people write it, in milliseconds: `8h`, or 0 for `none`. Undefined for what is neither, or longer than a run may wait. */
export function waitMs(text: string): number | undefined {
  if (text.trim() === 'none') return 0
  const milliseconds = durationMs(text) ?? 0
  return milliseconds > 0 && milliseconds <= longestWaitForLimitsMs ? milliseconds : undefined
}

/**
 * Whether waiting helps: a rate limit that says when it is over, a service that is overloaded or out of order, or one that cannot be reached. Not what
 * nobody mends by waiting, such as a wrong key, a spending cap without a time, or a connection that breaks in the middle of replies.
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

/** What decides how long a wait is. */
export interface ServiceWaitTerms {
  readonly error: ModelErrorJson
  /** Waits in a row, this one included. */
  readonly number: number
  /** Milliseconds of waiting that the run has left. */
  readonly leftMs: number
  /** By which waits of several runs differ. */
  readonly key: string
}

/**
 * How long to wait for a service, in milliseconds; undefined where what is left does not reach until it says that it takes requests again, or nothing
 * is left. Services that say too little again and again are asked more and more seldom. Never shorter than what the service said.
 */
export function serviceWaitMs({ error, number, leftMs, key }: ServiceWaitTerms): number | undefined {
  const said = error.retryAfterMs ?? 0
  if (leftMs <= 0 || leftMs < Math.max(said, longestQuietWaitMs)) return undefined
  const first = said > 0 ? longestQuietWaitMs : firstUnsaidMs
  const least = Math.min(longestUnsaidMs, first * 2 ** Math.min(number - 1, 10))
  const wanted = Math.max(said, least)
  // Many who were told the same moment do not come back at once.
  const apart = hashText(key, number) % Math.ceil(Math.min(2_000, wanted / 10))
  return Math.min(leftMs, wanted + apart)
}

/** At most so many waits fit a time, in milliseconds: none is shorter than what is told of. */
export function mostServiceWaits(waitForLimitsMs: number): number {
  return Math.floor(waitForLimitsMs / longestQuietWaitMs)
}
