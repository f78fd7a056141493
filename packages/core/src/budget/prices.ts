import type { Usage } from '../messages.ts'

/** What models cost, in US dollars. Undefined for a model without a price: 'unknown' rather than a near match. */
export interface Prices {
  cost(model: string, usage: Usage): number | undefined
  /** The most that a request with so many tokens can be billed: all input at the dearest rate. Never below `cost` of any usage within them. */
  worstCase(model: string, tokens: { readonly inputTokens: number; readonly outputTokens: number }): number | undefined
}

/** No price for any model: costs are zero in the figures, and a dollar budget is a configuration error. */
export const noPrices: Prices = Object.freeze<Prices>({ cost: () => undefined, worstCase: () => undefined })

/** Money is counted in whole nano-dollars, so that sums are exact. */
export type NanoUsd = number

export function nanosOf(usd: number): NanoUsd {
  // A price sum like 0.1 + 0.2 carries noise of 1e-17; rounding up after taking it off never undercounts a real nano-dollar.
  return Math.ceil(usd * 1e9 - 1e-6)
}

export function usdOf(nanos: NanoUsd): number {
  return nanos / 1e9
}
