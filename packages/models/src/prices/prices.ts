import { inputTokensOf } from '@halting/core'
import type { Prices, Usage } from '@halting/core'
import { findRates } from './catalogue.ts'
import type { Rates, ModelPrice } from './catalogue.ts'

/** Prices by model id, over those of the snapshot: a whole entry takes the place of a whole entry. */
export type PriceOverrides = Readonly<Record<string, ModelPrice>>

/**
 * Prices from the snapshot, with overrides before it. Ids are exact, but `claude-x` and `anthropic/claude-x` are one.
 *
 * P1: `worstCase` is never below `cost` of any usage within its tokens: both count in whole millionths of a
 *     millionth of a dollar, so that no rounding comes between them.
 * P2: fees a piece (web searches) are not in here: whoever allows server tools reserves and adds them.
 */
export function createPrices(overrides: PriceOverrides = {}): Prices {
  const own = new Map(Object.entries(overrides).map(([id, price]) => [id.replace(/^anthropic\//, ''), price]))
  return {
    cost(model, usage) {
      const tiers = findRates(model, own)
      if (tiers === undefined) return undefined
      const promptTokens = inputTokensOf(usage)
      // The last tier that begins below the prompt's size holds for all of the request.
      const rates = applicable(tiers, promptTokens).at(-1)
      return rates === undefined ? undefined : dollars(costAt(rates, usage))
    },
    worstCase(model, { inputTokens, outputTokens }) {
      const tiers = findRates(model, own)
      if (tiers === undefined) return undefined
      const rates = applicable(tiers, inputTokens)
      const input = Math.max(...rates.map((rate) => Math.max(rate.input, rate.read, rate.write5m, rate.write1h)))
      const output = Math.max(...rates.map((rate) => rate.output))
      return dollars(input * inputTokens + output * outputTokens)
    },
  }
}

/** Tiers go by the size of the whole prompt: uncached, written and read. */
function applicable(tiers: readonly Rates[], promptTokens: number): readonly Rates[] {
  return tiers.filter(({ above }) => above < promptTokens || above === 0)
}

function costAt(rates: Rates, usage: Usage): number {
  const written = usage.cache_creation_input_tokens
  const hour = Math.min(written, usage.cache_creation?.ephemeral_1h_input_tokens ?? 0)
  return (
    rates.input * usage.input_tokens +
    rates.read * usage.cache_read_input_tokens +
    rates.write5m * (written - hour) +
    rates.write1h * hour +
    rates.output * usage.output_tokens
  )
}

/** Rates are in dollars a million tokens, kept as whole millionths. */
function dollars(millionthsOfMillionths: number): number {
  return millionthsOfMillionths / 1e12
}
