import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { colorOf } from '../common/colors.ts'
import { panned, wholeRange } from './axis.ts'
import { useCanvas } from './canvas.ts'
import { drawLane } from './draw-lanes.ts'
import type { Lane } from './lanes.ts'
import type { TimelineModel } from './timeline-model.ts'

const maxRows = 8

interface OverviewProps {
  readonly model: TimelineModel
  readonly lanes: readonly Lane[]
  readonly exitCode: number | null
}

/** The whole run in a strip, with a frame around the visible range. The keys of the timeline move the frame. */
export function Overview({ model, lanes, exitCode }: OverviewProps): JSX.Element {
  const { range, selected, items } = model
  const isDragging = useRef(false)
  const canvas = useCanvas(
    (context, width, height) => {
      const rows = lanes.filter(({ scope }) => scope === '').slice(0, maxRows)
      const axis = model.axis()
      const all = wholeRange(axis)
      const each = height / Math.max(1, rows.length)
      for (const [index, lane] of rows.entries()) {
        const place = { left: 0, width, top: index * each, height: each }
        drawLane(context, lane, { items, exitCode, place, range: all, selected: null, pointed: null, hasLabels: false })
      }
      const pixelOf = (at: number): number => (at / axis.length) * width
      const { from, to } = range.value
      context.fillStyle = colorOf('paper')
      context.globalAlpha = 0.6
      context.fillRect(0, 0, pixelOf(from), height)
      context.fillRect(pixelOf(to), 0, width, height)
      context.globalAlpha = 1
      context.strokeStyle = colorOf('accent')
      context.lineWidth = 2
      const left = Math.min(pixelOf(from), width - 6)
      context.strokeRect(left + 1, 1, Math.max(4, pixelOf(to) - left - 2), height - 2)
      const chosen = selected.value
      if (chosen === null) return
      context.fillStyle = colorOf('accent')
      context.fillRect(pixelOf(axis.startOf(chosen)) - 1, 0, 3, height)
    },
    [lanes, items],
  )
  const move = ({ offsetX }: PointerEvent): void => {
    if (!isDragging.current) return
    const axis = model.axis()
    const { from, to } = range.value
    range.value = panned(
      range.value,
      axis,
      (offsetX / (canvas.current?.clientWidth ?? 1)) * axis.length - (from + to) / 2,
    )
  }
  return (
    <canvas
      ref={canvas}
      class="overview"
      aria-hidden="true"
      onPointerDown={(event) => {
        isDragging.current = true
        event.currentTarget.setPointerCapture(event.pointerId)
        move(event)
      }}
      onPointerMove={move}
      onPointerUp={() => (isDragging.current = false)}
      onPointerCancel={() => (isDragging.current = false)}
    />
  )
}
