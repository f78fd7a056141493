import { plainTextOf } from '../content.ts'
import { jsonObjectOf } from '../json.ts'
import { askPrices, type Prices } from '../budget/prices.ts'
import { ConfigurationError } from '../errors.ts'
import type { Model, Thinking } from '../model/model.ts'
import type { RunSettings } from '../run-context.ts'

// What holds for the settings of a run, whether options or a person gave them.

/** @throws ConfigurationError for a limit that is none. */
export function checkLimits(settings: RunSettings): void {
  const { maxTurns } = settings
  if (!(maxTurns >= 1) || (maxTurns !== Infinity && !Number.isInteger(maxTurns))) {
    throw new ConfigurationError(`maxTurns must be a whole number of at least 1, but it is ${maxTurns}.`)
  }
  for (const name of ['maxBudgetUsd', 'maxTokens', 'maxDurationMs', 'minUsefulTokens', 'toolConcurrency'] as const) {
    if (!(settings[name] > 0))
      throw new ConfigurationError(`${name} must be above 0, but it is ${settings[name]}. Leave it out for no limit.`)
  }
}

/** What was given, as a copy of its own. @throws ConfigurationError for what is no `Thinking`, which plain JavaScript may give. */
export function checkedThinking(given: unknown): Thinking {
  const { type, budgetTokens } = jsonObjectOf(given)
  if (type === 'adaptive' || type === 'disabled') return { type }
  if (type !== 'enabled')
    throw new ConfigurationError(`thinking.type must be enabled, adaptive or disabled, but it is ${plainTextOf(type)}.`)
  if (typeof budgetTokens === 'number' && Number.isInteger(budgetTokens) && budgetTokens > 0)
    return { type, budgetTokens }
  throw new ConfigurationError(
    `thinking.budgetTokens must be a whole number above 0, but it is ${plainTextOf(budgetTokens)}.`,
  )
}

/** @throws ConfigurationError for a model whose requests could exceed a budget without anyone knowing it beforehand. */
export function checkBudgetable(model: Model, prices: Prices, settings: RunSettings): void {
  const isInDollars = Math.min(settings.maxBudgetUsd, settings.maxRunUsd) !== Infinity
  if (isInDollars) {
    const answer = askPrices(() => prices.worstCase(model.id, { inputTokens: 1, outputTokens: 1 }))
    const instead = 'Give its price, or limit tokens instead.'
    if (answer.kind === 'none')
      throw new ConfigurationError(`There is no price for ${model.id}, so a dollar budget cannot be kept. ${instead}`)
    if (answer.kind === 'broken')
      throw new ConfigurationError(`The prices gave no worst case for ${model.id}: ${answer.problem}. ${instead}`)
  }
  if ((isInDollars || settings.maxTokens !== Infinity) && model.maxServerToolUses === Infinity) {
    throw new ConfigurationError(
      `${model.id} may use tools of the service's own without end, so a budget cannot be kept. Give each a max_uses.`,
    )
  }
}
