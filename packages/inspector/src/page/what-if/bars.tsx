import type { JSX } from 'preact'
import { colorOf } from '../common/colors.ts'
import { useCanvas } from '../session/canvas.ts'
import { stopPlace, type TurnBar } from './turn-bars.ts'

/** The turns of a run as bars: those that would not have been are pale, and a line marks the stop. */
export function Bars({ bars, label }: { readonly bars: readonly TurnBar[]; readonly label: string }): JSX.Element {
  const highest = Math.max(...bars.map(({ height }) => height), 1e-12)
  const canvas = useCanvas(
    (context, width, height) => {
      const wide = width / Math.max(1, bars.length)
      const gap = wide > 4 ? 1 : 0
      for (const [index, bar] of bars.entries()) {
        const high = Math.max(2, (bar.height / highest) * (height - 10))
        context.fillStyle = colorOf('line')
        context.fillRect(index * wide, height - high, Math.max(1, wide - gap), high)
        context.fillStyle = colorOf('series-1')
        context.fillRect(index * wide, height - high, Math.max(0, (wide - gap) * bar.kept), high)
      }
      const stop = stopPlace(bars)
      if (stop === null) return
      context.fillStyle = colorOf('bad')
      context.fillRect(Math.min(width - 2, Math.max(0, stop * wide - 1)), 0, 2, height)
    },
    [bars],
  )
  const stop = stopPlace(bars)
  return (
    <canvas
      ref={canvas}
      class="what-if-bars"
      role="img"
      aria-label={label}
      data-stop={stop === null ? '' : String(stop)}
    />
  )
}
