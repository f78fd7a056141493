import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, ModelRequest, Thinking } from '@halting/core'
import type { Provider } from './provider-traits.ts'

type ProviderSettings = Readonly<Record<string, JsonObject>>

/** What the thinking of a request comes to. */
export interface ThinkingOptions {
  readonly maxOutputTokens: number
  readonly providerOptions?: ProviderSettings
  /** Of version 4. */
  readonly reasoning?: 'none'
}

/** Where a family of packages has its options for thinking. */
interface Family {
  readonly provider: RegExp
  /** The name that its options go by, and further ones that the packages know. */
  readonly name: string
  readonly otherNames?: readonly string[]
  readonly field: string
  /** The package asks for this budget on top of `maxOutputTokens`: what a reply may come to is the sum. */
  readonly addsBudget: boolean
  enabled(budgetTokens: number, given: JsonObject): JsonObject
  adaptive?(given: JsonObject): JsonObject
  /** The budget that options ask for; undefined for none. */
  budgetIn(given: JsonObject): number | undefined
}

/** The least that the services take for thinking, and the least that is left for the answer. */
const leastThinkingTokens = 1_024
const leastAnswerTokens = 1_024

/** Options of Anthropic's own shape: without a budget, the packages take the least. */
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

/** A level and a budget exclude each other. */
function googleBudget(thinkingBudget: number, { thinkingLevel: _, ...given }: JsonObject): JsonObject {
  return { includeThoughts: true, ...given, thinkingBudget }
}

// Spec R-WIRE-12i.
/**
 * What is asked of the provider, so that a reply never has more than `maxOutputTokens` tokens, thinking included: some
 * packages add the budget for thinking to that figure, whoever set it. What `thinking` of the request
 * says goes before the options. A provider that cannot be told a budget keeps the options that it was made with.
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
  const given = isJsonObject(found) ? found : {}
  const wanted = wantedConfig(family, thinking, given)
  if (wanted === undefined) return asGiven
  const { [family.field]: _, ...others } = providerOptions?.[name] ?? {}
  const withConfig = (config: JsonObject | undefined): { readonly providerOptions?: ProviderSettings } => {
    const options = config === undefined ? others : { ...others, [family.field]: config }
    const isEmpty = Object.keys(options).length === 0 && providerOptions?.[name] === undefined
    if (isEmpty) return providerOptions === undefined ? {} : { providerOptions }
    return { providerOptions: { ...providerOptions, [name]: options } }
  }
  if (wanted === 'none') return { maxOutputTokens, ...withConfig(undefined), reasoning: 'none' }
  const asked = wanted.budget
  if (asked === undefined) return { maxOutputTokens, ...withConfig(wanted.config) }
  const budget = Math.min(asked, maxOutputTokens - leastAnswerTokens)
  if (budget < leastThinkingTokens) return { maxOutputTokens, ...withConfig(undefined) }
  return {
    maxOutputTokens: family.addsBudget ? maxOutputTokens - budget : maxOutputTokens,
    ...withConfig(family.enabled(budget, wanted.config)),
  }
}

type ThinkingConfig = { readonly config: JsonObject; readonly budget?: number }

/** undefined: the options stand as they are. */
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
