import { hashText } from '../values/hash.ts'
import type { ModelErrorJson } from './model-error.ts'

// Spec R-REQ-2.
/** The one retry policy: 200, 400, 800 ms, then 2 s each time, or longer where the service asks for it. */
const firstDelaysMs = [200, 400, 800] as const
const laterDelayMs = 2_000

// Spec R-REQ-2a.
/** If a service asks for a longer wait than this, the run ends instead. */
export const longestRetryWaitMs: number = 600_000

/** Overloads in a row after which a fallback model is taken, when there is one. */
export const overloadsBeforeFallback = 3

// Spec R-REQ-1a.
/** Further attempts while no connection ever came about: a name or an address that is wrong stays wrong. */
const retriesUnconnected = 2

/** What the attempts at one request came to before the last one. */
export interface Attempted {
  /** Something of the session was answered, if only with an error. */
  readonly isReached: boolean
  /** How earlier replies to the same request broke. */
  readonly fingerprints: ReadonlySet<string>
}

// Spec R-REQ-1b.
/** It broke like this before: the same again will break again. */
export function breaksAs({ fingerprint }: ModelErrorJson, before: ReadonlySet<string>): boolean {
  return fingerprint !== undefined && before.has(fingerprint)
}

// Spec R-REQ-1 to R-REQ-1b.
/** Most further attempts at a request that failed like this. */
export function retriesAfter(
  error: ModelErrorJson,
  maxRetries: number,
  { isReached, fingerprints }: Attempted,
): number {
  if (!error.retryable) return 0
  if (breaksAs(error, fingerprints)) return 0
  return error.neverConnected === true && !isReached ? Math.min(maxRetries, retriesUnconnected) : maxRetries
}

/**
 * Milliseconds to wait after failed attempt number `attempt` (from 1). Up to a quarter is added so that many clients do not come back at once;
 * it is derived from `key`, since core draws no random number.
 */
export function retryDelayMs(attempt: number, error: ModelErrorJson, key: string): number {
  const base = firstDelaysMs[attempt - 1] ?? laterDelayMs
  const ownMs = base + (hashText(key, attempt) % (base / 4))
  // What an adapter tells may be no number at all.
  return error.retryAfterMs !== null && error.retryAfterMs > ownMs ? error.retryAfterMs : ownMs
}
