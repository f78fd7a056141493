import { messageOf } from '../values/errors.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import type { Usage } from './messages.ts'

/** Prices of models in US dollars. Undefined for a model without a price: the price of a similar name is never used. */
export interface Prices {
  /** The cost of a usage; undefined for a model without a price. */
  cost(model: string, usage: Usage): number | undefined
  /** The maximum bill of such a request: all input at the highest rate. Never below `cost` of any usage within it. */
  worstCase(model: string, request: RequestBound): number | undefined
  /**
   * The lowest price of one token of the model, of any kind and request size: `cost` of a usage is never below this
   * price multiplied by its tokens. With this method, a dollar budget also bounds tokens (`certificate`). Without it, or
   * if a kind of token is free, the budget does not.
   */
  leastPerToken?(model: string): number | undefined
}

/** Upper bounds of a request. */
export interface RequestBound {
  /** Maximum input tokens. */
  readonly inputTokens: number
  /** Maximum output tokens. */
  readonly outputTokens: number
  /** Uses of the service's own tools, each of which may have a fee (default: 0). */
  readonly serverToolUses?: number
}

/** No price for any model: costs in the figures are zero, and a dollar budget is a configuration error. */
export const noPrices: Prices = Object.freeze<Prices>({ cost: () => undefined, worstCase: () => undefined })

/** Amounts are integers in nano-dollars, so that sums are exact. */
export type NanoUsd = number

/** Converts US dollars to whole nano-dollars. */
export function nanosOf(usd: number): NanoUsd {
  // Removes the floating-point error of a sum such as 0.1 + 0.2. Any real fraction of a nano-dollar is rounded up. Rates
  // are whole millionths of a dollar per million tokens, so the smallest fraction is a thousandth.
  if (usd === Infinity) return Infinity
  const exact = usd * 1e9
  const nearest = Math.round(exact)
  return Math.abs(exact - nearest) < 5e-4 ? nearest : Math.ceil(exact)
}

/** Converts nano-dollars to US dollars. */
export function usdOf(nanos: NanoUsd): number {
  return nanos / 1e9
}

/**
 * The maximum number of tokens that an amount buys at a price per token. Infinity below a thousandth of a nano-dollar,
 * which rounds to no cost. Lower prices are rounded down to whole thousandths, so that rounding a single cost to
 * nano-dollars cannot hide a token.
 */
export function maxTokensFor(nanos: NanoUsd, usdPerToken: number): number {
  const exact = usdPerToken * 1e12
  const nearest = Math.round(exact)
  // Removes the floating-point error of a rate such as 0.1 / 1e6.
  const picos = Math.abs(exact - nearest) <= nearest * 1e-9 ? nearest : Math.floor(exact)
  if (picos < 1 || nanos === Infinity) return Infinity
  return Number((BigInt(nanos) * 1_000n) / BigInt(picos))
}

/** A validated answer of a price list: dollars, nothing for a model without a price, or an invalid amount. */
export type PriceAnswer =
  | {
      readonly kind: 'usd'
      /** US dollars. */
      readonly usd: number
    }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'broken'
      /** The problem, in a sentence. */
      readonly problem: string
    }

/** Calls a price function, which may come from the caller, and validates what it throws or returns. */
export function askPrices(ask: () => number | undefined): PriceAnswer {
  try {
    const usd = ask()
    ignoreRejection(usd)
    if (usd === undefined) return { kind: 'none' }
    if (Number.isFinite(usd) && usd >= 0) return { kind: 'usd', usd }
    ignoreRejection(usd)
    return { kind: 'broken', problem: `they returned ${String(usd)}` }
  } catch (error) {
    return { kind: 'broken', problem: `they threw: ${messageOf(error)}` }
  }
}
