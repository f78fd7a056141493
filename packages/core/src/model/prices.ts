import { messageOf } from '../values/errors.ts'
import { disregard } from '../values/eventually.ts'
import type { Usage } from './messages.ts'

/** What models cost, in US dollars. Undefined for a model without a price: the price of a similar name is never taken. */
export interface Prices {
  /** What a usage costs; undefined for a model without a price. */
  cost(model: string, usage: Usage): number | undefined
  /** The most that such a request can be billed: all input at the dearest rate. Never below `cost` of any usage within it. */
  worstCase(model: string, request: RequestBound): number | undefined
  /**
   * The least that one token of the model costs, of any kind and at any size of a request: `cost` of a usage is never below it times the tokens of the
   * usage. With it a dollar budget bounds tokens, too (`certificate`); without it, and where a kind of token is free, it bounds none.
   */
  leastPerToken?(model: string): number | undefined
}

/** What a request cannot exceed. */
export interface RequestBound {
  /** Most input tokens. */
  readonly inputTokens: number
  /** Most output tokens. */
  readonly outputTokens: number
  /** Uses of the service's own tools, each of which may have a fee; 0 when absent. */
  readonly serverToolUses?: number
}

/** No price for any model: costs are zero in the figures, and a dollar budget is a configuration error. */
export const noPrices: Prices = Object.freeze<Prices>({ cost: () => undefined, worstCase: () => undefined })

/** Money is counted in whole nano-dollars, so that sums are exact. */
export type NanoUsd = number

/** US dollars as whole billionths. */
export function nanosOf(usd: number): NanoUsd {
  // A sum such as 0.1 + 0.2 has an error in its last digits, which is removed. Any real part of a nano-dollar is rounded up:
  // rates are whole millionths of a dollar a million tokens, so the least that there is is a thousandth.
  if (usd === Infinity) return Infinity
  const exact = usd * 1e9
  const nearest = Math.round(exact)
  return Math.abs(exact - nearest) < 5e-4 ? nearest : Math.ceil(exact)
}

/** Billionths of a US dollar as dollars. */
export function usdOf(nanos: NanoUsd): number {
  return nanos / 1e9
}

/**
 * The most tokens that so much money buys at a price a token; Infinity where that is less than a thousandth of a nano-dollar, which costs nothing in whole
 * nano-dollars. Lower prices are rounded down to whole thousandths: then no rounding of a single cost to nano-dollars can hide a token.
 */
export function mostTokensFor(nanos: NanoUsd, usdPerToken: number): number {
  const exact = usdPerToken * 1e12
  const nearest = Math.round(exact)
  // A rate such as 0.1 / 1e6 has an error in its last digits, which is removed.
  const picos = Math.abs(exact - nearest) <= nearest * 1e-9 ? nearest : Math.floor(exact)
  if (picos < 1 || nanos === Infinity) return Infinity
  return Number((BigInt(nanos) * 1_000n) / BigInt(picos))
}

/** An answer of prices: dollars, nothing for a model without a price, or something that is no sum of money. */
export type PriceAnswer =
  | {
      readonly kind: 'usd'
      /** US dollars. */
      readonly usd: number
    }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'broken'
      /** What is wrong with the answer, in a sentence. */
      readonly problem: string
    }

/** Asks prices, which may be the caller's own: what they throw or give is checked before it counts. */
export function askPrices(ask: () => number | undefined): PriceAnswer {
  try {
    const usd = ask()
    disregard(usd)
    if (usd === undefined) return { kind: 'none' }
    if (Number.isFinite(usd) && usd >= 0) return { kind: 'usd', usd }
    disregard(usd)
    return { kind: 'broken', problem: `they gave ${String(usd)}` }
  } catch (error) {
    return { kind: 'broken', problem: `they threw: ${messageOf(error)}` }
  }
}
