import { counted, elapsed, money } from '@halting/analysis/words'
import type { ColorName } from '../common/colors.ts'

// A plot as data: the canvas, the table, the picture and the tests are made of the same.

/** What numbers of a plot are. A share is from 0 to 1. */
export type Unit = 'tokens' | 'usd' | 'ms' | 'count' | 'share'

export interface PlotSeries {
  readonly label: string
  readonly color: ColorName
  /** Steps keep a value until the next one. */
  readonly shape: 'area' | 'bars' | 'line' | 'steps'
  /** Its own, not stacked: one for each place; null where there is none. */
  readonly values: readonly (number | null)[]
  /** By which of the two scales it is drawn. */
  readonly side: 'left' | 'right'
  readonly isDashed: boolean
}

export interface Plot {
  readonly name: string
  /** A sentence: what is seen, and what is not in the figures. */
  readonly about: string
  readonly x: {
    readonly label: string
    readonly unit: Unit
    /** Never falling. */
    readonly values: readonly number[]
    /** What the places are called, where they are no numbers. */
    readonly names?: readonly string[]
  }
  readonly left: Unit
  readonly right: Unit
  /** Areas and bars stand on those before them. */
  readonly isStacked: boolean
  readonly series: readonly PlotSeries[]
  /** Places on x that are marked by a line. */
  readonly marks: readonly { readonly at: number; readonly label: string }[]
  /** Values on the left scale that are marked by a line, such as a limit. */
  readonly levels: readonly { readonly value: number; readonly label: string }[]
}

/** What is seen of x. */
export interface Seen {
  readonly from: number
  readonly to: number
}

/** A series as it is drawn: what is stacked begins where the one below it ends. */
export interface DrawnSeries extends PlotSeries {
  /** Where areas and bars begin; null for the ground. */
  readonly base: readonly number[] | null
  /** Where they end. */
  readonly tops: readonly (number | null)[]
}

/** The series that are shown, with what is stacked summed up; from the ground upwards. */
export function drawnOf(plot: Plot, hidden: ReadonlySet<string>): readonly DrawnSeries[] {
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

/** All of x. Bars at the edges are seen whole. */
export function allOf({ x: { values }, series }: Plot): Seen {
  const first = values[0] ?? 0
  const last = values.at(-1) ?? first
  const hasBars = series.some(({ shape }) => shape === 'bars')
  const room = hasBars || first === last ? 0.5 : 0
  return { from: first - room, to: last + room }
}

/** Zooms about the middle, by a factor below 1 to see more closely; never beyond what there is. */
export function zoomedBy(seen: Seen, all: Seen, factor: number): Seen {
  const width = Math.min(all.to - all.from, (seen.to - seen.from) * factor)
  return placedIn(all, (seen.from + seen.to) / 2 - width / 2, width)
}

/** Moves by this share of what is seen. */
export function movedBy(seen: Seen, all: Seen, share: number): Seen {
  const width = seen.to - seen.from
  return placedIn(all, seen.from + width * share, width)
}

function placedIn(all: Seen, from: number, width: number): Seen {
  const start = Math.max(all.from, Math.min(from, all.to - width))
  return { from: start, to: start + width }
}

/** Where a scale ends: a little above all that is seen. A level that is far above would leave nothing to see of the rest, and is not drawn. */
export function topOf(plot: Plot, drawn: readonly DrawnSeries[], side: 'left' | 'right', { from, to }: Seen): number {
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

/** A limit that is more times as high as all that was used. */
const farAbove = 4

/** A round number with a little room below it. */
function niceAbove(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const wanted = value * 1.02
  return ([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= wanted) ?? 12) * power
}

/** A value in words: exact enough for a table. */
export function inWords(value: number | null, unit: Unit): string {
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

/** A value beside an axis: short. */
export function onAxis(value: number, unit: Unit): string {
  if (unit === 'share') return `${Math.round(value * 100)} %`
  if (unit === 'ms' && value === 0) return '0'
  if (unit !== 'tokens' && unit !== 'count') return inWords(value, unit)
  if (Math.abs(value) >= 1e6) return `${shortest(value / 1e6)}M`
  return Math.abs(value) >= 1e4 ? thousands(value) : Number.isInteger(value) ? counted(value) : shortest(value)
}

function thousands(value: number): string {
  return `${shortest(value / 1e3)}k`
}

/** The values beside one axis, written alike. Dollars have as many digits as the finest of them needs, and at least cents. */
export function allOnAxis(values: readonly number[], unit: Unit): readonly string[] {
  if (unit !== 'usd') {
    const inThousands = (unit === 'tokens' || unit === 'count') && values.some((value) => value >= 1e4)
    return values.map((value) => (inThousands && value >= 1e3 && value < 1e6 ? thousands(value) : onAxis(value, unit)))
  }
  const digits = Math.max(2, ...values.map(digitsOf))
  return values.map((value) => {
    const [whole = '', fraction = ''] = value.toFixed(digits).split('.')
    return `$${counted(Number(whole))}.${fraction}`
  })
}

/** Decimals of a round number; what lies beyond is an error of addition. */
function digitsOf(value: number): number {
  return value.toFixed(9).replace(/0+$/, '').split('.')[1]?.length ?? 0
}

/** Between places of a scale there are at least so many: what is counted has no halves. */
export function leastStep(unit: Unit): number {
  return unit === 'count' || unit === 'tokens' ? 1 : 0
}

function shortest(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** What a series is called in a legend: where there are two scales, by which it is read. */
export function legendLabel({ series }: Pick<Plot, 'series'>, { label, side }: PlotSeries): string {
  const hasLeft = series.some((each) => each.side === 'left')
  return side === 'right' && hasLeft ? `${label} (right scale)` : label
}

/** The place of a plot nearest to this one; -1 where there is none. */
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

/** A place in words: its name, or what it is counted by. */
export function placeInWords({ x }: Pick<Plot, 'x'>, index: number): string {
  const name = x.names?.[index]
  if (name !== undefined) return name
  const value = x.values[index] ?? 0
  return x.unit === 'count' ? `${x.label} ${inWords(value, 'count')}` : inWords(value, x.unit)
}
