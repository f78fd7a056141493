import type { Prices } from '../budget/prices.ts'
import type { ContextManager } from '../context/port.ts'
import { modelsOfAgents, type AnyTool } from '../tools/tool.ts'
import type { Model } from './model.ts'
import { namedModelsOf } from './named-models.ts'

/** Options that name models, with the prices that go before those of the models. */
interface PricedOptions {
  readonly model: Model
  readonly fallbackModel?: Model
  readonly models?: readonly Model[]
  readonly modelNamed?: (name: string) => Model | undefined
  readonly tools?: readonly AnyTool[]
  readonly context?: ContextManager
  readonly prices?: Prices
}

/** The prices of a run: those of the options, and for a model that they do not know those that it brings. */
export function pricesOf(options: PricedOptions): Prices {
  const { model, fallbackModel, models = [], tools = [], context } = options
  const fallback = fallbackModel === undefined ? [] : [fallbackModel]
  const known = [model, ...fallback, ...models, ...(context?.models ?? []), ...modelsOfAgents(tools)]
  // Named models are made while runs go on.
  return pricesWith(options.prices, () => [...known, ...namedModelsOf(options.modelNamed).made])
}

/** Some prices, and for a model that they do not know those that it brings. A model has one source for all of its prices. */
export function pricesWith(given: Prices | undefined, models: () => readonly Model[]): Prices {
  const own = (id: string): Prices | undefined => models().find((model) => isBilledAs(model, id))?.prices
  /** The answer of the given prices, else that of a model which they do not know. What is no answer, such as null, stays theirs. */
  const answer = (id: string, ask: (prices: Prices) => number | undefined): number | undefined => {
    const usd = given === undefined ? undefined : ask(given)
    if (usd !== undefined) return usd
    const brought = own(id)
    const isKnown = brought !== undefined && given?.worstCase(id, { inputTokens: 1, outputTokens: 1 }) !== undefined
    return brought === undefined || isKnown ? undefined : ask(brought)
  }
  return {
    cost: (id, usage) => answer(id, (prices) => prices.cost(id, usage)),
    worstCase: (id, bound) => answer(id, (prices) => prices.worstCase(id, bound)),
    leastPerToken: (id) => answer(id, (prices) => prices.leastPerToken?.(id)),
  }
}

/** What a service adds to a request by itself is priced by the model that was asked. */
function isBilledAs({ id, prices, extraPasses = [] }: Model, asked: string): boolean {
  return prices !== undefined && (id === asked || extraPasses.some(({ model }) => model === asked))
}
