import { visible } from '@halting/analysis/words'
import type { ColorName } from '../common/colors.ts'
import type { Block } from './block.ts'
import { fitText, textWidth } from './text-width.ts'

const [size, swatch, line] = [12, 12, 18] as const

/** A legend of colours, on as many lines as it needs. */
export function legendBlock(all: readonly { readonly label: string; readonly color: ColorName }[]): Block {
  return (width) => {
    let [x, y] = [0, 0]
    const placed = all.map(({ label, color }) => {
      const text = fitText(visible(label), width - swatch - 6, { size })
      const wide = swatch + 5 + textWidth(text, { size })
      if (x > 0 && x + wide > width) [x, y] = [0, y + line]
      const place = { x, y, text, color }
      x += wide + 16
      return place
    })
    return {
      height: placed.length === 0 ? 0 : y + line,
      draw: ({ svg, color: colorOf }, left, top) => {
        for (const { x: at, y: row, text, color } of placed) {
          svg.rect(left + at, top + row + 2, swatch, swatch, colorOf(color))
          svg.text(left + at + swatch + 5, top + row + 12, text, { size, color: colorOf('ink') })
        }
      },
    }
  }
}
