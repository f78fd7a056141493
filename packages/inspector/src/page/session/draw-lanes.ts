import type { TimelineItem } from '@halting/analysis/view'
import { visible } from '@halting/analysis/words'
import { colorOf, endingColor, type ColorName } from '../common/colors.ts'
import type { Range } from './axis.ts'
import { isMoment } from './item-words.ts'
import { fitText } from '../picture/text-width.ts'
import { firstAtLeast, type Lane } from './lanes.ts'

/** Position of a lane, in CSS pixels. */
export interface Place {
  readonly left: number
  readonly width: number
  readonly top: number
  readonly height: number
}

/** A bar, or bars that fall on the same pixels and are drawn as one. */
export interface Bar {
  /** Index of the first of them. */
  readonly index: number
  readonly count: number
  readonly x: number
  readonly width: number
  readonly isWrong: boolean
}

const minWidth = 2

/**
 * The visible bars of a lane. Bars narrower than two pixels are merged with the next ones. So there are never more bars than pixels, however many
 * items there are, and each next bar is found by bisection.
 */
export function barsOf(
  lane: Lane,
  { from, to }: Range,
  { left, width }: Pick<Place, 'left' | 'width'>,
): readonly Bar[] {
  const bars: Bar[] = []
  const perPixel = (to - from) / width
  const pixelOf = (place: number): number => left + (place - from) / perPixel
  const count = lane.ids.length
  let index = firstAtLeast(lane.reach, from)
  while (index < count && (lane.starts[index] ?? 0) <= to) {
    const start = Math.max(left, pixelOf(lane.starts[index] ?? 0))
    const end = Math.min(left + width, pixelOf(lane.ends[index] ?? 0))
    let next = index + 1
    // At least the next index: an item that began before the visible range is drawn from its edge.
    if (end - start < minWidth)
      next = Math.max(next, firstAtLeast(lane.starts, from + (start - left + minWidth) * perPixel))
    const isWrong = (lane.failedBefore[next] ?? 0) > (lane.failedBefore[index] ?? 0)
    bars.push({ index, count: next - index, x: start, width: Math.max(minWidth, end - start), isWrong })
    index = next
  }
  return bars
}

/** Font size of the labels on bars. */
const labelSize = 12
/** A shorter piece of a label is useless. */
const minCutLength = 6

/** As much of a label as fits; '' when that is too short. */
export function labelIn(label: string, width: number, size: number): string {
  const fullLabel = visible(label.slice(0, 200))
  const text = fitText(fullLabel, width, { size })
  return text === fullLabel || text.length > minCutLength ? text : ''
}

interface Drawing {
  readonly items: readonly TimelineItem[]
  readonly exitCode: number | null
  readonly range: Range
  readonly place: Place
  readonly selected: number | null
  readonly pointed: number | null
  /** Whether there is room for labels. */
  readonly hasLabels: boolean
}

/** Draws one lane; returns the number of bars. */
export function drawLane(context: CanvasRenderingContext2D, lane: Lane, drawing: Drawing): number {
  const { items, range, place, selected, pointed, exitCode } = drawing
  const bars = barsOf(lane, range, place)
  const top = place.top + 1
  const height = place.height - 2
  for (const bar of bars) {
    const item = items[lane.ids[bar.index] ?? -1]
    if (item === undefined) continue
    const color = colorOf(item.kind === 'ending' ? endingColor(exitCode) : `kind-${item.kind}`)
    context.fillStyle = color
    if (isMoment(item)) drawMark(context, item, bar.x, top, height)
    else drawBar(context, item, bar, top, height, color)
    if (bar.isWrong) drawWrong(context, bar, top, height)
    if (drawing.hasLabels && bar.count === 1 && bar.width > 48 && item.kind !== 'ending')
      drawLabel(context, item, bar, top, height)
  }
  outline(context, lane, drawing, pointed, 'ink', 1)
  outline(context, lane, drawing, selected, 'accent', 2)
  return bars.length
}

function drawBar(
  context: CanvasRenderingContext2D,
  item: TimelineItem,
  { x, width, count }: Bar,
  top: number,
  height: number,
  color: string,
): void {
  if (item.endMs === null && count === 1) {
    // A bar without a recorded end is open to the right.
    context.globalAlpha = 0.35
    context.fillRect(x, top, width, height)
    context.globalAlpha = 1
    context.fillRect(x, top, 3, height)
  } else context.fillRect(x, top, width, height)
  if (width < 4 || count > 1) return
  context.strokeStyle = colorOf('paper')
  context.lineWidth = 1
  context.strokeRect(x + 0.5, top + 0.5, width - 1, height - 1)
  context.fillStyle = color
}

/**
 * Marks have shapes, so that they are distinguishable without colours: a continuation is a triangle, a person a square, a wait two bars, the ending a
 * bar of full height.
 */
function drawMark(
  context: CanvasRenderingContext2D,
  { kind }: TimelineItem,
  x: number,
  top: number,
  height: number,
): void {
  const half = height / 2.4
  const middle = top + height / 2
  context.beginPath()
  if (kind === 'lap') {
    context.moveTo(x - half, middle - half)
    context.lineTo(x + half, middle)
    context.lineTo(x - half, middle + half)
  } else if (kind === 'control') context.rect(x - half, middle - half, 2 * half, 2 * half)
  else if (kind === 'wait') {
    context.rect(x - 4, top, 3, height)
    context.rect(x + 1, top, 3, height)
  } else context.rect(x - 3, top, 6, height)
  context.fill()
}

/** A cross and a line below, so that failures are visible without colours. */
function drawWrong(context: CanvasRenderingContext2D, { x, width }: Bar, top: number, height: number): void {
  context.fillStyle = colorOf('bad')
  context.fillRect(x, top + height - 4, width, 4)
  if (width < 10) {
    context.fillRect(x, top, Math.max(2, Math.min(width, 3)), height)
    return
  }
  context.strokeStyle = colorOf('bad')
  context.lineWidth = 2
  const right = x + width - 3
  context.beginPath()
  context.moveTo(right - 6, top + 3)
  context.lineTo(right, top + 9)
  context.moveTo(right, top + 3)
  context.lineTo(right - 6, top + 9)
  context.stroke()
}

function drawLabel(
  context: CanvasRenderingContext2D,
  item: TimelineItem,
  { x, width, isWrong: hasCross }: Bar,
  top: number,
  height: number,
): void {
  // A longer label would not fit, and is slow to measure.
  const text = labelIn(item.label, width - (hasCross ? 18 : 8), labelSize)
  if (text === '') return
  context.fillStyle = colorOf('paper')
  context.textBaseline = 'middle'
  context.fillText(text, x + 4, top + height / 2)
}

function outline(
  context: CanvasRenderingContext2D,
  lane: Lane,
  { range, place }: Drawing,
  id: number | null,
  name: ColorName,
  lineWidth: number,
): void {
  if (id === null) return
  const index = lane.places.get(id)
  if (index === undefined) return
  const pixelOf = (at: number): number => place.left + ((at - range.from) / (range.to - range.from)) * place.width
  const start = Math.max(place.left, pixelOf(lane.starts[index] ?? 0) - 2)
  const end = Math.min(place.left + place.width, Math.max(start + 4, pixelOf(lane.ends[index] ?? 0) + 2))
  if (end < place.left || start > place.left + place.width) return
  context.strokeStyle = colorOf(name)
  context.lineWidth = lineWidth
  context.strokeRect(start, place.top + lineWidth / 2, end - start, place.height - lineWidth)
}
