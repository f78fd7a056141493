import { plainTextOf } from '../model/content.ts'
import { jsonObjectOf } from '../values/json.ts'
import { askPrices, type Prices } from '../model/prices.ts'
import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, throwInvalidOption, type Validator } from '../values/validators.ts'
import { checkGoalTries } from '../goals/run-goals.ts'
import type { Model, Thinking } from '../model/model.ts'
import { pricesWith } from './model-prices.ts'
import type { RunSettings } from './run-context.ts'

// Rules for the settings of a run, whether they come from options or from a person.

/** @throws ConfigurationError for an invalid limit. */
export function checkLimits(settings: RunSettings): void {
  const { maxTurns } = settings
  if (!(maxTurns >= 1) || (maxTurns !== Infinity && !Number.isInteger(maxTurns))) {
    throw new ConfigurationError(`maxTurns must be a whole number of at least 1, but it is ${maxTurns}.`)
  }
  checkGoalTries(settings.maxGoalTries)
  const { maxToolCalls } = settings
  if (maxToolCalls !== Infinity && maxToolCalls > 0 && !Number.isInteger(maxToolCalls))
    throw new ConfigurationError(`maxToolCalls must be a whole number, but it is ${maxToolCalls}.`)
  for (const name of [
    'maxBudgetUsd',
    'maxTotalTokens',
    'maxDurationMs',
    'maxToolCalls',
    'minUsefulTokens',
    'toolConcurrency',
  ] as const) {
    if (!(settings[name] > 0))
      throw new ConfigurationError(`${name} must be above 0, but it is ${settings[name]}. Leave it out for no limit.`)
  }
}

const thinkingTypes: { readonly [type in Thinking['type']]: true } = { enabled: true, adaptive: true, disabled: true }

/** Validates the type of thinking; `checkedThinking` validates the number of tokens. */
export const isThinking: Validator = (name, value) => {
  const type = fieldsOf(value)?.['type']
  if (typeof type === 'string' && Object.hasOwn(thinkingTypes, type)) return
  throwInvalidOption(name, "{ type: 'enabled', budgetTokens }, { type: 'adaptive' } or { type: 'disabled' }", value)
}

/** Returns a validated copy. @throws ConfigurationError for an invalid thinking setting or number of tokens. */
export function checkedThinking(value: unknown): Thinking {
  isThinking('thinking', value)
  const { type, budgetTokens } = jsonObjectOf(value)
  if (type === 'adaptive' || type === 'disabled') return { type }
  if (typeof budgetTokens === 'number' && Number.isInteger(budgetTokens) && budgetTokens > 0)
    return { type: 'enabled', budgetTokens }
  throw new ConfigurationError(
    `thinking.budgetTokens must be a whole number above 0, but it is ${plainTextOf(budgetTokens)}.`,
  )
}

/** Whether some dollar limit applies, so that the cost of a request must be known in advance. */
function hasDollarLimit({ maxBudgetUsd, maxRunUsd, lease, budget }: RunSettings): boolean {
  return lease !== null || Math.min(maxBudgetUsd, maxRunUsd, budget?.usd ?? Infinity) !== Infinity
}

/** Whether a request to the model needs a price before it is made. */
export function needsPrice(settings: RunSettings, model: string): boolean {
  return hasDollarLimit(settings) || settings.standing?.countsFor(model) === true
}

/** @throws ConfigurationError for a model whose requests could exceed a budget unpredictably. */
export function checkBudgetable(model: Model, prices: Prices, settings: RunSettings): void {
  if (needsPrice(settings, model.id)) checkPrices(model, prices)
  else if (Math.min(settings.maxTotalTokens, settings.budget?.tokens ?? Infinity) === Infinity) return
  checkEnd(model)
}

/** Whether a dollar limit can be enforced for this model: the worst-case cost of each request is known in advance. */
export function isBudgetable(model: Model, prices: Prices): boolean {
  try {
    checkPrices(model, prices)
    checkEnd(model)
    return true
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return false
    throw thrown
  }
}

function checkPrices(model: Model, value: Prices): void {
  const { id, extraPasses = [] } = model
  const prices = pricesWith(value, () => [model])
  for (const modelId of new Set([id, ...extraPasses.map((pass) => pass.model)])) checkPrice(modelId, prices)
}

function checkEnd(model: Model): void {
  const { extraPasses = [] } = model
  const isEndless = model.maxServerToolUses === Infinity || extraPasses.some(({ uses }) => uses === Infinity)
  if (!isEndless) return
  throw new ConfigurationError(
    `${model.id} may use the service's server tools without a limit, so a budget cannot be enforced. Set max_uses for each, or maxServerToolUses for the model.`,
  )
}

function checkPrice(id: string, prices: Prices): void {
  const answer = askPrices(() => prices.worstCase(id, { inputTokens: 1, outputTokens: 1 }))
  const alternatives =
    `Pass it as prices: createPrices({ ${JSON.stringify(id)}: { input: 3, output: 15 } }) of @halting/models, in US dollars per ` +
    'million tokens (in settings: modelPrices), or set maxTotalTokens instead.'
  if (answer.kind === 'none')
    throw new ConfigurationError(`There is no price for ${id}, so a dollar budget cannot be enforced. ${alternatives}`)
  if (answer.kind === 'broken')
    throw new ConfigurationError(`The prices returned no worst case for ${id}: ${answer.problem}. ${alternatives}`)
}
