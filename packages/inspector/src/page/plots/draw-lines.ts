import type UPlot from 'uplot'
import { colorOf } from '../common/colors.ts'
import { besideLines, onLines, type LineLabel } from './line-labels.ts'
import { inWords, type Plot } from './plot.ts'

/** The letters of a plot, at this height. */
export function fontOf(size: number): string {
  return `${size}px system-ui, sans-serif`
}

/** Marks and levels of a plot on its canvas, with their names. `size` is the height of the letters, in CSS pixels. */
export function drawLines(chart: UPlot, plot: Plot, size: number): void {
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
      label: `${label}: ${inWords(value, plot.left)}`,
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
  // An edge around the letters, for where they stand on an area.
  ctx.strokeStyle = colorOf('paper')
  ctx.lineWidth = 3 * density
  const write = ({ text, x, anchor }: LineLabel, y: number): void => {
    ctx.textAlign = anchor
    ctx.strokeText(text, x, y)
    ctx.fillText(text, x, y)
  }
  for (const label of besideLines(marks, edges, size * density)) write(label, bbox.top + size * density)
  const onLevels = onLines(
    levels.map(({ label }) => label),
    edges,
    size * density,
  )
  for (const [index, label] of onLevels.entries()) write(label, (levels[index]?.y ?? 0) - 5 * density)
  ctx.restore()
}
