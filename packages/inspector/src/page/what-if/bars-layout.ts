import { textWidth } from '../picture/text-width.ts'
import type { LimitStop, TurnBar } from './turn-bars.ts'

// Positions of the bars and limit lines, shared by the page and its picture.

interface BarPlace {
  readonly x: number
  readonly width: number
  readonly height: number
  /** Share of the width that is filled. */
  readonly kept: number
}

interface StopPlace {
  readonly x: number
  readonly label: string
  /** Position of the label: each has a line of its own, because limits may stop at the same point. */
  readonly textX: number
  readonly textY: number
  readonly anchor: 'start' | 'end'
  /** Whether this limit stops the run first; the other limits would have stopped it later. */
  readonly isFirst: boolean
}

export interface BarsLayout {
  readonly bars: readonly BarPlace[]
  readonly stops: readonly StopPlace[]
}

export const labelSize = 12
const labelLine = 16

/** Computes the layout for this size. */
export function barsLayout(
  bars: readonly TurnBar[],
  stops: readonly LimitStop[],
  width: number,
  height: number,
): BarsLayout {
  const wide = width / Math.max(1, bars.length)
  const gap = wide > 4 ? 1 : 0
  const room = height - stops.length * labelLine - 6
  const highest = Math.max(...bars.map((bar) => bar.height), 1e-12)
  return {
    bars: bars.map((bar, index) => ({
      x: index * wide,
      width: Math.max(1, wide - gap),
      height: Math.max(2, (bar.height / highest) * room),
      kept: bar.kept,
    })),
    stops: stops.map(({ label, place }, index) => {
      const x = Math.max(1, Math.min(width - 1, place * wide))
      const isAtEdge = x + 5 + textWidth(label, { size: labelSize }) > width
      return {
        x,
        label,
        textX: isAtEdge ? x - 5 : x + 5,
        textY: (index + 0.75) * labelLine,
        anchor: isAtEdge ? 'end' : 'start',
        isFirst: index === 0,
      }
    }),
  }
}
