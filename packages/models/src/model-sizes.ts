import type { Model } from '@halting/core'
import { figuresOf } from './prices/catalogue.ts'
import type { ModelFigures } from './prices/catalogue.ts'

interface SizeOptions {
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly defaultOutputTokens?: number | undefined
}

/** Default number of output tokens requested, unless an earlier reply was truncated. */
const usualOutputTokens = 32_000

/** Returns the sizes of a model: from its options, the price snapshot, or the defaults of its kind. */
export function sizesOf(
  id: string,
  options: SizeOptions,
  usual: ModelFigures,
): Pick<Model, 'contextWindow' | 'maxOutputTokens' | 'defaultOutputTokens'> {
  const figures = figuresOf(id) ?? usual
  const maxOutputTokens = options.maxOutputTokens ?? figures.maxOutputTokens
  return {
    contextWindow: options.contextWindow ?? figures.contextWindow,
    maxOutputTokens,
    defaultOutputTokens: Math.min(options.defaultOutputTokens ?? usualOutputTokens, maxOutputTokens),
  }
}
