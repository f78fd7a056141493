import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  axisLabels,
  drawnSeries,
  legendLabel,
  movedBy,
  nearest,
  axisLabel,
  topOfScale,
  zoomedBy,
  type Plot,
  type PlotSeries,
  type VisibleRange,
} from '../../../src/page/plots/plot.ts'
import { svgOfPicture } from '../../../src/page/picture/picture.ts'
import { verticalLineLabels, horizontalLineLabels } from '../../../src/page/plots/line-labels.ts'
import { pictureOfPlot, thinPoints } from '../../../src/page/plots/plot-picture.ts'
import { madeFrom } from '../support/picture-text.ts'

function seriesWith(label: string, values: readonly (number | null)[], more: Partial<PlotSeries> = {}): PlotSeries {
  return { label, color: 'series-1', shape: 'bars', values, side: 'left', isDashed: false, ...more }
}

function plotWith(series: readonly PlotSeries[], more: Partial<Plot> = {}): Plot {
  const count = series[0]?.values.length ?? 0
  return {
    name: 'A plot',
    about: '',
    x: { label: 'turn', unit: 'count', values: Array.from({ length: count }, (_, index) => index + 1) },
    left: 'tokens',
    right: 'share',
    isStacked: true,
    series,
    marks: [],
    levels: [],
    ...more,
  }
}

const none: ReadonlySet<string> = new Set()

function svgOfPlot(plot: Plot, seen: VisibleRange, hidden: ReadonlySet<string>): string {
  return svgOfPicture(pictureOfPlot(plot, seen, hidden), madeFrom)
}

describe('a plot', () => {
  it('stacks the visible series in order, but not lines', () => {
    const plot = plotWith([
      seriesWith('a', [1, 2]),
      seriesWith('b', [10, null]),
      seriesWith('line', [0.5, null], { shape: 'line', side: 'right' }),
      seriesWith('c', [100, 200]),
    ])
    const tops = (hidden: readonly string[]): unknown => drawnSeries(plot, new Set(hidden)).map((each) => each.tops)
    expect(tops([])).toEqual([
      [1, 2],
      [11, 2],
      [0.5, null],
      [111, 202],
    ])
    expect(tops(['a', 'line'])).toEqual([
      [10, 0],
      [110, 200],
    ])
    expect(drawnSeries(plot, none)[3]?.base).toEqual([11, 2])
  })

  it('scales to its visible part, and to a limit unless that is far above', () => {
    const plot = plotWith([seriesWith('a', [10, 1_000])], { levels: [{ value: 30, label: 'limit' }] })
    const drawn = drawnSeries(plot, none)
    expect(topOfScale(plot, drawn, 'left', { from: 0.5, to: 1.5 })).toBeGreaterThanOrEqual(30)
    expect(topOfScale(plot, drawn, 'left', { from: 0.5, to: 1.5 })).toBeLessThan(50)
    expect(topOfScale(plot, drawn, 'left', { from: 0.5, to: 2.5 })).toBeGreaterThanOrEqual(1_000)
    const far = { ...plot, levels: [{ value: 500, label: 'limit' }] }
    expect(topOfScale(far, drawn, 'left', { from: 0.5, to: 1.5 })).toBeLessThan(20)
    expect(topOfScale(plot, drawn, 'right', { from: 0, to: 3 })).toBe(1)
  })

  it('never shows more than the whole plot, however it is zoomed and moved', () => {
    const all = { from: 2, to: 102 }
    const step = fc.oneof(
      fc.record({ zoom: fc.double({ min: 0.1, max: 10, noNaN: true }) }),
      fc.record({ move: fc.double({ min: -3, max: 3, noNaN: true }) }),
    )
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let seen = all
        for (const each of steps) seen = 'zoom' in each ? zoomedBy(seen, all, each.zoom) : movedBy(seen, all, each.move)
        expect(seen.from).toBeGreaterThanOrEqual(all.from - 1e-9)
        expect(seen.to).toBeLessThanOrEqual(all.to + 1e-9)
        expect(seen.to).toBeGreaterThanOrEqual(seen.from)
      }),
    )
  })

  it('finds the same nearest point as a full scan', () => {
    const places = fc.array(fc.nat(50), { minLength: 1 }).map((each) => each.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(places, fc.integer({ min: -5, max: 60 }), (values, at) => {
        const found = values[nearest({ x: { label: '', unit: 'count', values } }, at)] ?? Number.NaN
        expect(Math.abs(found - at)).toBe(Math.min(...values.map((value) => Math.abs(value - at))))
      }),
    )
  })

  it('labels its axes with short numbers', () => {
    expect([0, 950, 20_000, 1_500_000].map((value) => axisLabel(value, 'tokens'))).toEqual(['0', '950', '20k', '1.5M'])
    expect(axisLabel(0.25, 'share')).toBe('25 %')
    expect(axisLabel(0.5, 'usd')).toBe('$0.5000')
  })

  it('formats the numbers of one axis alike', () => {
    expect(axisLabels([0, 500, 5_000, 10_000], 'tokens')).toEqual(['0', '500', '5k', '10k'])
    expect(axisLabels([0, 500, 1_000], 'count')).toEqual(['0', '500', '1,000'])
  })

  it('says which of two scales a series uses', () => {
    const [one, other] = [seriesWith('a', [1]), seriesWith('b', [1], { side: 'right' })]
    expect([one, other].map((each) => legendLabel(plotWith([one, other]), each))).toEqual(['a', 'b (right scale)'])
    expect(legendLabel(plotWith([other]), other)).toBe('b')
  })

  it('formats the dollars of one axis with as many digits as the finest needs', () => {
    expect(axisLabels([0, 0.5, 1, 1.5], 'usd')).toEqual(['$0.00', '$0.50', '$1.00', '$1.50'])
    expect(axisLabels([0, 0.001, 0.1 + 0.2, 1_234], 'usd')).toEqual(['$0.000', '$0.001', '$0.300', '$1,234.000'])
    expect(axisLabels([0, 20_000], 'tokens')).toEqual(['0', '20k'])
  })
})

describe('labels of lines on a plot', () => {
  const edges = { left: 0, right: 400 }

  it('are next to vertical lines, within the plot, where there is room', () => {
    const lines = [10, 30, 200, 390].map((x) => ({ x, label: 'compacted' }))
    expect(verticalLineLabels(lines, edges, 10).map(({ x, anchor }) => [x, anchor])).toEqual([
      [14, 'start'],
      [204, 'start'],
      [386, 'end'],
    ])
  })

  it('are at either end of horizontal lines, and no longer than these', () => {
    const [first, second] = horizontalLineLabels(['budget: $1.00', 'a very long name '.repeat(20)], edges, 10)
    expect(first).toEqual({ text: 'budget: $1.00', x: 396, anchor: 'end' })
    expect(second).toMatchObject({ x: 4, anchor: 'start', text: expect.stringMatching(/…$/) as string })
  })
})

describe('a plot as a picture', () => {
  it('has the title, the legend, the visible values, marks and limits', () => {
    const plot = plotWith([seriesWith('<a>', [10, 20, 30]), seriesWith('b', [1, 2, 3])], {
      marks: [{ at: 2, label: 'compacted' }],
      levels: [{ value: 35, label: 'limit' }],
    })
    const svg = svgOfPlot(plot, { from: 0.5, to: 3.5 }, none)
    expect(svg).toContain('A plot</text>')
    expect(svg).toContain('&lt;a&gt;</text>')
    for (const expected of ['turn 1: &lt;a&gt; 10', 'turn 2: &lt;a&gt; 20', 'turn 3: b 3', 'compacted', 'limit: 35'])
      expect(svg).toContain(expected)
    const near = svgOfPlot(plot, { from: 2.6, to: 3.5 }, new Set(['b']))
    expect(near).toContain('turn 3: &lt;a&gt; 30')
    expect(near).not.toContain('turn 1')
    expect(near).not.toContain(': b ')
    expect(near).toContain('>Switched off: b.</text>')
  })

  it('has whole turns on its axis, however few they are', () => {
    const svg = svgOfPlot(plotWith([seriesWith('a', [10, 20])]), { from: 0.5, to: 2.5 }, none)
    const below = [...svg.matchAll(/>([\d.]+)<\/text>/g)].map(([, text]) => Number(text))
    expect(below).toEqual(expect.arrayContaining([1, 2]))
    expect(below.filter((value) => !Number.isInteger(value))).toEqual([])
  })

  it('stays small for a long session, and has its ends and its peaks', () => {
    const points = Array.from({ length: 100_000 }, (_, index) => ({ x: index / 100, y: index % 977 === 5 ? 400 : 7 }))
    const kept = thinPoints(points)
    expect(kept.length).toBeLessThanOrEqual(4_000)
    expect(kept[0]).toEqual(points[0])
    expect(kept.at(-1)).toEqual(points.at(-1))
    const peaks = (all: typeof points | typeof kept): number =>
      new Set(all.filter(({ y }) => y === 400).map(({ x }) => Math.floor(x))).size
    expect(peaks(kept)).toBe(peaks(points))
  })
})
