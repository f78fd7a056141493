import { counted, elapsed, money } from '@halting/analysis/words'
import type { ColorName } from '../common/colors.ts'

// A plot as data for the canvas, the table, the picture and the tests.

/** The unit of an axis. A share is from 0 to 1. */
export type Unit = 'tokens' | 'usd' | 'ms' | 'count' | 'share'

export interface PlotSeries {
  readonly label: string
  readonly color: ColorName
  /** Steps hold a value until the next one. */
  readonly shape: 'area' | 'bars' | 'line' | 'steps'
  /** One value per place, not stacked; null for none. */
  readonly values: readonly (number | null)[]
  /** The scale it is drawn by. */
  readonly side: 'left' | 'right'
  readonly isDashed: boolean
}

export interface Plot {
  readonly name: string
  /** A sentence on what is shown, and what is not included. */
  readonly about: string
  readonly x: {
    readonly label: string
    readonly unit: Unit
    /** In ascending order. */
    readonly values: readonly number[]
    /** Names of the places, if they are not numbers. */
    readonly names?: readonly string[]
  }
  readonly left: Unit
  readonly right: Unit
  /** Whether areas and bars are stacked. */
  readonly isStacked: boolean
  readonly series: readonly PlotSeries[]
  /** Places on the x axis that are marked by a line. */
  readonly marks: readonly { readonly at: number; readonly label: string }[]
  /** Values on the left scale that are marked by a line, such as a limit. */
  readonly levels: readonly { readonly value: number; readonly label: string }[]
}

/** The visible range of the x axis. */
export interface VisibleRange {
  readonly from: number
  readonly to: number
}

/** A series for drawing: a stacked one begins where the one below it ends. */
export interface DrawnSeries extends PlotSeries {
  /** Lower edge of areas and bars; null for zero. */
  readonly base: readonly number[] | null
  /** Upper edge. */
  readonly tops: readonly (number | null)[]
}

/** The visible series, with stacked values summed up; from bottom to top. */
export function drawnSeries(plot: Plot, hidden: ReadonlySet<string>): readonly DrawnSeries[] {
  let ground: readonly number[] | null = null
  return plot.series
    .filter(({ label }) => !hidden.has(label))
    .map((series): DrawnSeries => {
      const isStacked = plot.isStacked && (series.shape === 'area' || series.shape === 'bars')
      if (!isStacked) return { ...series, base: null, tops: series.values }
      const base: readonly number[] | null = ground
      const tops = series.values.map((value, index) => (value ?? 0) + (base?.[index] ?? 0))
      ground = tops
      return { ...series, base, tops }
    })
}

/** The whole range of the x axis, with room for whole bars at the edges. */
export function fullRange({ x: { values }, series }: Plot): VisibleRange {
  const first = values[0] ?? 0
  const last = values.at(-1) ?? first
  const hasBars = series.some(({ shape }) => shape === 'bars')
  const room = hasBars || first === last ? 0.5 : 0
  return { from: first - room, to: last + room }
}

/** Zooms around the middle; a factor below 1 zooms in. Never leaves the full range. */
export function zoomedBy(seen: VisibleRange, all: VisibleRange, factor: number): VisibleRange {
  const width = Math.min(all.to - all.from, (seen.to - seen.from) * factor)
  return placedIn(all, (seen.from + seen.to) / 2 - width / 2, width)
}

/** Scrolls by this share of the visible range. */
export function movedBy(seen: VisibleRange, all: VisibleRange, share: number): VisibleRange {
  const width = seen.to - seen.from
  return placedIn(all, seen.from + width * share, width)
}

function placedIn(all: VisibleRange, from: number, width: number): VisibleRange {
  const start = Math.max(all.from, Math.min(from, all.to - width))
  return { from: start, to: start + width }
}

/** The end of a scale: slightly above all visible values. A level far above them is not drawn, because it would squeeze everything else. */
export function topOfScale(
  plot: Plot,
  drawn: readonly DrawnSeries[],
  side: 'left' | 'right',
  { from, to }: VisibleRange,
): number {
  if (plot[side] === 'share') return 1
  let top = 0
  for (const series of drawn) {
    if (series.side !== side) continue
    for (const [index, value] of series.tops.entries()) {
      const at = plot.x.values[index] ?? 0
      if (value !== null && value > top && at >= from && at <= to) top = value
    }
  }
  const highest = top * farAbove
  if (side === 'left') for (const { value } of plot.levels) if (value <= highest && value > top) top = value
  return niceAbove(top)
}

/** Levels above this multiple of the highest value are not drawn. */
const farAbove = 4

/** The next round number, with a little room. */
function niceAbove(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const top = value * 1.02
  return ([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= top) ?? 12) * power
}

/** A value in words, exact enough for a table. */
export function valueText(value: number | null, unit: Unit): string {
  if (value === null) return '–'
  switch (unit) {
    case 'usd':
      return money(value)
    case 'ms':
      return elapsed(value)
    case 'share':
      return `${(value * 100).toFixed(1)} %`
    case 'tokens':
    case 'count':
      return Number.isInteger(value) ? counted(value) : String(Math.round(value * 100) / 100)
  }
}

/** A short value for an axis. */
export function axisLabel(value: number, unit: Unit): string {
  if (unit === 'share') return `${Math.round(value * 100)} %`
  if (unit === 'ms' && value === 0) return '0'
  if (unit !== 'tokens' && unit !== 'count') return valueText(value, unit)
  if (Math.abs(value) >= 1e6) return `${shortNumber(value / 1e6)}M`
  return Math.abs(value) >= 1e4 ? thousands(value) : Number.isInteger(value) ? counted(value) : shortNumber(value)
}

function thousands(value: number): string {
  return `${shortNumber(value / 1e3)}k`
}

/** The labels of one axis in a uniform format. Dollars have as many digits as needed, and at least cents. */
export function axisLabels(values: readonly number[], unit: Unit): readonly string[] {
  if (unit !== 'usd') {
    const inThousands = (unit === 'tokens' || unit === 'count') && values.some((value) => value >= 1e4)
    return values.map((value) =>
      inThousands && value >= 1e3 && value < 1e6 ? thousands(value) : axisLabel(value, unit),
    )
  }
  const digits = Math.max(2, ...values.map(digitsOf))
  return values.map((value) => {
    const [whole = '', fraction = ''] = value.toFixed(digits).split('.')
    return `$${counted(Number(whole))}.${fraction}`
  })
}

/** Decimals of a round number; more digits are floating-point errors. */
function digitsOf(value: number): number {
  return value.toFixed(9).replace(/0+$/, '').split('.')[1]?.length ?? 0
}

/** The minimum step between ticks: counts have no fractions. */
export function minStep(unit: Unit): number {
  return unit === 'count' || unit === 'tokens' ? 1 : 0
}

function shortNumber(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** The name of a series in a legend, with its scale when there are two. */
export function legendLabel({ series }: Pick<Plot, 'series'>, { label, side }: PlotSeries): string {
  const hasLeft = series.some((each) => each.side === 'left')
  return side === 'right' && hasLeft ? `${label} (right scale)` : label
}

/** The index of the place nearest to this one; -1 for none. */
export function nearest({ x: { values } }: Pick<Plot, 'x'>, at: number): number {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((values[middle] ?? 0) < at) low = middle + 1
    else high = middle
  }
  const [before, after] = [values[low - 1], values[low]]
  if (after === undefined || (before !== undefined && at - before < after - at)) return low - 1
  return low
}

/** A place in words: its name, or its position. */
export function placeText({ x }: Pick<Plot, 'x'>, index: number): string {
  const name = x.names?.[index]
  if (name !== undefined) return name
  const value = x.values[index] ?? 0
  return x.unit === 'count' ? `${x.label} ${valueText(value, 'count')}` : valueText(value, x.unit)
}
