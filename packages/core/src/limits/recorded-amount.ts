import { isJsonObject } from '../values/json.ts'
import type { Amount } from './ledger.ts'

type Recorded = { readonly [field: string]: unknown }

/** The amount of a charge that is on record. What is no amount is nothing. */
export function amountOf({ nanos, tokens }: Recorded): Amount {
  return { nanos: atLeastNothing(nanos), tokens: atLeastNothing(tokens) }
}

/**
 * The most that a request can come to, by its grant on record: what was reserved, or what it says where no limit asked for a reservation. Undefined
 * where an earlier version recorded it.
 */
export function mostOfGrant(grant: Recorded): Amount | undefined {
  const reserved = amountOf(grant)
  if (reserved.tokens > 0) return reserved
  return isJsonObject(grant['most']) ? amountOf(grant['most']) : undefined
}

/** Between which amounts a request lies, by the tokens of its reply: each token more costs the same. */
export interface GrantBounds {
  /** With the least useful reply. */
  readonly least: Amount
  /** With a reply of the whole cap. */
  readonly most: Amount
  /** Tokens of the least useful reply, and of the whole cap. */
  readonly usefulTokens: number
  /** Most tokens of the reply. */
  readonly capTokens: number
}

/** Undefined where an earlier version recorded it, and where the service may add to the request by itself: then a token has no one price. */
export function boundsOfGrant(grant: Recorded): GrantBounds | undefined {
  const { least, most, maxTokens } = grant
  if (!isJsonObject(least) || !isJsonObject(most)) return undefined
  const bounds = { least: amountOf(least), most: amountOf(most) }
  const input = (mostOfGrant(grant)?.tokens ?? 0) - atLeastNothing(maxTokens)
  const usefulTokens = bounds.least.tokens - input
  const capTokens = bounds.most.tokens - input
  return usefulTokens > 0 && usefulTokens <= capTokens ? { ...bounds, usefulTokens, capTokens } : undefined
}

function atLeastNothing(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
