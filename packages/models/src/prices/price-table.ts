import { inputTokensOf } from '@halting/core/adapters'
import type { Prices, Usage } from '@halting/core'
import type { RequestBound } from '@halting/core/adapters'
import { findRates } from './catalogue.ts'
import type { ModelPrice, Rates } from './catalogue.ts'

/**
 * Prices from the snapshot and overrides. Ids are exact, but `claude-x` equals `anthropic/claude-x`.
 *
 * P1: `worstCase` is never below the `cost` of any usage within its bounds. Both count integers of 10^-12 dollars, so
 *     rounding cannot differ.
 * P2: both include fees. Each server tool use is reserved at the fee of a web search, the only one that the usage
 *     reports.
 * P3: `leastPerToken` times the tokens of a usage is never above its `cost`, which adds fees.
 */
export function priceTable(own: ReadonlyMap<string, ModelPrice>): Prices {
  return {
    cost(model, usage) {
      const tiers = findRates(model, own)
      if (tiers === undefined) return undefined
      const promptTokens = inputTokensOf(usage)
      // The highest tier that the prompt reaches applies to the whole request.
      const rates = applicableRates(tiers, promptTokens).at(-1)
      return rates === undefined ? undefined : dollars(costAt(rates, usage))
    },
    worstCase(model, bound) {
      const tiers = findRates(model, own)
      return tiers === undefined ? undefined : dollars(worstCaseAt(applicableRates(tiers, bound.inputTokens), bound))
    },
    leastPerToken(model) {
      const tiers = findRates(model, own)
      return tiers === undefined ? undefined : dollars(Math.min(...tiers.map(leastRate)))
    },
  }
}

/** Default prices of models: only the snapshot. */
export const snapshotPrices: Prices = Object.freeze(priceTable(new Map()))

/** Returns the tiers that a prompt reaches, by its total size: uncached, written and read. */
function applicableRates(tiers: readonly Rates[], promptTokens: number): readonly Rates[] {
  return tiers.filter(({ above }) => above < promptTokens || above === 0)
}

function costAt(rates: Rates, usage: Usage): number {
  const cacheWritten = usage.cache_creation_input_tokens
  const hour = Math.min(cacheWritten, usage.cache_creation?.ephemeral_1h_input_tokens ?? 0)
  return (
    rates.input * usage.input_tokens +
    rates.read * usage.cache_read_input_tokens +
    rates.write5m * (cacheWritten - hour) +
    rates.write1h * hour +
    rates.output * usage.output_tokens +
    rates.search * (usage.server_tool_use?.web_search_requests ?? 0)
  )
}

/** Returns the worst case. A smaller prompt may be in a more expensive tier, so the highest reachable rates apply. */
function worstCaseAt(tiers: readonly Rates[], { inputTokens, outputTokens, serverToolUses = 0 }: RequestBound): number {
  const dearest = (rate: (rates: Rates) => number): number => Math.max(...tiers.map(rate))
  return (
    times(
      inputTokens,
      dearest(({ input, read, write5m, write1h }) => Math.max(input, read, write5m, write1h)),
    ) +
    times(
      outputTokens,
      dearest(({ output }) => output),
    ) +
    times(
      serverToolUses,
      dearest(({ search }) => search),
    )
  )
}

/** The lowest rate of any kind of token. */
function leastRate({ input, output, read, write5m, write1h }: Rates): number {
  return Math.min(input, output, read, write5m, write1h)
}

/** Multiplies a count by a rate. A rate of zero remains zero, even for an unbounded count. */
function times(count: number, rate: number): number {
  return rate === 0 ? 0 : count * rate
}

/** Converts to dollars. */
function dollars(millionthsOfMillionths: number): number {
  return millionthsOfMillionths / 1e12
}
