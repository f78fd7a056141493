import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import { colorOf } from '../common/colors.ts'
import { isDark } from '../common/theme.ts'
import { textWidth } from '../picture/text-width.ts'
import {
  fullRange,
  axisLabels,
  drawnSeries,
  valueText,
  minStep,
  movedBy,
  nearest,
  placeText,
  topOfScale,
  zoomedBy,
  type DrawnSeries,
  type Plot,
  type VisibleRange,
  type Unit,
} from './plot.ts'
import { verticalLineLabels, horizontalLineLabels, type LineLabel } from './line-labels.ts'

interface PlotCanvasProps {
  readonly plot: Plot
  readonly hidden: ReadonlySet<string>
  readonly seen: VisibleRange
  readonly onSeen: (seen: VisibleRange) => void
  /** Called for a click on a value, and for Enter. */
  readonly onChoose?: ((index: number) => void) | undefined
}

/** A plot on a canvas. Dragging zooms, arrow keys move between values, and the current values are shown below. */
export function PlotCanvas({ plot, hidden, seen, onSeen, onChoose }: PlotCanvasProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null)
  const readout = useRef<HTMLParagraphElement>(null)
  const chartRef = useRef<UPlot | undefined>(undefined)
  const latest = useRef({ seen, onSeen, onChoose })
  latest.current = { seen, onSeen, onChoose }
  const pointed = useRef(-1)
  const dark = isDark.value
  const showValues = (index: number): void => {
    pointed.current = index
    if (readout.current !== null) readout.current.textContent = index < 0 ? pointingHint : valuesAt(plot, hidden, index)
  }
  useEffect(() => {
    const place = host.current
    if (place === null) return
    const series = drawnSeries(plot, hidden)
    const chart = new UPlot(optionsFor(plot, series, place, latest, showValues), dataOf(plot, series), place)
    chartRef.current = chart
    // Tests read what was drawn from the chart.
    Object.assign(place, { chart })
    const observer = new ResizeObserver(() => chart.setSize(sizeOf(place)))
    observer.observe(place)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [plot, hidden, dark])
  useEffect(() => chartRef.current?.setScale('x', { min: seen.from, max: seen.to }), [seen])
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = fullRange(plot)
    const last = plot.x.values.length - 1
    const goTo = (index: number): void => {
      const place = Math.max(0, Math.min(last, index))
      showValues(place)
      chartRef.current?.setCursor({ left: chartRef.current.valToPos(plot.x.values[place] ?? 0, 'x'), top: 0 }, false)
    }
    const keys: { readonly [key: string]: () => void } = {
      ArrowRight: () => goTo(pointed.current + 1),
      ArrowLeft: () => goTo(pointed.current - 1),
      Home: () => goTo(0),
      End: () => goTo(last),
      Enter: () => onChoose?.(pointed.current),
      '+': () => onSeen(zoomedBy(seen, all, 0.5)),
      '-': () => onSeen(zoomedBy(seen, all, 2)),
      ',': () => onSeen(movedBy(seen, all, -0.5)),
      '.': () => onSeen(movedBy(seen, all, 0.5)),
      '0': () => onSeen(all),
    }
    const run = keys[event.key]
    if (run === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    run()
  }
  return (
    <>
      <div
        ref={host}
        class="plot-canvas"
        data-plot={plot.name}
        role="group"
        tabIndex={0}
        aria-label={`${plot.name}: left and right move between values, plus and minus zoom, comma and period scroll, 0 shows everything`}
        onKeyDown={onKeyDown}
      />
      <p ref={readout} class="plot-readout numbers soft" aria-live="polite">
        {pointingHint}
      </p>
    </>
  )
}

const pointingHint = 'Point at the plot or use the arrow keys to see its values.'

/** The values at an index, in words. */
function valuesAt(plot: Plot, hidden: ReadonlySet<string>, index: number): string {
  const figures = plot.series
    .filter(({ label, values }) => !hidden.has(label) && (values[index] ?? null) !== null)
    .map(({ label, side, values }) => `${label} ${valueText(values[index] ?? null, plot[side])}`)
  return [placeText(plot, index), ...figures].join(' · ')
}

/** Series in reverse order: the top of a stack is drawn first, and covered by what is below. */
function dataOf(plot: Plot, series: readonly DrawnSeries[]): UPlot.AlignedData {
  return [[...plot.x.values], ...series.toReversed().map(({ tops }) => [...tops])]
}

function sizeOf(place: HTMLElement): { readonly width: number; readonly height: number } {
  return { width: Math.max(120, place.clientWidth), height: 18 * rem() }
}

function rem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16
}

interface Latest {
  readonly current: Pick<PlotCanvasProps, 'seen' | 'onSeen' | 'onChoose'>
}

/** Tick steps for counts, which have whole ticks. */
const wholeSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat()

/** The ticks of an axis, and their labels. */
function ticksOf(unit: Unit): Pick<UPlot.Axis, 'incrs' | 'values'> {
  return {
    values: (_, splits) => [...axisLabels(splits, unit)],
    ...(minStep(unit) === 1 ? { incrs: wholeSteps } : {}),
  }
}

function optionsFor(
  plot: Plot,
  series: readonly DrawnSeries[],
  place: HTMLElement,
  latest: Latest,
  showValues: (index: number) => void,
): UPlot.Options {
  const seenNow = (): VisibleRange => latest.current.seen
  const hasRight = series.some(({ side }) => side === 'right')
  return {
    ...sizeOf(place),
    legend: { show: false },
    padding: [rem() / 2, hasRight ? 0 : rem(), 0, 0],
    series: [{}, ...series.toReversed().map(toSeries)],
    scales: {
      x: { time: false, range: () => [seenNow().from, seenNow().to] },
      left: { range: () => [0, topOfScale(plot, series, 'left', seenNow())] },
      right: { range: () => [0, topOfScale(plot, series, 'right', seenNow())] },
    },
    axes: axesOf(plot, hasRight),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: 4 },
      bind: {
        // The default handler would reset the scale without reporting it.
        dblclick: () => () => {
          latest.current.onSeen(fullRange(plot))
          return null
        },
      },
    },
    hooks: hooksOf(plot, latest, showValues),
  }
}

/** The letters of axes and labels, in CSS pixels. */
function smallLetters(): number {
  return 0.75 * rem()
}

function axesOf(plot: Plot, hasRight: boolean): UPlot.Axis[] {
  const small = smallLetters()
  const font = fontOf(small)
  const common = { stroke: colorOf('soft'), font, ticks: { show: false } }
  const { names, values, unit } = plot.x
  const size = (_: UPlot, texts: readonly string[] | null): number =>
    Math.max(0, ...(texts ?? []).map((text) => textWidth(text, { size: small }))) + small
  return [
    {
      ...common,
      grid: { show: false },
      label: plot.x.label,
      labelFont: font,
      labelSize: 1.25 * rem(),
      space: (unit === 'count' ? 2.5 : 5) * rem(),
      size: 1.75 * rem(),
      ...(names === undefined ? ticksOf(unit) : { splits: [...values], values: [...names] }),
    },
    {
      ...common,
      scale: 'left',
      size,
      grid: { stroke: colorOf('line'), width: 1 },
      ...ticksOf(plot.left),
    },
    {
      ...common,
      show: hasRight,
      scale: 'right',
      // oxlint-disable-next-line no-unsafe-enum-assignment -- Its enum has no values at run time: 1 is the right side.
      side: 1,
      size,
      grid: { show: false },
      ...ticksOf(plot.right),
    },
  ]
}

/** Pointing shows values, dragging zooms, a click selects. */
function hooksOf(plot: Plot, latest: Latest, showValues: (index: number) => void): UPlot.Hooks.Arrays {
  return {
    setCursor: [
      (chart) => {
        const { left = -1 } = chart.cursor
        if (left >= 0) showValues(nearest(plot, chart.posToVal(left, 'x')))
      },
    ],
    setSelect: [
      (chart) => {
        const { select } = chart
        if (select.width < 4) return
        const from = chart.posToVal(select.left, 'x')
        const to = chart.posToVal(select.left + select.width, 'x')
        chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        latest.current.onSeen({ from, to })
      },
    ],
    ready: [
      (chart) =>
        chart.over.addEventListener('click', () => {
          const { left = -1 } = chart.cursor
          if (left >= 0) latest.current.onChoose?.(nearest(plot, chart.posToVal(left, 'x')))
        }),
    ],
    draw: [(chart) => drawLines(chart, plot, smallLetters())],
  }
}

function toSeries({ side, shape, color, isDashed, tops }: DrawnSeries): UPlot.Series {
  const own = colorOf(color)
  const isFilled = shape === 'area' || shape === 'bars'
  // Stacked areas have an edge in the background colour, so that they are distinguishable without colours.
  const stroke = shape === 'area' ? colorOf('paper') : own
  const { bars, stepped, linear } = UPlot.paths
  const paths =
    shape === 'bars' ? bars?.({ size: [0.8, 64] }) : shape === 'steps' ? stepped?.({ align: 1 }) : linear?.()
  return {
    scale: side,
    stroke,
    width: shape === 'bars' ? 0 : isFilled ? 1 : 2,
    points: { show: !isFilled && tops.length <= 60, size: 5, fill: own },
    ...(isFilled && { fill: own }),
    ...(isDashed && { dash: [6, 4] }),
    ...(paths !== undefined && { paths }),
  }
}

/** The font of a plot at this size. */
function fontOf(size: number): string {
  return `${size}px system-ui, sans-serif`
}

/** Draws marks and levels with their labels. `size`: font size in CSS pixels. */
function drawLines(chart: UPlot, plot: Plot, size: number): void {
  const { ctx, scales, bbox } = chart
  const density = devicePixelRatio
  const edges = { left: bbox.left, right: bbox.left + bbox.width }
  const inside = (value: number, { min = 0, max = 0 }: UPlot.Scale = {}): boolean => value >= min && value <= max
  const stroke = (fromX: number, fromY: number, toX: number, toY: number): void => {
    ctx.beginPath()
    ctx.moveTo(fromX, fromY)
    ctx.lineTo(toX, toY)
    ctx.stroke()
  }
  const marks = plot.marks
    .filter(({ at }) => inside(at, scales['x']))
    .map(({ at, label }) => ({ x: chart.valToPos(at, 'x', true), label }))
  const levels = plot.levels
    .filter(({ value }) => inside(value, scales['left']))
    .map(({ value, label }) => ({
      y: chart.valToPos(value, 'left', true),
      label: `${label}: ${valueText(value, plot.left)}`,
    }))
  ctx.save()
  ctx.lineWidth = 1.5 * density
  ctx.strokeStyle = colorOf('kind-compaction')
  ctx.setLineDash([6 * density, 4 * density])
  for (const { x } of marks) stroke(x, bbox.top, x, bbox.top + bbox.height)
  ctx.setLineDash([])
  ctx.strokeStyle = colorOf('bad')
  for (const { y } of levels) stroke(edges.left, y, edges.right, y)
  ctx.font = fontOf(size * density)
  ctx.textBaseline = 'alphabetic'
  ctx.fillStyle = colorOf('ink')
  // An outline makes labels readable on top of areas.
  ctx.strokeStyle = colorOf('paper')
  ctx.lineWidth = 3 * density
  const write = ({ text, x, anchor }: LineLabel, y: number): void => {
    ctx.textAlign = anchor
    ctx.strokeText(text, x, y)
    ctx.fillText(text, x, y)
  }
  for (const label of verticalLineLabels(marks, edges, size * density)) write(label, bbox.top + size * density)
  const onLevels = horizontalLineLabels(
    levels.map(({ label }) => label),
    edges,
    size * density,
  )
  for (const [index, label] of onLevels.entries()) write(label, (levels[index]?.y ?? 0) - 5 * density)
  ctx.restore()
}
