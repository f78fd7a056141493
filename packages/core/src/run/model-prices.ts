import type { Prices } from '../model/prices.ts'
import type { ContextManager } from '../context/context-manager.ts'
import { modelsOfAgents, type AnyTool } from '../tools/tool.ts'
import type { Model } from '../model/model.ts'
import { namedModelsOf } from './named-models.ts'

/** The options that select models, and the prices that take precedence over those of the models. */
interface PricedOptions {
  readonly model: Model
  readonly fallbackModel?: Model
  readonly models?: readonly Model[]
  readonly modelNamed?: (name: string) => Model | undefined
  readonly tools?: readonly AnyTool[]
  readonly context?: ContextManager
  readonly prices?: Prices
}

/** The prices of a run: those of the options, or the models' own prices if the options have no price for a model. */
export function pricesOf(options: PricedOptions): Prices {
  const { model, fallbackModel, models = [], tools = [], context } = options
  const fallback = fallbackModel === undefined ? [] : [fallbackModel]
  const known = [model, ...fallback, ...models, ...(context?.models ?? []), ...modelsOfAgents(tools)]
  // Named models are created while runs continue.
  return pricesWith(options.prices, () => [...known, ...namedModelsOf(options.modelNamed).created])
}

/**
 * Combines the given prices with the models' own prices. All prices of a model come from one source. If several models
 * have the same id, or are billed under it, the highest price applies, so that no budget is exceeded.
 */
export function pricesWith(preferred: Prices | undefined, models: () => readonly Model[]): Prices {
  return new CombinedPrices(preferred, models)
}

class CombinedPrices implements Prices {
  readonly #preferred: Prices | undefined
  readonly #models: () => readonly Model[]

  constructor(preferred: Prices | undefined, models: () => readonly Model[]) {
    this.#preferred = preferred
    this.#models = models
  }

  cost(...[id, usage]: Parameters<Prices['cost']>): number | undefined {
    return this.#answer(id, (prices) => prices.cost(id, usage))
  }

  worstCase(...[id, bound]: Parameters<Prices['worstCase']>): number | undefined {
    return this.#answer(id, (prices) => prices.worstCase(id, bound))
  }

  leastPerToken(id: string): number | undefined {
    return this.#answer(id, (prices) => prices.leastPerToken?.(id), Math.min)
  }

  /** The answer of the given prices, or else that of the models. An invalid answer of the given prices, such as null, is returned unchanged. */
  #answer(
    id: string,
    ask: (prices: Prices) => number | undefined,
    dearest: (...usd: readonly number[]) => number = Math.max,
  ): number | undefined {
    const preferred = this.#preferred
    const usd = preferred === undefined ? undefined : ask(preferred)
    if (usd !== undefined) return usd
    const modelPrices = this.#modelPrices(id)
    if (modelPrices.length === 0 || (preferred !== undefined && knows(preferred, id))) return undefined
    const answers = modelPrices.map(ask)
    const broken = answers.findIndex((each) => !isSum(each))
    return broken >= 0 ? answers[broken] : dearest(...answers.filter(isSum))
  }

  /** The prices that the models define for an id: those of all models that know it, or else the first. */
  #modelPrices(id: string): readonly Prices[] {
    const modelPrices = this.#models().flatMap((model) => (isBilledAs(model, id) ? (model.prices ?? []) : []))
    if (modelPrices.length === 0) return modelPrices
    const sources = [...new Set(modelPrices)]
    const complete = sources.filter((prices) => knows(prices, id))
    return complete.length > 0 ? complete : sources.slice(0, 1)
  }
}

function knows(prices: Prices, id: string): boolean {
  return prices.worstCase(id, { inputTokens: 1, outputTokens: 1 }) !== undefined
}

function isSum(usd: number | undefined): usd is number {
  return Number.isFinite(usd) && Number(usd) >= 0
}

/** Whether the prices of a model apply to an id: its own, or that of an additional pass, which the prices of the requested model cover. */
function isBilledAs({ id, prices, extraPasses = [] }: Model, asked: string): boolean {
  return prices !== undefined && (id === asked || extraPasses.some(({ model }) => model === asked))
}
