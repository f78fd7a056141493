import type { ColorName } from '../common/colors.ts'
import { lineHeight, paragraph, type Block } from './block.ts'
import { fitText, textWidth } from './text-width.ts'
import { visible } from '@halting/analysis/words'

/** A bar with a label and a value. */
export interface PictureBar {
  readonly label: string
  /** The filled part, from 0 to 1; null for no bar. */
  readonly share: number | null
  readonly value: string
  readonly color: ColorName
}

const look = { size: 13 }
const row = look.size * lineHeight + 4

/** Rows of labels, bars and values, aligned in columns. */
export function barRows(all: readonly PictureBar[]): Block {
  if (all.length === 0) return paragraph('None are recorded.', { color: 'soft', size: look.size })
  return (width) => {
    const names = all.map(({ label }) => fitText(visible(label), width * 0.4, look))
    const values = all.map(({ value }) => fitText(visible(value), width * 0.45, look))
    const widest = (texts: readonly string[]): number => Math.max(...texts.map((text) => textWidth(text, look)))
    const from = widest(names) + 12
    const room = width - from - widest(values) - 12
    return {
      height: all.length * row,
      draw: ({ svg, color }, left, top) => {
        for (const [index, { share, color: name, label, value }] of all.entries()) {
          const y = top + index * row
          const base = y + row * 0.7
          svg.text(left, base, names[index] ?? '', { ...look, color: color('ink') })
          svg.text(left + width, base, values[index] ?? '', { ...look, color: color('ink'), anchor: 'end' })
          if (share === null || room <= 0) continue
          svg.rect(left + from, y + 4, room, row - 9, color('soft'))
          svg.rect(left + from + 1, y + 5, room - 2, row - 11, color('box'))
          const full = Math.min(1, Math.max(0, share))
          svg.rect(left + from + 1, y + 5, (room - 2) * full, row - 11, color(name), `${label}: ${value}`)
        }
      },
    }
  }
}
