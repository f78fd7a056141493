import type { Settings } from '@halting/policy/settings'
import { priceOverridesOf } from '@halting/agent/session-settings'
import { knownModels, type ModelPrice } from '@halting/models'

/** Prices of a model by which runs with these settings count: those of the settings, else the known ones; undefined for a model without a price. */
export function priceOfModel(model: string, settings: Settings): ModelPrice | undefined {
  const name = bare(model)
  const [, price] = Object.entries(priceOverridesOf(settings)).find(([id]) => bare(id) === name) ?? []
  return price ?? knownModels().find((known) => known.name === name)?.price
}

function bare(model: string): string {
  return model.replace(/^anthropic\//, '')
}
