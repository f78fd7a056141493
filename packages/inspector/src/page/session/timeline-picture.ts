import { counted, elapsed, many } from '@halting/analysis/words'
import type { ItemKind } from '@halting/analysis/view'
import { endingColor, type ColorName } from '../common/colors.ts'
import { blockOfHeight, paragraph, type Block, type Pen, type Place } from '../picture/block.ts'
import { legendBlock } from '../picture/legend.ts'
import type { Picture } from '../picture/picture.ts'
import { textWidth } from '../picture/text-width.ts'
import { ticks, wholeRange as wholeOf } from './axis.ts'
import { barsOf, labelIn } from './draw-lanes.ts'
import { isMoment, itemLine, kindNames } from './item-words.ts'
import { hasFailed, type Lane } from './lanes.ts'
import type { TimelineModel } from './timeline-model.ts'

const [width, laneHeight, ruler] = [1_200, 22, 20] as const
const nameLook = { size: 12 }
const labelLook = { size: 11 }
const tickLook = { size: 10 }

/** An agent in every turn would make a thousand lanes. */
const maxLanes = 100

/** A picture of the visible timeline; each bar has a tooltip. */
export function pictureOfTimeline(model: TimelineModel, exitCode: number | null): Picture {
  const { items, scale } = model
  const range = model.range.value
  const axis = model.axis()
  const lanes = model.lanes()
  const shownLanes = lanes.slice(0, maxLanes)
  const isPart = range.from > 0 || range.to < wholeOf(axis).to
  const along = scale.value === 'time' ? elapsed : counted
  const kinds = new Set(items.map(({ kind }) => kind))
  const wrong = items.filter(hasFailed).length
  // The type of this table guarantees that it has all kinds.
  const known = (Object.keys(kindNames) as ItemKind[]).filter((kind) => kinds.has(kind))
  return {
    title: 'Timeline',
    about: [
      `Along ${scale.value}${isPart ? `, from ${along(range.from)} to ${along(range.to)} of ${along(axis.length)}` : ''}.`,
    ],
    width,
    blocks: [
      legendBlock([
        ...known.map((kind) => ({ label: kindNames[kind], color: `kind-${kind}` as const })),
        ...(wrong === 0 ? [] : [{ label: `red line below: failed (${counted(wrong)})`, color: 'bad' as const }]),
      ]),
      lanesBlock(model, shownLanes, exitCode),
      ...(lanes.length === shownLanes.length
        ? []
        : [paragraph(`${many(lanes.length - shownLanes.length, 'more lane')} of agents are not in this picture.`)]),
    ],
  }
}

function lanesBlock(model: TimelineModel, lanes: readonly Lane[], exitCode: number | null): Block {
  const names = Math.max(60, ...lanes.map(({ label }) => textWidth(label, nameLook))) + 12
  return blockOfHeight(ruler + lanes.length * laneHeight, (pen, place) => {
    const inner = { ...place, left: place.left + names, width: place.width - names }
    drawRuler(model, pen, inner)
    for (const [index, lane] of lanes.entries()) {
      const top = place.top + ruler + index * laneHeight
      pen.svg.text(place.left, top + 15, lane.label, { ...nameLook, color: pen.color('soft') })
      drawLane(model, lane, pen, { ...inner, top }, exitCode)
    }
  })
}

function drawRuler(
  { range, scale }: TimelineModel,
  { svg, color }: Pen,
  { left, top, width: wide, height }: Place,
): void {
  const { from, to } = range.value
  for (const at of ticks(range.value, 10)) {
    const x = left + ((at - from) / (to - from)) * wide
    const line = [
      { x, y: top },
      { x, y: top + height },
    ]
    svg.line(line, { color: color('line'), width: 1 })
    const text = scale.value === 'time' ? elapsed(at) : counted(at)
    const isAtEdge = x + 3 + textWidth(text, tickLook) > left + wide
    const style = { ...tickLook, color: color('soft'), anchor: isAtEdge ? 'end' : 'start' } as const
    svg.text(isAtEdge ? x - 3 : x + 3, top + 11, text, style)
  }
}

function drawLane(
  { items, range }: TimelineModel,
  lane: Lane,
  { svg, color }: Pen,
  { left, top, width: wide }: Place,
  exitCode: number | null,
): void {
  for (const bar of barsOf(lane, range.value, { left, width: wide })) {
    const item = items[lane.ids[bar.index] ?? -1]
    if (item === undefined) continue
    const name: ColorName = item.kind === 'ending' ? endingColor(exitCode) : `kind-${item.kind}`
    const tooltip = itemLine(item) + (bar.count > 1 ? ` and ${counted(bar.count - 1)} more` : '')
    // A mark has a minimum width, so that it is visible.
    const isMark = isMoment(item)
    const barWidth = isMark ? Math.max(5, bar.width) : Math.max(1, bar.width - 1)
    svg.rect(Math.min(bar.x, left + wide - barWidth), top + 1, barWidth, laneHeight - 2, color(name), tooltip)
    if (bar.isWrong) svg.rect(bar.x, top + laneHeight - 5, bar.width, 4, color('bad'))
    const text = isMark || bar.count > 1 || bar.width < 28 ? '' : labelIn(item.label, bar.width - 8, labelLook.size)
    if (text !== '') svg.text(bar.x + 4, top + 14, text, { ...labelLook, color: color('paper') })
  }
}
