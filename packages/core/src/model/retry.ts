import { hashText } from '../hash.ts'
import type { ModelErrorJson } from './model-error.ts'

/** The one retry policy (spec R-REQ-2): 200, 400, 800 ms, then 2 s each time, or longer where the service asks for it. */
const firstDelaysMs = [200, 400, 800] as const
const laterDelayMs = 2_000

/** If a service asks for a longer wait than this, the run ends instead (spec R-REQ-2a). */
export const longestRetryWaitMs: number = 600_000

/** Overloads in a row after which a fallback model is taken, when there is one. */
export const overloadsBeforeFallback = 3

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
