import { isJsonObject } from '../values/json.ts'
import type { Amount } from './ledger.ts'

type Recorded = { readonly [field: string]: unknown }

/** The amount of a recorded charge. An invalid amount counts as nothing. */
export function amountOf({ nanos, tokens }: Recorded): Amount {
  return { nanos: nonNegative(nanos), tokens: nonNegative(tokens) }
}

/**
 * The maximum cost of a request according to its recorded grant: the reserved amount, or the recorded bound if no limit
 * required a reservation. Undefined for a grant of an earlier version.
 */
export function maxOfGrant(grant: Recorded): Amount | undefined {
  const reserved = amountOf(grant)
  if (reserved.tokens > 0) return reserved
  return isJsonObject(grant['most']) ? amountOf(grant['most']) : undefined
}

/** The minimum and maximum cost of a request, by the tokens of its reply. Each additional token costs the same. */
export interface GrantBounds {
  /** The cost with the shortest useful reply. */
  readonly least: Amount
  /** The cost with a reply of the full cap. */
  readonly most: Amount
  /** Tokens of the shortest useful reply, and of the full cap. */
  readonly usefulTokens: number
  /** Maximum tokens of the reply. */
  readonly capTokens: number
}

/** Undefined for a grant of an earlier version, and if the service may extend the request by itself: a token has no fixed price then. */
export function boundsOfGrant(grant: Recorded): GrantBounds | undefined {
  const { least, most, maxTokens } = grant
  if (!isJsonObject(least) || !isJsonObject(most)) return undefined
  const bounds = { least: amountOf(least), most: amountOf(most) }
  const input = (maxOfGrant(grant)?.tokens ?? 0) - nonNegative(maxTokens)
  const usefulTokens = bounds.least.tokens - input
  const capTokens = bounds.most.tokens - input
  return usefulTokens > 0 && usefulTokens <= capTokens ? { ...bounds, usefulTokens, capTokens } : undefined
}

function nonNegative(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
