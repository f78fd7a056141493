import type { Settings } from '@halting/policy/settings'
import { pricesOfAliases } from '@halting/agent/session-settings'
import { knownModels, mergePriceOverrides, type ModelPrice, parsePriceOverrides } from '@halting/models'

/** Prices of a model by which runs with these settings count: those of the settings, else the known ones; undefined for a model without a price. */
export function priceOfModel(model: string, settings: Settings): ModelPrice | undefined {
  const name = bare(model)
  const given = [...(settings.modelPrices ?? []), pricesOfAliases(settings)]
  const own = mergePriceOverrides(given.map((prices) => parsePriceOverrides(prices)))
  const [, price] = Object.entries(own).find(([id]) => bare(id) === name) ?? []
  return price ?? knownModels().find((known) => known.name === name)?.price
}

function bare(model: string): string {
  return model.replace(/^anthropic\//, '')
}
