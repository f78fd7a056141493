import { counted, many } from '@halting/analysis/words'
import type { ColorName } from '../common/colors.ts'
import { barRows } from '../picture/bars.ts'
import { blockOfHeight, paragraph, type Block } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import type { Histogram, WordCount } from './distribution.ts'
import { edgeText, rangeText } from './figure-text.ts'
import type { FigureName } from './row-kinds.ts'

const [width, plotHeight] = [640, 220] as const

/** The subject of a distribution: its name, the number of sessions, and the active filters. */
export interface DistributionSubject {
  readonly title: string
  readonly sessions: number
  readonly about: readonly string[]
}

/** A picture of a histogram: its bars with tooltips, its range, and the number of sessions of the highest bar. */
export function pictureOfHistogram(
  { title, sessions, about }: DistributionSubject,
  figure: FigureName,
  { bins, scale }: Histogram,
): Picture {
  const highest = Math.max(1, ...bins.map(({ count }) => count))
  return {
    title: `${title} of ${many(sessions, 'session')}`,
    about: [...about, `Scale: ${scale}; the highest bar is ${many(highest, 'session')}.`],
    width,
    blocks: [histogramBlock(figure, bins, highest)],
  }
}

function histogramBlock(figure: FigureName, bins: Histogram['bins'], highest: number): Block {
  return blockOfHeight(plotHeight, ({ svg, color }, { left, top, width: wide, height }) => {
    const bottom = top + height - 24
    const step = wide / Math.max(1, bins.length)
    for (const [index, bin] of bins.entries()) {
      const tall = ((bottom - top) * bin.count) / highest
      const name = `${rangeText(figure, bin)}: ${many(bin.count, 'session')}`
      svg.rect(left + index * step + 1, bottom - tall, step - 2, tall, color('series-1'), name)
    }
    const soft = { color: color('soft'), size: 12 }
    const ground = [
      { x: left, y: bottom },
      { x: left + wide, y: bottom },
    ]
    svg.line(ground, { color: color('soft'), width: 1 })
    svg.text(left, bottom + 18, edgeText(figure, bins[0]?.from ?? 0), soft)
    svg.text(left + wide, bottom + 18, edgeText(figure, bins.at(-1)?.below ?? 0), { ...soft, anchor: 'end' })
  })
}

/** More bars would not be distinguishable. */
const maxWords = 60

/** A picture of word counts as bars. */
export function pictureOfWords(
  { title, sessions, about }: DistributionSubject,
  counts: readonly (WordCount & { readonly color: ColorName })[],
): Picture {
  const highest = Math.max(1, ...counts.map(({ count }) => count))
  const shownCounts = counts.slice(0, maxWords)
  const left = counts.length - shownCounts.length
  const all = shownCounts.map(({ word, count, color }) => ({
    label: word,
    share: count / highest,
    value: counted(count),
    color,
  }))
  return {
    title: `${title} of ${many(sessions, 'session')}`,
    about,
    width,
    blocks: [barRows(all), ...(left === 0 ? [] : [paragraph(`${counted(left)} more are not in this picture.`)])],
  }
}
