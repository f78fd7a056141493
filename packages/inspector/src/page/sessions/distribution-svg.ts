import { counted, many } from '../../figures.ts'
import type { ColorName } from '../common/colors.ts'
import { SvgWriter } from '../common/svg.ts'
import type { Histogram, WordCount } from './distribution.ts'
import { edgeText, rangeText } from './figure-text.ts'
import type { FigureName } from './row-kinds.ts'

type ColorOf = (name: ColorName) => string

const width = 640
const margin = 24
const top = 48

/** A histogram as a picture: its bars with what each stands for, its edges and how many sessions the highest bar has. */
export function svgOfHistogram(title: string, figure: FigureName, { bins, scale }: Histogram, color: ColorOf): string {
  const height = 300
  const bottom = height - 40
  const svg = new SvgWriter(width, height, color('paper'), title)
  svg.text(margin, 30, `${title}, ${scale} scale`, { color: color('ink'), size: 16, isBold: true })
  const highest = Math.max(1, ...bins.map(({ count }) => count))
  const step = (width - 2 * margin) / Math.max(1, bins.length)
  for (const [index, bin] of bins.entries()) {
    const tall = ((bottom - top) * bin.count) / highest
    const name = `${rangeText(figure, bin)}: ${many(bin.count, 'session')}`
    svg.rect(margin + index * step + 1, bottom - tall, step - 2, tall, color('series-1'), name)
  }
  const soft = { color: color('soft'), size: 12 }
  svg.line([at(margin, bottom), at(width - margin, bottom)], { color: color('soft'), width: 1 })
  svg.text(margin, bottom + 20, edgeText(figure, bins[0]?.from ?? 0), soft)
  svg.text(width - margin, bottom + 20, edgeText(figure, bins.at(-1)?.below ?? 0), { ...soft, anchor: 'end' })
  svg.text(width - margin, 30, `highest bar: ${many(highest, 'session')}`, { ...soft, anchor: 'end' })
  return svg.end()
}

/** How often each word is there, as a picture of bars with their names and counts. */
export function svgOfWords(
  title: string,
  counts: readonly (WordCount & { readonly color: ColorName })[],
  color: ColorOf,
): string {
  const line = 24
  const svg = new SvgWriter(width, top + counts.length * line + margin, color('paper'), title)
  svg.text(margin, 30, title, { color: color('ink'), size: 16, isBold: true })
  const highest = Math.max(1, ...counts.map(({ count }) => count))
  const left = 220
  for (const [index, { word, count, color: own }] of counts.entries()) {
    const y = top + index * line
    svg.text(margin, y + 14, word.length > 30 ? `${word.slice(0, 29)}…` : word, { color: color('ink') })
    svg.rect(left, y, ((width - left - 90) * count) / highest, 18, color(own), `${word}: ${many(count, 'session')}`)
    svg.text(width - margin, y + 14, counted(count), { color: color('ink'), anchor: 'end' })
  }
  return svg.end()
}

function at(x: number, y: number): { readonly x: number; readonly y: number } {
  return { x, y }
}
