import type { Settings } from '@halting/policy/settings'
import { priceOverridesOf } from '@halting/agent/session-settings'
import { type ModelPrice, priceOf } from '@halting/models'

/** Prices of a model by which runs with these settings count: those of the settings, else the known ones; undefined for a model without a price. */
export function priceOfModel(model: string, settings: Settings): ModelPrice | undefined {
  return priceOf(model, priceOverridesOf(settings))
}
