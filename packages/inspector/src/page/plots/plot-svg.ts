import type { ColorName } from '../common/colors.ts'
import { SvgWriter, type SvgPoint } from '../common/svg.ts'
import { ticks } from '../session/axis.ts'
import {
  allOnAxis,
  drawnOf,
  inWords,
  leastStep,
  placeInWords,
  topOf,
  type DrawnSeries,
  type Plot,
  type Seen,
} from './plot.ts'

/** Colours of a picture by their names: those of the page, or of a test. */
export type ColorOf = (name: ColorName) => string

const size = { width: 960, height: 420, left: 84, right: 84, bottom: 52 }

interface Frame {
  readonly svg: SvgWriter
  readonly plot: Plot
  readonly color: ColorOf
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
  readonly seen: Seen
  readonly xOf: (value: number) => number
  readonly yOf: (value: number, side: 'left' | 'right') => number
  readonly tops: { readonly left: number; readonly right: number }
}

/** A plot as it is seen now: its title, its legend, its axes and what is drawn. */
export function svgOfPlot(plot: Plot, seen: Seen, hidden: ReadonlySet<string>, color: ColorOf): string {
  const drawn = drawnOf(plot, hidden)
  const svg = new SvgWriter(size.width, size.height, color('paper'), plot.name)
  svg.text(size.left, 26, plot.name, { color: color('ink'), size: 18, isBold: true })
  const top = legend(svg, drawn, color)
  const hasRight = drawn.some(({ side }) => side === 'right')
  const [left, right, bottom] = [size.left, size.width - (hasRight ? size.right : 24), size.height - size.bottom]
  const tops = { left: topOf(plot, drawn, 'left', seen), right: topOf(plot, drawn, 'right', seen) }
  const frame: Frame = {
    svg,
    plot,
    color,
    top,
    bottom,
    left,
    right,
    seen,
    tops,
    xOf: (value) => left + ((value - seen.from) / (seen.to - seen.from)) * (right - left),
    yOf: (value, side) => bottom - (value / tops[side]) * (bottom - top),
  }
  axes(frame, hasRight)
  svg.clipped(left, top - 1, right - left, bottom - top + 2, () => {
    // From the top of a stack downwards: what is below is drawn over it.
    for (const series of drawn.toReversed()) drawSeries(frame, series)
  })
  lines(frame)
  return svg.end()
}

/** Gives where it ends. */
function legend(svg: SvgWriter, drawn: readonly DrawnSeries[], color: ColorOf): number {
  let [x, y] = [size.left, 46]
  for (const { label, color: name } of drawn) {
    // Widths of letters are not known here: about half of their height.
    const width = 24 + label.length * 6.6
    if (x + width > size.width - 20 && x > size.left) [x, y] = [size.left, y + 18]
    svg.rect(x, y - 9, 12, 12, color(name)).text(x + 17, y + 1, label, { color: color('ink') })
    x += width + 8
  }
  return y + 22
}

function axes({ svg, plot, color, left, right, top, bottom, seen, xOf, yOf, tops }: Frame, hasRight: boolean): void {
  const soft = color('soft')
  const onLeft = ticks({ from: 0, to: tops.left }, 6, leastStep(plot.left))
  const leftTexts = allOnAxis(onLeft, plot.left)
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
  const onRight = hasRight ? ticks({ from: 0, to: tops.right }, 6, leastStep(plot.right)) : []
  const rightTexts = allOnAxis(onRight, plot.right)
  for (const [index, value] of onRight.entries())
    svg.text(right + 8, yOf(value, 'right') + 4, rightTexts[index] ?? '', { color: soft })
  const { names, values, unit } = plot.x
  const places = names === undefined ? ticks(seen, 8, leastStep(unit)) : values
  const texts = names ?? allOnAxis(places, unit)
  for (const [index, value] of places.entries()) {
    if (value < seen.from || value > seen.to) continue
    svg.text(xOf(value), bottom + 18, texts[index] ?? '', { color: soft, anchor: 'middle' })
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
  svg.text(18, (top + bottom) / 2, unitNames[plot.left], { color: soft, anchor: 'middle', isUpward: true })
  if (hasRight)
    svg.text(size.width - 14, (top + bottom) / 2, unitNames[plot.right], {
      color: soft,
      anchor: 'middle',
      isUpward: true,
    })
}

const unitNames = { tokens: 'tokens', usd: 'US dollars', ms: 'time', count: 'times', share: 'share' } as const

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
      const name = `${placeInWords(plot, index)}: ${label} ${inWords(values[index] ?? null, plot[side])}`
      const y = yOf(end, side)
      svg.rect(xOf(plot.x.values[index] ?? 0) - width / 2, y, width, yOf(start, side) - y, ink, name)
    }
    return
  }
  for (const piece of pieces(near, tops)) {
    const points = piece.map((index) => ({ x: xOf(plot.x.values[index] ?? 0), y: yOf(tops[index] ?? 0, side) }))
    const line = thinned(shape === 'steps' ? stepped(points, frame.right) : points)
    if (shape === 'area') {
      const ground = thinned(
        piece.map((index) => ({ x: xOf(plot.x.values[index] ?? 0), y: yOf(base?.[index] ?? 0, side) })),
      )
      svg.area([...line, ...ground.toReversed()], ink, label)
    } else svg.line(line, { color: ink, width: 2, isDashed }, label)
    // A line of few places says where they are.
    if (near.length <= 40 && shape !== 'area')
      for (const index of piece) {
        const name = `${placeInWords(plot, index)}: ${label} ${inWords(values[index] ?? null, plot[side])}`
        svg.circle(xOf(plot.x.values[index] ?? 0), yOf(tops[index] ?? 0, side), 3, ink, name)
      }
  }
}

function barWidth({ left, right, seen }: Frame, count: number): number {
  return Math.max(1, Math.min(64, (0.8 * (right - left)) / Math.max(1, count, seen.to - seen.from)))
}

/** Places that are seen, and one to each side: lines go on to the edge. */
function nearPlaces(values: readonly number[], { from, to }: Seen): readonly number[] {
  const seen: number[] = []
  for (const [index, value] of values.entries()) {
    const [next, before] = [values[index + 1] ?? value, values[index - 1] ?? value]
    if (next >= from && before <= to) seen.push(index)
  }
  return seen
}

/** Runs of places that have a value. */
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

/** A value holds until the next one, the last one to the edge. */
function stepped(points: readonly SvgPoint[], edge: number): readonly SvgPoint[] {
  return points.flatMap((point, index) => {
    const end = points[index + 1]?.x ?? Math.max(edge, point.x)
    return [point, { x: end, y: point.y }]
  })
}

/** Of the points that fall on one pixel the first, the lowest, the highest and the last: a picture of a long session stays small and looks the same. */
export function thinned(points: readonly SvgPoint[]): readonly SvgPoint[] {
  if (points.length < 2_000) return points
  const kept: SvgPoint[] = []
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
    const wanted = new Set([first, low, high, last])
    kept.push(...column.filter((point) => wanted.has(point)))
  }
  for (const point of points) {
    if (column[0] !== undefined && Math.floor(point.x) !== Math.floor(column[0].x)) {
      close()
      column = []
    }
    column.push(point)
  }
  close()
  return kept
}

function lines({ svg, plot, color, left, right, top, bottom, seen, xOf, yOf, tops }: Frame): void {
  for (const { at, label } of plot.marks) {
    if (at < seen.from || at > seen.to) continue
    svg.line(
      [
        { x: xOf(at), y: top },
        { x: xOf(at), y: bottom },
      ],
      { color: color('kind-compaction'), isDashed: true },
      label,
    )
    svg.text(xOf(at) + 4, top + 12, label, { color: color('ink') })
  }
  for (const { value, label } of plot.levels) {
    if (value > tops.left) continue
    const y = yOf(value, 'left')
    svg.line(
      [
        { x: left, y },
        { x: right, y },
      ],
      { color: color('bad'), width: 2 },
      label,
    )
    svg.text(right - 4, y - 5, `${label}: ${inWords(value, plot.left)}`, { color: color('ink'), anchor: 'end' })
  }
}
