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

/** One thing that a filter asks, in words, and the filter without it. */
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

/** A word as it is shown: how a session stands is a sentence, a folder may be unknown. */
export function wordText(dimension: WordDimension, word: string): string {
  // The words of this dimension are the names of `standings`; an address may say others.
  if (dimension === 'standing') return Object.entries(standings).find(([name]) => name === word)?.[1] ?? visible(word)
  return word === '' ? '(none)' : visible(word)
}

/** All that a filter asks, one by one. */
export function filterChips(filter: SessionFilter): readonly FilterChip[] {
  const text = filter.text.trim()
  return [
    ...(text === '' ? [] : [{ text: `has “${visible(text)}”`, without: { ...filter, text: '' } }]),
    ...wordDimensions.flatMap((dimension) =>
      (filter.words[dimension] ?? []).map((word) => ({
        text: `${dimension === 'standing' ? '' : `${dimension}: `}${wordText(dimension, word)}`,
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
