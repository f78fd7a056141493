import type { JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { counted, elapsed, visible } from '@halting/analysis/words'
import { colorOf } from '../common/colors.ts'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { panned, scales, ticks, wholeRange, zoomed, type Scale } from './axis.ts'
import { useCanvas } from './canvas.ts'
import { drawLane } from './draw-lanes.ts'
import { itemLine } from './item-words.ts'
import { itemAt, type Lane } from './lanes.ts'
import { Legend } from './legend.tsx'
import { Overview } from './overview.tsx'
import { keyOnTimeline } from './timeline-keys.ts'
import { pictureOfTimeline } from './timeline-picture.ts'
import { choose, setScale, toggleAgent, toggleAgents, type TimelineModel } from './timeline-model.ts'

/** Height of a lane and of the ruler above them, in CSS pixels. */
const laneHeight = 22
const rulerHeight = 20

interface TimelineProps {
  readonly model: TimelineModel
  /** Exit code of the run; null for one that has not ended. */
  readonly exitCode: number | null
  readonly onOpen: () => void
}

/** A run in lanes along time or along its records. The list of items has the same content as text. */
export function Timeline({ model, exitCode, onOpen }: TimelineProps): JSX.Element {
  const { pointed, items } = model
  const help = useId()
  // The model is not a computed value: that would be reused when the run grows, which creates another model of the same signals.
  const lanes = model.lanes()
  const current = pointed.value === null ? undefined : items[pointed.value]
  return (
    <section class="timeline" aria-label="Timeline">
      <TimelineTools model={model} exitCode={exitCode} />
      <p class="hidden-text" id={help}>
        Left and right go to the next bar, up and down to the next lane, Enter selects, plus and minus zoom, 0 shows
        everything, f folds a subagent. The list of items has the same content as text.
      </p>
      <div class="lanes">
        <div class="lane-names" aria-hidden="true" style={{ paddingTop: `${rulerHeight}px` }}>
          {lanes.map(({ id, label }) => (
            <div key={id} style={{ height: `${laneHeight}px` }}>
              {label}
            </div>
          ))}
        </div>
        <Lanes model={model} lanes={lanes} exitCode={exitCode} describedBy={help} onOpen={onOpen} />
      </div>
      <Overview model={model} lanes={lanes} exitCode={exitCode} />
      <p class="current-item" role="status">
        {current === undefined
          ? 'Point at a bar, or select one with the arrow keys.'
          : visible(itemLine(current)).slice(0, 400)}
      </p>
    </section>
  )
}

/** The axis, the zoom and other settings of the whole timeline. */
function TimelineTools({ model, exitCode }: Pick<TimelineProps, 'model' | 'exitCode'>): JSX.Element {
  const { scale, range, unfolded, items } = model
  const hasAgents = items.some(({ kind }) => kind === 'agent')
  return (
    <div class="timeline-tools">
      <label>
        Axis{' '}
        <select value={scale.value} onChange={({ currentTarget }) => setScale(model, scaleOf(currentTarget.value))}>
          {scales.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <span role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(model, 0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(model, 2)}>
          −
        </button>
        <button type="button" onClick={() => (range.value = wholeRange(model.axis()))}>
          All
        </button>
      </span>
      {hasAgents ? (
        <button type="button" aria-pressed={unfolded.value.size > 0} onClick={() => toggleAgents(model)}>
          Unfold agents
        </button>
      ) : null}
      <PictureButtons name="timeline" pictureOf={() => pictureOfTimeline(model, exitCode)} />
      <Legend items={items} />
    </div>
  )
}

interface LanesProps {
  readonly model: TimelineModel
  readonly lanes: readonly Lane[]
  readonly exitCode: number | null
  readonly describedBy: string
  readonly onOpen: () => void
}

function Lanes({ model, lanes, exitCode, describedBy, onOpen }: LanesProps): JSX.Element {
  const { range, selected, pointed, items } = model
  const drag = useRef<{ readonly x: number; hasMoved: boolean } | null>(null)
  const canvas = useCanvas(
    (context, width) => {
      context.font = '12px system-ui, sans-serif'
      drawRuler(context, model, width, rulerHeight + lanes.length * laneHeight)
      let bars = 0
      for (const [index, lane] of lanes.entries()) {
        const place = { left: 0, width, top: rulerHeight + index * laneHeight, height: laneHeight }
        const state = { selected: selected.value, pointed: pointed.value, range: range.value }
        bars += drawLane(context, lane, { items, exitCode, place, hasLabels: true, ...state })
      }
      // The number of bars, for tests.
      if (canvas.current !== null) canvas.current.dataset['bars'] = String(bars)
    },
    [lanes, items],
  )
  const placeAt = (x: number): number => {
    const { from, to } = range.value
    return from + (x / (canvas.current?.clientWidth ?? 1)) * (to - from)
  }
  const found = ({ offsetX, offsetY }: MouseEvent): number | null => {
    const lane = lanes[Math.floor((offsetY - rulerHeight) / laneHeight)]
    return lane === undefined ? null : (itemAt(lane, placeAt(offsetX), placeAt(5) - placeAt(0)) ?? null)
  }
  const move = (event: PointerEvent): void => {
    const started = drag.current
    if (started === null) {
      pointed.value = found(event)
      return
    }
    const by = placeAt(started.x) - placeAt(event.offsetX)
    if (Math.abs(started.x - event.offsetX) < 4 && !started.hasMoved) return
    range.value = panned(range.value, model.axis(), by)
    drag.current = { x: event.offsetX, hasMoved: true }
  }
  useWheel(canvas, model, placeAt)
  return (
    <canvas
      ref={canvas}
      class="lanes-canvas"
      style={{ height: `${rulerHeight + lanes.length * laneHeight}px` }}
      tabIndex={0}
      role="application"
      aria-label="Timeline of the run"
      aria-describedby={describedBy}
      onPointerDown={(event) => {
        drag.current = { x: event.offsetX, hasMoved: false }
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={move}
      onPointerUp={(event) => {
        const started = drag.current
        drag.current = null
        if (started !== null && !started.hasMoved) selected.value = found(event)
      }}
      onPointerCancel={() => (drag.current = null)}
      onPointerLeave={() => (pointed.value = null)}
      onDblClick={(event) => {
        const item = items[found(event) ?? -1]
        if (item?.kind === 'agent') toggleAgent(model, item.scope)
        else if (item !== undefined) onOpen()
      }}
      onKeyDown={(event) => keyOnTimeline(event, model, lanes, { choose: (id) => choose(model, id), open: onOpen })}
    />
  )
}

/** The wheel zooms the timeline around the pointer; sideways, or with Shift, it scrolls. */
function useWheel(
  canvas: { readonly current: HTMLCanvasElement | null },
  model: TimelineModel,
  placeAt: (x: number) => number,
): void {
  const { range } = model
  useEffect(() => {
    const element = canvas.current
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault()
      const along = event.shiftKey ? event.deltaY : event.deltaX
      if (Math.abs(along) > Math.abs(event.shiftKey ? 0 : event.deltaY))
        range.value = panned(range.value, model.axis(), placeAt(along) - placeAt(0))
      else range.value = zoomed(range.value, model.axis(), placeAt(event.offsetX), 1.0015 ** event.deltaY)
    }
    // Not passive: the page would scroll.
    element?.addEventListener('wheel', onWheel, { passive: false })
    return () => element?.removeEventListener('wheel', onWheel)
  }, [model])
}

function drawRuler(
  context: CanvasRenderingContext2D,
  { range, scale }: TimelineModel,
  width: number,
  height: number,
): void {
  const { from, to } = range.value
  const perPixel = (to - from) / width
  context.fillStyle = colorOf('soft')
  context.strokeStyle = colorOf('line')
  context.lineWidth = 1
  context.textBaseline = 'top'
  for (const place of ticks(range.value, width / 90)) {
    const x = Math.round((place - from) / perPixel) + 0.5
    context.beginPath()
    context.moveTo(x, 0)
    context.lineTo(x, height)
    context.stroke()
    const text = scale.value === 'time' ? elapsed(place) : counted(place)
    // At the edge, the label is on the other side of its line.
    const isAtEdge = x + 3 + context.measureText(text).width > width
    context.textAlign = isAtEdge ? 'right' : 'left'
    context.fillText(text, isAtEdge ? x - 3 : x + 3, 3)
  }
  context.textAlign = 'left'
}

function zoom(model: TimelineModel, factor: number): void {
  const { from, to } = model.range.value
  model.range.value = zoomed(model.range.value, model.axis(), (from + to) / 2, factor)
}

function scaleOf(value: string): Scale {
  return scales.find((each) => each === value) ?? 'time'
}
