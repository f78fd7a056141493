import type { Settings } from '@halting/policy/settings'
import { priceOverridesOf } from '@halting/agent/session-settings'
import { type ModelPrice, priceOf } from '@halting/models'

/** The price that runs use for a model: from the settings, or the known one; undefined if it has no price. */
export function priceOfModel(model: string, settings: Settings): ModelPrice | undefined {
  return priceOf(model, priceOverridesOf(settings))
}
