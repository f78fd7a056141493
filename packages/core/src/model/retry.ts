import { hashText } from '../hash.ts'
import type { ModelErrorJson } from './model-error.ts'

/** The one retry policy there is (spec R-REQ-2): 200, 400, 800 ms, then steps of 2 s; what the service asks for goes first. */
const firstDelaysMs = [200, 400, 800] as const
const laterDelayMs = 2_000

/** A service that asks for more patience than this is not waited for: the run ends and says so. */
export const longestRetryWaitMs: number = 600_000

/** Overloads in a row after which a fallback model is taken, when there is one. */
export const overloadsBeforeFallback = 3

/**
 * Milliseconds to wait after failed attempt number `attempt` (from 1). Up to a quarter is added so that many clients do not come back at once;
 * it is derived from `key`, since core draws no random number.
 */
export function retryDelayMs(attempt: number, error: ModelErrorJson, key: string): number {
  if (error.retryAfterMs !== null) return error.retryAfterMs
  const base = firstDelaysMs[attempt - 1] ?? laterDelayMs
  return base + (hashText(key, attempt) % (base / 4))
}
