import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, ModelRequest, Thinking } from '@halting/core'
import type { Provider } from './provider-traits.ts'

type ProviderSettings = Readonly<Record<string, JsonObject>>

/** Options that result from the thinking settings of a request. */
export interface ThinkingOptions {
  readonly maxOutputTokens: number
  readonly providerOptions?: ProviderSettings
  /** Version 4 only. */
  readonly reasoning?: 'none'
}

/** Where a family of packages expects its thinking options. */
interface Family {
  readonly provider: RegExp
  /** Name of the options, and other names that the packages accept. */
  readonly name: string
  readonly otherNames?: readonly string[]
  readonly field: string
  /** The package adds this budget to `maxOutputTokens`, so a reply may have as many tokens as both together. */
  readonly addsBudget: boolean
  enabled(budgetTokens: number, given: JsonObject): JsonObject
  adaptive?(given: JsonObject): JsonObject
  /** Returns the budget that the options request; undefined if they request none. */
  budgetIn(given: JsonObject): number | undefined
}

/** Minimum thinking budget that the services accept, and minimum number of tokens left for the answer. */
const leastThinkingTokens = 1_024
const leastAnswerTokens = 1_024

/** Options in Anthropic's shape; without a budget the packages use the minimum. */
const budgetOfEnabled = ({ type, budgetTokens }: JsonObject): number | undefined =>
  type === 'enabled' ? (numberIn(budgetTokens) ?? leastThinkingTokens) : undefined
const enabledWith = (budgetTokens: number, given: JsonObject): JsonObject => ({
  ...given,
  type: 'enabled',
  budgetTokens,
})
const adaptiveWith = ({ budgetTokens: _, ...given }: JsonObject): JsonObject => ({ ...given, type: 'adaptive' })

const families: readonly Family[] = [
  {
    provider: /anthropic/,
    name: 'anthropic',
    field: 'thinking',
    addsBudget: true,
    enabled: enabledWith,
    adaptive: adaptiveWith,
    budgetIn: budgetOfEnabled,
  },
  {
    provider: /^amazon-bedrock$/,
    name: 'bedrock',
    otherNames: ['amazonBedrock'],
    field: 'reasoningConfig',
    addsBudget: true,
    enabled: enabledWith,
    adaptive: adaptiveWith,
    budgetIn: budgetOfEnabled,
  },
  {
    provider: /^google\.vertex/,
    name: 'vertex',
    otherNames: ['googleVertex', 'google'],
    field: 'thinkingConfig',
    addsBudget: false,
    enabled: googleBudget,
    budgetIn: () => undefined,
  },
  {
    provider: /^google\./,
    name: 'google',
    field: 'thinkingConfig',
    addsBudget: false,
    enabled: googleBudget,
    budgetIn: () => undefined,
  },
]

/** A level and a budget are mutually exclusive. */
function googleBudget(thinkingBudget: number, { thinkingLevel: _, ...given }: JsonObject): JsonObject {
  return { includeThoughts: true, ...given, thinkingBudget }
}

// Spec R-WIRE-12i.
/**
 * Returns options under which a reply never has more than `maxOutputTokens` tokens, thinking included: some packages
 * add the thinking budget to that limit. The request's `thinking` overrides the options. A provider without a budget
 * option keeps its original options.
 */
export function thinkingOptions(
  { thinking, maxOutputTokens }: Pick<ModelRequest, 'thinking' | 'maxOutputTokens'>,
  { provider }: Provider,
  providerOptions: ProviderSettings | undefined,
): ThinkingOptions {
  const asGiven = { maxOutputTokens, ...(providerOptions !== undefined && { providerOptions }) }
  const family = families.find((one) => one.provider.test(provider))
  if (family === undefined) return asGiven
  const isSet = (one: string): boolean => isJsonObject(providerOptions?.[one]?.[family.field])
  const name = [family.name, ...(family.otherNames ?? [])].find(isSet) ?? family.name
  const found = providerOptions?.[name]?.[family.field]
  const configured = isJsonObject(found) ? found : {}
  const request = wantedConfig(family, thinking, configured)
  if (request === undefined) return asGiven
  const { [family.field]: _, ...others } = providerOptions?.[name] ?? {}
  const withConfig = (config: JsonObject | undefined): { readonly providerOptions?: ProviderSettings } => {
    const options = config === undefined ? others : { ...others, [family.field]: config }
    const isEmpty = Object.keys(options).length === 0 && providerOptions?.[name] === undefined
    if (isEmpty) return providerOptions === undefined ? {} : { providerOptions }
    return { providerOptions: { ...providerOptions, [name]: options } }
  }
  if (request === 'none') return { maxOutputTokens, ...withConfig(undefined), reasoning: 'none' }
  const requestedBudget = request.budget
  if (requestedBudget === undefined) return { maxOutputTokens, ...withConfig(request.config) }
  const budget = Math.min(requestedBudget, maxOutputTokens - leastAnswerTokens)
  if (budget < leastThinkingTokens) return { maxOutputTokens, ...withConfig(undefined) }
  return {
    maxOutputTokens: family.addsBudget ? maxOutputTokens - budget : maxOutputTokens,
    ...withConfig(family.enabled(budget, request.config)),
  }
}

type ThinkingConfig = { readonly config: JsonObject; readonly budget?: number }

/** Returns undefined if the options need no change. */
function wantedConfig(
  family: Family,
  thinking: Thinking | undefined,
  given: JsonObject,
): ThinkingConfig | 'none' | undefined {
  switch (thinking?.type) {
    case 'disabled':
      return 'none'
    case 'adaptive':
      return family.adaptive === undefined ? undefined : { config: family.adaptive(given) }
    case 'enabled':
      return { config: given, budget: thinking.budgetTokens }
    case undefined: {
      const budget = family.budgetIn(given)
      return budget === undefined ? undefined : { config: given, budget }
    }
  }
}

function numberIn(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
