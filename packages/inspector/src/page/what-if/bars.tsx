import type { JSX } from 'preact'
import { colorOf } from '../common/colors.ts'
import { useCanvas } from '../session/canvas.ts'
import { barsLayout, labelSize } from './bars-layout.ts'
import { stopPlace, type LimitStop, type TurnBar } from './turn-bars.ts'

interface BarsProps {
  readonly bars: readonly TurnBar[]
  /** Where each limit alone stops the run. */
  readonly stops: readonly LimitStop[]
  /** A description in words. */
  readonly label: string
}

/** The turns of a run as bars: those that would not have happened are pale, and a line marks where each limit stops the run. */
export function Bars({ bars, stops, label }: BarsProps): JSX.Element {
  const canvas = useCanvas(
    (context, width, height) => {
      const layout = barsLayout(bars, stops, width, height)
      for (const bar of layout.bars) {
        const top = height - bar.height
        context.fillStyle = colorOf('box')
        context.fillRect(bar.x, top, bar.width, bar.height)
        context.strokeStyle = colorOf('soft')
        context.lineWidth = 1
        context.strokeRect(bar.x + 0.5, top + 0.5, Math.max(0, bar.width - 1), Math.max(0, bar.height - 1))
        context.fillStyle = colorOf('series-1')
        context.fillRect(bar.x, top, bar.width * bar.kept, bar.height)
      }
      context.font = `${labelSize}px system-ui, sans-serif`
      context.strokeStyle = colorOf('bad')
      context.lineWidth = 2
      for (const { x, isFirst } of layout.stops) {
        context.setLineDash(isFirst ? [] : [5, 4])
        context.beginPath()
        context.moveTo(x, 0)
        context.lineTo(x, height)
        context.stroke()
      }
      context.setLineDash([])
      // An outline makes labels readable on top of other lines.
      context.strokeStyle = colorOf('paper')
      context.fillStyle = colorOf('ink')
      context.lineWidth = 3
      for (const { label: name, textX, textY, anchor } of layout.stops) {
        context.textAlign = anchor
        context.strokeText(name, textX, textY)
        context.fillText(name, textX, textY)
      }
    },
    [bars, stops],
  )
  const stop = stopPlace(bars)
  return (
    <>
      <canvas
        ref={canvas}
        class="what-if-bars"
        role="img"
        aria-label={label}
        data-stop={stop === null ? '' : String(stop)}
      />
      <div class="axis soft numbers" aria-hidden="true">
        <span>turn 1</span>
        <span>turn {bars.at(-1)?.to ?? 0}</span>
      </div>
    </>
  )
}
