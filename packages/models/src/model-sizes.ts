import type { Model } from '@halting/core'
import { figuresOf } from './prices/catalogue.ts'
import type { ModelFigures } from './prices/catalogue.ts'

interface SizeOptions {
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly defaultOutputTokens?: number | undefined
}

/** What is asked for unless a reply was cut, where nobody said otherwise. */
const usualOutputTokens = 32_000

/** The sizes of a model: as its options say, else from the price snapshot, else those that are usual for its kind. */
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
