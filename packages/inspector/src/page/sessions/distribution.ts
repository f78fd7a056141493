import type { Range } from './filter.ts'
import type { FigureName } from './row-kinds.ts'

/** One bar of a histogram: the number of values in its range. */
export interface Bin extends Range {
  readonly count: number
}

export interface Histogram {
  /** In order, without gaps; each value is in exactly one. */
  readonly bins: readonly Bin[]
  readonly scale: 'logarithmic' | 'linear'
}

const maxBins = 24
/** If the largest value is this many times the smallest, a linear scale would show one bar. */
const farApart = 20

/** A histogram of non-negative values, with round numbers as edges. On a logarithmic scale, zeros get a bar of their own in front. */
export function histogramOf(values: readonly number[], figure: FigureName): Histogram {
  const positive = values.filter((value) => value > 0)
  if (positive.length === 0) {
    return { bins: values.length === 0 ? [] : [{ below: smallestOf(figure), count: values.length }], scale: 'linear' }
  }
  const [lowest, highest] = bounds(positive)
  const isLogarithmic = highest / lowest >= farApart
  if (!isLogarithmic) {
    const from = values.length > positive.length ? 0 : lowest
    return { bins: filled(linearEdges(from, highest, figure), values), scale: 'linear' }
  }
  const edges = figure === 'activeMs' ? timeEdges(lowest, highest) : logarithmicEdges(lowest, highest)
  const bins = filled(edges, positive)
  const zeros = values.length - positive.length
  const zero: Bin[] = zeros === 0 ? [] : [{ below: edges[0] ?? lowest, count: zeros }]
  return { bins: [...zero, ...bins], scale: 'logarithmic' }
}

function smallestOf(figure: FigureName): number {
  return figure === 'costUsd' ? 0.0001 : 1
}

function bounds(values: readonly number[]): readonly [number, number] {
  let lowest = Infinity
  let highest = -Infinity
  for (const value of values) {
    lowest = Math.min(lowest, value)
    highest = Math.max(highest, value)
  }
  return [lowest, highest]
}

/** 1, 2, 5, 10 …; only powers of ten if that would be too many. The last edge is above all values. */
function logarithmicEdges(lowest: number, highest: number): readonly number[] {
  const first = Math.floor(Math.log10(lowest)) - 1
  const last = Math.ceil(Math.log10(highest)) + 1
  const steps = (last - first) * 3 > maxBins + 6 ? [1] : [1, 2, 5]
  const all: number[] = []
  // The edge is parsed from decimals, so that it is exactly the displayed number.
  for (let power = first; power <= last; power++) all.push(...steps.map((step) => Number(`${step}e${power}`)))
  return between(all, lowest, highest)
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const roundTimes: readonly number[] = [
  ...[0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30].map((each) => each * second),
  ...[1, 2, 5, 10, 30].map((each) => each * minute),
  ...[1, 2, 5, 12].map((each) => each * hour),
  ...[1, 2, 7, 30, 365].map((each) => each * day),
]

function timeEdges(lowest: number, highest: number): readonly number[] {
  const inTable = lowest >= (roundTimes[0] ?? 0) && highest < (roundTimes.at(-1) ?? 0)
  return inTable ? between(roundTimes, lowest, highest) : logarithmicEdges(lowest, highest)
}

/** The edges from the last one at or below all values to the first one above all values. */
function between(edges: readonly number[], lowest: number, highest: number): readonly number[] {
  const first = edges.findLastIndex((edge) => edge <= lowest)
  const last = edges.findIndex((edge) => edge > highest)
  return edges.slice(Math.max(0, first), last < 0 ? undefined : last + 1)
}

function linearEdges(lowest: number, highest: number, figure: FigureName): readonly number[] {
  // The step must be visible in the digits of an edge: values that are almost equal make one bar.
  const minStep = Math.max(figure === 'costUsd' ? 1e-9 : 1, highest * 1e-9)
  const step = roundStep(Math.max(minStep, (highest - lowest || highest) / 10))
  const about = Math.floor(lowest / step)
  const first = edge(about, step) > lowest ? about - 1 : about
  const edges = [edge(first, step)]
  for (let count = first + 1; (edges.at(-1) ?? 0) <= highest; count++) edges.push(edge(count, step))
  return edges
}

/** Removes floating-point errors. */
function edge(count: number, step: number): number {
  return Number((count * step).toPrecision(12))
}

function roundStep(about: number): number {
  const power = Math.floor(Math.log10(about))
  const step = [1, 2, 5, 10].find((each) => Number(`${each}e${power}`) >= about) ?? 10
  return Number(`${step}e${power}`)
}

function filled(edges: readonly number[], values: readonly number[]): readonly Bin[] {
  const counts = edges.slice(1).map(() => 0)
  for (const value of values) {
    const place = placeOf(value, edges)
    counts[place] = (counts[place] ?? 0) + 1
  }
  return counts.map((count, index) => ({ from: edges[index] ?? 0, below: edges[index + 1] ?? Infinity, count }))
}

/** Index of the last edge that is not above the value. */
function placeOf(value: number, edges: readonly number[]): number {
  let low = 0
  let high = edges.length - 1
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if ((edges[middle] ?? Infinity) <= value) low = middle
    else high = middle
  }
  return low
}

/** The number of rows with a word. */
export interface WordCount {
  readonly word: string
  readonly count: number
}

/** The most frequent words first; ties in alphabetical order. A row counts once per word. */
export function wordCounts(words: readonly (readonly string[])[]): readonly WordCount[] {
  const counts = new Map<string, number>()
  for (const ofRow of words) {
    for (const word of new Set(ofRow)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return [...counts]
    .map(([word, count]) => ({ word, count }))
    .toSorted((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1))
}
