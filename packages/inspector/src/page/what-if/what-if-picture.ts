import { stacked, code, blockOfHeight, paragraph, tight, type Block } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { barsLayout, labelSize } from './bars-layout.ts'
import type { LimitStop, TurnBar } from './turn-bars.ts'

/** The what-if view of one run, as shown. */
export interface PicturedWhatIf {
  /** The tried value of each limit, with what the run used and had. */
  readonly tried: readonly string[]
  readonly verdict: string
  /** What was kept, saved and lost; empty when the run would not have stopped. */
  readonly figures: readonly (readonly [name: string, text: string])[]
  readonly notes: readonly string[]
  readonly bars: readonly TurnBar[]
  readonly stops: readonly LimitStop[]
  readonly heights: string
  readonly command: string | null
}

/** A picture of what-if for one run. */
export function pictureOfWhatIf(shown: PicturedWhatIf): Picture {
  const { tried, verdict, figures, notes, bars, stops, heights, command } = shown
  return {
    title: 'What other limits would have done',
    about: tried,
    width: 960,
    blocks: [
      paragraph(verdict, { size: 16, isBold: true }),
      stacked(
        figures.map(([name, text]) => paragraph(`${name}: ${text}`)),
        tight,
      ),
      stacked(
        notes.map((text) => paragraph(text, { color: 'soft', size: 13 })),
        tight,
      ),
      barsBlock(bars, stops),
      paragraph(heights, { color: 'soft', size: 13 }),
      ...(command === null ? [] : [code(command)]),
    ],
  }
}

const barsHeight = 220

function barsBlock(bars: readonly TurnBar[], stops: readonly LimitStop[]): Block {
  return blockOfHeight(barsHeight, ({ svg, color }, { left, top, width, height }) => {
    const ground = top + height - 24
    const layout = barsLayout(bars, stops, width, ground - top)
    for (const [index, { x, width: wide, height: high, kept }] of layout.bars.entries()) {
      const name = nameOf(bars[index])
      const y = ground - high
      svg.rect(left + x, y, wide, high, color('soft'))
      svg.rect(left + x + 1, y + 1, wide - 2, high - 2, color('box'), `${name}: would not have happened`)
      if (kept > 0) svg.rect(left + x, y, wide * kept, high, color('series-1'), `${name}: would have happened`)
    }
    for (const { x, label, isFirst } of layout.stops) {
      const line = [
        { x: left + x, y: top },
        { x: left + x, y: ground },
      ]
      svg.line(line, { color: color('bad'), width: 2, isDashed: !isFirst }, `${label} would have stopped it`)
    }
    const style = { color: color('ink'), halo: color('paper'), size: labelSize }
    for (const { label, textX, textY, anchor } of layout.stops)
      svg.text(left + textX, top + textY, label, { ...style, anchor })
    const end = [
      { x: left, y: ground },
      { x: left + width, y: ground },
    ]
    svg.line(end, { color: color('soft'), width: 1 })
    svg.text(left, ground + 18, 'turn 1', { color: color('soft') })
    svg.text(left + width, ground + 18, `turn ${bars.at(-1)?.to ?? 0}`, { color: color('soft'), anchor: 'end' })
  })
}

function nameOf(bar: TurnBar | undefined): string {
  const { from = 0, to = 0 } = bar ?? {}
  return from === to ? `turn ${from}` : `turns ${from} to ${to}`
}
