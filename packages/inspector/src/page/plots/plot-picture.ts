import { stacked, blockOfHeight, type Block, type Pen, type Place } from '../picture/block.ts'
import { legendBlock } from '../picture/legend.ts'
import type { Picture } from '../picture/picture.ts'
import type { SvgPoint } from '../picture/svg.ts'
import { fitText, textWidth } from '../picture/text-width.ts'
import { ticks } from '../session/axis.ts'
import { verticalLineLabels, horizontalLineLabels } from './line-labels.ts'
import {
  fullRange,
  axisLabels,
  drawnSeries,
  valueText,
  minStep,
  legendLabel,
  placeText,
  topOfScale,
  type DrawnSeries,
  type Plot,
  type VisibleRange,
  type Unit,
} from './plot.ts'

const [plotHeight, axisHeight, textSize] = [340, 48, 12] as const

interface Frame extends Pen {
  readonly plot: Plot
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
  readonly seen: VisibleRange
  readonly xOf: (value: number) => number
  readonly yOf: (value: number, side: 'left' | 'right') => number
  readonly tops: { readonly left: number; readonly right: number }
}

/** A picture of the visible part of a plot, with its description, legend and axes. */
export function pictureOfPlot(plot: Plot, seen: VisibleRange, hidden: ReadonlySet<string>): Picture {
  const all = fullRange(plot)
  const isPart = seen.from > all.from || seen.to < all.to
  const part = `Visible part: ${axisLabels([seen.from, seen.to], plot.x.unit).join(' to ')} (${plot.x.label}).`
  const left = plot.series.filter(({ label }) => hidden.has(label)).map(({ label }) => label)
  return {
    title: plot.name,
    about: [plot.about, ...(isPart ? [part] : []), ...(left.length === 0 ? [] : [`Switched off: ${left.join(', ')}.`])],
    width: 960,
    blocks: [plotBlock(plot, seen, hidden)],
  }
}

/** The legend, the axes and the drawing. */
export function plotBlock(plot: Plot, seen: VisibleRange, hidden: ReadonlySet<string>): Block {
  const drawn = drawnSeries(plot, hidden)
  return stacked([
    legendBlock(drawn.map((series) => ({ label: legendLabel(plot, series), color: series.color }))),
    blockOfHeight(plotHeight, (pen, place) => drawPlot({ plot, drawn, seen }, pen, place)),
  ])
}

interface Drawn {
  readonly plot: Plot
  readonly drawn: readonly DrawnSeries[]
  readonly seen: VisibleRange
}

function drawPlot({ plot, drawn, seen }: Drawn, pen: Pen, place: Place): void {
  const hasRight = drawn.some(({ side }) => side === 'right')
  const tops = { left: topOfScale(plot, drawn, 'left', seen), right: topOfScale(plot, drawn, 'right', seen) }
  const room = (side: 'left' | 'right'): number => axisRoom(plot[side], tops[side])
  const left = place.left + room('left')
  const right = place.left + place.width - (hasRight ? room('right') : 8)
  // The highest label of an axis needs half of its height above it.
  const [top, bottom] = [place.top + textSize, place.top + place.height - axisHeight]
  const frame: Frame = {
    ...pen,
    plot,
    top,
    bottom,
    left,
    right,
    seen,
    tops,
    xOf: (value) => left + ((value - seen.from) / (seen.to - seen.from)) * (right - left),
    yOf: (value, side) => bottom - (value / tops[side]) * (bottom - top),
  }
  axes(frame, place, hasRight)
  pen.svg.clipped(left, top - 1, right - left, bottom - top + 2, () => {
    // From the top of a stack downwards: lower series cover upper ones.
    for (const series of drawn.toReversed()) drawSeries(frame, series)
  })
  lines(frame)
}

/** The width of an axis with its name and tick labels. */
function axisRoom(unit: Unit, top: number): number {
  const texts = axisLabels(ticks({ from: 0, to: top }, 6, minStep(unit)), unit)
  return 24 + Math.max(0, ...texts.map((text) => textWidth(text, { size: textSize }))) + 8
}

function axes(frame: Frame, place: Place, hasRight: boolean): void {
  const { svg, plot, color, left, right, top, bottom, seen, xOf, yOf, tops } = frame
  const soft = color('soft')
  const onLeft = ticks({ from: 0, to: tops.left }, 6, minStep(plot.left))
  const leftTexts = axisLabels(onLeft, plot.left)
  for (const [index, value] of onLeft.entries()) {
    const y = yOf(value, 'left')
    svg.line(
      [
        { x: left, y },
        { x: right, y },
      ],
      { color: color('line'), width: 1 },
    )
    svg.text(left - 8, y + 4, leftTexts[index] ?? '', { color: soft, anchor: 'end' })
  }
  const onRight = hasRight ? ticks({ from: 0, to: tops.right }, 6, minStep(plot.right)) : []
  const rightTexts = axisLabels(onRight, plot.right)
  for (const [index, value] of onRight.entries())
    svg.text(right + 8, yOf(value, 'right') + 4, rightTexts[index] ?? '', { color: soft })
  const { names, values, unit } = plot.x
  const places = names === undefined ? ticks(seen, 8, minStep(unit)) : values
  const texts = names ?? axisLabels(places, unit)
  let free = -Infinity
  for (const [index, value] of places.entries()) {
    if (value < seen.from || value > seen.to) continue
    const text = fitText(texts[index] ?? '', names === undefined ? Infinity : (right - left) / names.length, {
      size: 12,
    })
    const half = textWidth(text, { size: textSize }) / 2
    // At the edges, labels stay within the picture.
    const x = Math.max(place.left + half, Math.min(place.left + place.width - half, xOf(value)))
    if (x - half < free) continue
    free = x + half + 8
    svg.text(x, bottom + 18, text, { color: soft, anchor: 'middle' })
  }
  svg.line(
    [
      { x: left, y: top },
      { x: left, y: bottom },
      { x: right, y: bottom },
    ],
    { color: soft, width: 1 },
  )
  svg.text((left + right) / 2, bottom + 40, plot.x.label, { color: soft, anchor: 'middle' })
  const upward = { color: soft, anchor: 'middle', isUpward: true } as const
  svg.text(place.left + 14, (top + bottom) / 2, unitNames[plot.left], upward)
  if (hasRight) svg.text(place.left + place.width - 4, (top + bottom) / 2, unitNames[plot.right], upward)
}

const unitNames = { tokens: 'tokens', usd: 'US dollars', ms: 'time', count: 'number', share: 'share' } as const

function drawSeries(frame: Frame, series: DrawnSeries): void {
  const { svg, plot, color, xOf, yOf } = frame
  const { label, side, shape, base, tops, isDashed, values } = series
  const ink = color(series.color)
  const near = nearPlaces(plot.x.values, frame.seen)
  if (shape === 'bars') {
    const width = barWidth(frame, near.length)
    for (const index of near) {
      const [end, start] = [tops[index] ?? null, base?.[index] ?? 0]
      if (end === null || end === start) continue
      const name = `${placeText(plot, index)}: ${label} ${valueText(values[index] ?? null, plot[side])}`
      const y = yOf(end, side)
      svg.rect(xOf(plot.x.values[index] ?? 0) - width / 2, y, width, yOf(start, side) - y, ink, name)
    }
    return
  }
  for (const piece of pieces(near, tops)) {
    const points = piece.map((index) => ({ x: xOf(plot.x.values[index] ?? 0), y: yOf(tops[index] ?? 0, side) }))
    const line = thinPoints(shape === 'steps' ? stepped(points, frame.right) : points)
    if (shape === 'area') {
      const ground = thinPoints(
        piece.map((index) => ({ x: xOf(plot.x.values[index] ?? 0), y: yOf(base?.[index] ?? 0, side) })),
      )
      svg.area([...line, ...ground.toReversed()], ink, label)
      // Stacked areas have an edge in the background colour, so that they are distinguishable without colours.
      svg.line(line, { color: color('paper'), width: 1 })
    } else svg.line(line, { color: ink, width: 2, isDashed }, label)
    // Lines with few values also show them as dots.
    if (near.length <= 40 && shape !== 'area')
      for (const index of piece) {
        const name = `${placeText(plot, index)}: ${label} ${valueText(values[index] ?? null, plot[side])}`
        svg.circle(xOf(plot.x.values[index] ?? 0), yOf(tops[index] ?? 0, side), 3, ink, name)
      }
  }
}

function barWidth({ left, right, seen }: Frame, count: number): number {
  return Math.max(1, Math.min(64, (0.8 * (right - left)) / Math.max(1, count, seen.to - seen.from)))
}

/** The visible indices and one on each side, so that lines continue to the edge. */
function nearPlaces(values: readonly number[], { from, to }: VisibleRange): readonly number[] {
  const places: number[] = []
  for (const [index, value] of values.entries()) {
    const [next, before] = [values[index + 1] ?? value, values[index - 1] ?? value]
    if (next >= from && before <= to) places.push(index)
  }
  return places
}

/** Sequences of consecutive values without gaps. */
function pieces(places: readonly number[], tops: readonly (number | null)[]): readonly (readonly number[])[] {
  const found: number[][] = []
  let open: number[] | undefined
  for (const index of places) {
    if ((tops[index] ?? null) === null) open = undefined
    else if (open === undefined) found.push((open = [index]))
    else open.push(index)
  }
  return found
}

/** Step lines: a value applies until the next one, the last one to the edge. */
function stepped(points: readonly SvgPoint[], edge: number): readonly SvgPoint[] {
  return points.flatMap((point, index) => {
    const end = points[index + 1]?.x ?? Math.max(edge, point.x)
    return [point, { x: end, y: point.y }]
  })
}

/** Keeps the first, lowest, highest and last of the points in one pixel column: a picture of a long session stays small and looks the same. */
export function thinPoints(points: readonly SvgPoint[]): readonly SvgPoint[] {
  if (points.length < 2_000) return points
  const remaining: SvgPoint[] = []
  let column: SvgPoint[] = []
  const close = (): void => {
    const [first] = column
    const last = column.at(-1)
    if (first === undefined || last === undefined) return
    let [low, high] = [first, first]
    for (const point of column) {
      if (point.y < low.y) low = point
      if (point.y > high.y) high = point
    }
    const extremes = new Set([first, low, high, last])
    remaining.push(...column.filter((point) => extremes.has(point)))
  }
  for (const point of points) {
    if (column[0] !== undefined && Math.floor(point.x) !== Math.floor(column[0].x)) {
      close()
      column = []
    }
    column.push(point)
  }
  close()
  return remaining
}

function lines({ svg, plot, color, left, right, top, bottom, seen, xOf, yOf, tops }: Frame): void {
  const style = { color: color('ink'), halo: color('paper'), size: textSize }
  const marks = plot.marks
    .filter(({ at }) => at >= seen.from && at <= seen.to)
    .map(({ at, label }) => ({ x: xOf(at), label }))
  for (const { x, label } of marks) {
    const line = [
      { x, y: top },
      { x, y: bottom },
    ]
    svg.line(line, { color: color('kind-compaction'), isDashed: true }, label)
  }
  const levels = plot.levels.filter(({ value }) => value <= tops.left)
  for (const { value, label } of levels) {
    const line = [
      { x: left, y: yOf(value, 'left') },
      { x: right, y: yOf(value, 'left') },
    ]
    svg.line(line, { color: color('bad'), width: 2 }, label)
  }
  for (const { text, x, anchor } of verticalLineLabels(marks, { left, right }, textSize))
    svg.text(x, top + 12, text, { ...style, anchor })
  const onLevels = horizontalLineLabels(
    levels.map(({ value, label }) => `${label}: ${valueText(value, plot.left)}`),
    { left, right },
    textSize,
  )
  for (const [index, { text, x, anchor }] of onLevels.entries())
    svg.text(x, yOf(levels[index]?.value ?? 0, 'left') - 5, text, { ...style, anchor })
}
