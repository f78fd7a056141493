import { inputTokensOf } from '@halting/core/adapters'
import type { Prices, Usage } from '@halting/core'
import type { RequestBound } from '@halting/core/adapters'
import { findRates } from './catalogue.ts'
import type { ModelPrice, Rates } from './catalogue.ts'

/**
 * Prices from the snapshot, with others before it. Ids are exact, but `claude-x` and `anthropic/claude-x` are one.
 *
 * P1: `worstCase` is never below `cost` of any usage within its tokens and uses: both count in whole millionths of a
 *     millionth of a dollar, so that no rounding comes between them.
 * P2: fees a piece are part of both. A use of a tool of the service's own is reserved at the fee of a web search, the
 *     only one that the usage tells of.
 * P3: `leastPerToken` times the tokens of a usage is never above its `cost`: fees come on top.
 */
export function priceTable(own: ReadonlyMap<string, ModelPrice>): Prices {
  return {
    cost(model, usage) {
      const tiers = findRates(model, own)
      if (tiers === undefined) return undefined
      const promptTokens = inputTokensOf(usage)
      // The last tier that begins below the prompt's size holds for all of the request.
      const rates = applicable(tiers, promptTokens).at(-1)
      return rates === undefined ? undefined : dollars(costAt(rates, usage))
    },
    worstCase(model, bound) {
      const tiers = findRates(model, own)
      return tiers === undefined ? undefined : dollars(worstCaseAt(applicable(tiers, bound.inputTokens), bound))
    },
    leastPerToken(model) {
      const tiers = findRates(model, own)
      return tiers === undefined ? undefined : dollars(Math.min(...tiers.map(leastRate)))
    },
  }
}

/** What models bring: the prices of the snapshot alone. */
export const snapshotPrices: Prices = Object.freeze(priceTable(new Map()))

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
    rates.output * usage.output_tokens +
    rates.search * (usage.server_tool_use?.web_search_requests ?? 0)
  )
}

/** A smaller prompt may fall into a dearer tier: the dearest of those that it can reach counts. */
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

/** Of a token of any kind. */
function leastRate({ input, output, read, write5m, write1h }: Rates): number {
  return Math.min(input, output, read, write5m, write1h)
}

/** What is free stays free, also without a bound on how much of it there is. */
function times(count: number, rate: number): number {
  return rate === 0 ? 0 : count * rate
}

/** Rates are in dollars a million tokens, kept as whole millionths. */
function dollars(millionthsOfMillionths: number): number {
  return millionthsOfMillionths / 1e12
}
