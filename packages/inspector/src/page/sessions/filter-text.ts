import {
  rangeDimensions,
  withFlag,
  withRange,
  withWord,
  wordDimensions,
  type FlagDimension,
  type RangeDimension,
  type SessionFilter,
  type WordDimension,
} from './filter.ts'
import { visible } from '@halting/analysis/words'
import { rangeText } from './figure-text.ts'
import { figureNames, standings } from './row-kinds.ts'

/** One condition of a filter in words, and the filter without it. */
export interface FilterChip {
  readonly text: string
  readonly without: SessionFilter
}

const rangeTitles: { readonly [dimension in RangeDimension]: string } = {
  ...figureNames,
  changedAt: 'changed',
}

const flagTexts: { readonly [flag in FlagDimension]: string } = {
  live: 'running',
  problem: 'with a problem or an unknown price',
  outlier: 'outliers only',
}

/** A word for display: a status in words, or a placeholder for an empty one. */
export function wordLabel(dimension: WordDimension, word: string): string {
  // Words of this dimension are usually keys of `standings`, but an address may contain others.
  if (dimension === 'standing') return Object.entries(standings).find(([name]) => name === word)?.[1] ?? visible(word)
  return word === '' ? '(none)' : visible(word)
}

/** All conditions of a filter. */
export function filterChips(filter: SessionFilter): readonly FilterChip[] {
  const text = filter.text.trim()
  return [
    ...(text === '' ? [] : [{ text: `has “${visible(text)}”`, without: { ...filter, text: '' } }]),
    ...wordDimensions.flatMap((dimension) =>
      (filter.words[dimension] ?? []).map((word) => ({
        text: `${dimension === 'standing' ? '' : `${dimension}: `}${wordLabel(dimension, word)}`,
        without: withWord(filter, dimension, word),
      })),
    ),
    ...rangeDimensions.flatMap((dimension) => {
      const range = filter.ranges[dimension]
      if (range === undefined) return []
      return [
        {
          text: `${rangeTitles[dimension]}: ${rangeText(dimension, range)}`,
          without: withRange(filter, dimension, undefined),
        },
      ]
    }),
    ...filter.flags.map((flag) => ({ text: flagTexts[flag], without: withFlag(filter, flag, false) })),
  ]
}
