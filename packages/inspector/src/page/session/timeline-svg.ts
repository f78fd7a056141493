import { counted, elapsed } from '../../figures.ts'
import { visible } from '../../visible.ts'
import { colorOf, endingColor } from '../common/colors.ts'
import { SvgWriter } from '../common/svg.ts'
import { ticks } from './axis.ts'
import { barsOf } from './draw-lanes.ts'
import { itemLine } from './item-words.ts'
import type { TimelineModel } from './timeline-model.ts'

const [width, names, laneHeight, ruler] = [1_200, 110, 22, 44]

/** What the timeline shows now, as a picture: each bar says what it is when it is pointed at. */
export function svgOfTimeline(model: TimelineModel, exitCode: number | null, title: string): string {
  const lanes = model.lanes()
  const { items, scale } = model
  const range = model.range.value
  const place = { left: names, width: width - names - 10 }
  const height = ruler + lanes.length * laneHeight + 8
  const svg = new SvgWriter(width, height, colorOf('paper'), title)
  const [ink, soft, line] = [colorOf('ink'), colorOf('soft'), colorOf('line')]
  svg.text(8, 16, visible(title).slice(0, 150), { color: ink, isBold: true })
  for (const at of ticks(range, 10)) {
    const x = place.left + ((at - range.from) / (range.to - range.from)) * place.width
    svg.line(
      [
        { x, y: ruler - 14 },
        { x, y: height },
      ],
      { color: line },
    )
    svg.text(x + 3, ruler - 5, scale.value === 'time' ? elapsed(at) : counted(at), { color: soft, size: 10 })
  }
  for (const [index, lane] of lanes.entries()) {
    const top = ruler + index * laneHeight
    svg.text(8, top + 15, lane.label, { color: soft })
    for (const { index: first, count, x, width: wide, isWrong } of barsOf(lane, range, place)) {
      const item = items[lane.ids[first] ?? -1]
      if (item === undefined) continue
      const color = colorOf(item.kind === 'ending' ? endingColor(exitCode) : `kind-${item.kind}`)
      const name = visible(itemLine(item)) + (count > 1 ? ` and ${counted(count - 1)} more` : '')
      // A moment is as wide as is seen.
      const isMoment = item.kind === 'lap' || item.kind === 'control' || item.kind === 'ending'
      svg.rect(x, top + 1, isMoment ? Math.max(5, wide) : Math.max(1, wide - 1), laneHeight - 2, color, name)
      if (isWrong) svg.rect(x, top + laneHeight - 5, wide, 4, colorOf('bad'))
    }
  }
  return svg.end()
}
