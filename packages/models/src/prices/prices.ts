import type { Prices } from '@halting/core'
import { bareId } from './catalogue.ts'
import { parsePriceOverrides } from './parse-overrides.ts'
import type { PriceOverrides } from './parse-overrides.ts'
import { priceTable } from './price-table.ts'

export type { PriceOverrides } from './parse-overrides.ts'

/**
 * Prices from the snapshot, with overrides before it. Ids are exact, but `claude-x` and `anthropic/claude-x` are one,
 * and so are `gpt-x` and `openai/gpt-x`. Most models bring the prices of the snapshot themselves: this is for others.
 * @throws ConfigurationError for overrides that are no prices.
 */
export function createPrices(overrides: PriceOverrides = {}): Prices {
  return priceTable(new Map(Object.entries(parsePriceOverrides(overrides)).map(([id, price]) => [bareId(id), price])))
}
