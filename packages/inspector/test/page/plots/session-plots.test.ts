import { describe, expect, it } from 'vitest'
import { drawnSeries, topOfScale, type Plot } from '../../../src/page/plots/plot.ts'
import { runPlots } from '../../../src/page/plots/session-plots.ts'
import { noContext, noMs, plottedRun, pointWith, trajectoryWith } from '../support/plotted-run.ts'
import type { RunView } from '@halting/analysis/view'

function plotNamed(run: RunView, name: string): Plot {
  const found = runPlots(run).find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no plot ${name}.`)
  return found
}

function valuesOf(plot: Plot): { readonly [label: string]: readonly (number | null)[] } {
  return Object.fromEntries(plot.series.map(({ label, values }) => [label, values]))
}

describe('plots of a run', () => {
  it('show the context by kind, without empty kinds, and mark compactions', () => {
    const points = [
      pointWith({ request: 1, context: { ...noContext, fixed: 10, person: 5 } }),
      pointWith({ request: 2, context: { ...noContext, fixed: 10, person: 5, results: 80 } }),
      pointWith({ request: 3, context: { ...noContext, fixed: 10, summaries: 7 }, isCompacted: true }),
    ]
    const plot = plotNamed(plottedRun({ points }), 'Context by kind')
    expect(valuesOf(plot)).toEqual({
      'System prompt and tools': [10, 10, 10],
      Summaries: [0, 0, 7],
      Person: [5, 5, 0],
      Results: [0, 80, 0],
    })
    expect(plot.marks).toEqual([{ at: 3, label: 'compacted' }])
    expect(plot.x).toMatchObject({ label: 'turn', values: [1, 2, 3] })
  })

  it('show the window of a model as a named line, unless it is far above the usage', () => {
    const points = [pointWith({ request: 1, context: { ...noContext, fixed: 60_000 } })]
    const windows = [
      { model: 'small', tokens: 200_000 },
      { model: 'large', tokens: 1_000_000 },
    ]
    const plot = plotNamed(plottedRun({ points, windows }), 'Context by kind')
    expect(plot.levels).toEqual([
      { value: 200_000, label: 'window of small by its name' },
      { value: 1_000_000, label: 'window of large by its name' },
    ])
    const top = topOfScale(plot, drawnSeries(plot, new Set()), 'left', { from: 1, to: 1 })
    expect([top > 200_000, top < 1_000_000]).toEqual([true, true])
    expect(plot.about).toMatch(
      / By its name, small has a window of 200,000 tokens\. By its name, large has a window of 1,000,000 tokens\.$/,
    )
  })

  it('label the only window without its model, which is named above', () => {
    const points = [pointWith({ request: 1, context: { ...noContext, fixed: 60_000 } })]
    const plot = plotNamed(plottedRun({ points, windows: [{ model: 'm', tokens: 200_000 }] }), 'Context by kind')
    expect(plot.levels).toEqual([{ value: 200_000, label: 'window by the model’s name' }])
  })

  it('show no unknown window', () => {
    const plot = plotNamed(plottedRun({ points: [pointWith({ request: 1 })] }), 'Context by kind')
    expect(plot.levels).toEqual([])
    expect(plot.about).not.toContain('window of')
  })

  it('have requests on the axis where one turn made several', () => {
    const points = [pointWith({ request: 1, turn: 1 }), pointWith({ request: 2, turn: 1 })]
    expect(plotNamed(plottedRun({ points }), 'Context by kind').x).toMatchObject({ label: 'request', values: [1, 2] })
  })

  it('show dollars against the budget: settled so far, and the reservations on top of them', () => {
    const points = [
      pointWith({ request: 1, settledUsd: 0.1, reservedUsd: 0.5, atMs: 10 }),
      pointWith({ request: 2, settledUsd: 0.3, reservedUsd: null, atMs: 20 }),
      pointWith({ request: 3, settledUsd: 0.4, reservedUsd: 0.25, atMs: 20 }),
    ]
    const plot = plotNamed(plottedRun({ points, trajectory: budgeted(1, 0) }), 'Dollars')
    expect(valuesOf(plot)).toEqual({ Spent: [0.1, 0.3, 0.4], 'Spent and reserved': [0.5, null, 0.55] })
    expect(plot.x).toMatchObject({ unit: 'ms', values: [10, 20, 20] })
    expect(plot.levels).toEqual([{ value: 1, label: 'budget' }])
    expect(plot.about).toContain('The budget was $1.00.')
  })

  it('do not claim zero spending where a model has no price', () => {
    const points = [pointWith({ request: 1 }), pointWith({ request: 2 })]
    expect(plotNamed(plottedRun({ points, unpriced: ['gpt'] }), 'Dollars').series).toEqual([])
    expect(valuesOf(plotNamed(plottedRun({ points }), 'Dollars'))).toEqual({ Spent: [0, 0] })
  })

  it('show the context of a single request as a bar', () => {
    const one = plottedRun({ points: [pointWith({ request: 1, context: { ...noContext, fixed: 10 } })] })
    expect(plotNamed(one, 'Context by kind').series.map(({ shape }) => shape)).toEqual(['bars'])
  })

  it('include the spending before the run, as the budget does', () => {
    const points = [pointWith({ request: 1, settledUsd: 0.5, reservedUsd: 1 })]
    const plot = plotNamed(plottedRun({ points, trajectory: budgeted(4, 2) }), 'Dollars')
    expect(valuesOf(plot)).toEqual({ Spent: [2.5], 'Spent and reserved': [3] })
    expect(plot.about).toContain('$2.00 had been spent before it.')
  })

  it('show tokens by kind, and the share of input from the cache', () => {
    const points = [
      pointWith({ request: 1, usage: { input: 100, cacheRead: 0, cacheWrite: 300, output: 7 } }),
      pointWith({ request: 2, usage: { input: 50, cacheRead: 150, cacheWrite: 0, output: 9 } }),
      pointWith({ request: 3 }),
    ]
    const plot = plotNamed(plottedRun({ points }), 'Tokens by kind')
    expect(valuesOf(plot)).toEqual({
      'From the cache': [0, 150, 0],
      'Written to the cache': [300, 0, 0],
      Input: [100, 50, 0],
      Output: [7, 9, 0],
      'Share from the cache': [0, 0.75, null],
    })
  })

  it('show time by turn and in total', () => {
    const points = [
      pointWith({ request: 1, ms: { ...noMs, model: 900, tools: 100 } }),
      pointWith({ request: 2, ms: { ...noMs, model: 400, waiting: 5_000 } }),
    ]
    const phases = [
      { phase: 'model', ms: 1_300 },
      { phase: 'hooks', ms: 0 },
      { phase: 'waiting', ms: 5_000 },
    ]
    const run = plottedRun({ points, phases })
    expect(valuesOf(plotNamed(run, 'Time by turn'))).toEqual({
      Model: [900, 400],
      Tools: [100, 0],
      Waiting: [0, 5_000],
    })
    const all = plotNamed(run, 'Total time')
    expect(all.x.names).toEqual(['Model', 'Waiting'])
    expect(valuesOf(all)).toEqual({ Model: [1_300, null], Waiting: [null, 5_000] })
  })

  it('show the used retries and name the unused kinds', () => {
    const points = [
      pointWith({ request: 1, turnsLeft: 9, allowancesLeft: { retry: 3, stop_hook: 8, endless: null } }),
      pointWith({ request: 2, turnsLeft: 8, allowancesLeft: { retry: 2, stop_hook: 8, endless: null } }),
    ]
    const plot = plotNamed(plottedRun({ points }), 'Retries left')
    expect(valuesOf(plot)).toEqual({ 'Turns (maxTurns)': [9, 8], retry: [3, 2] })
    expect(plot.about).toContain('Not used: stop_hook (8 times).')
  })

  it('say so where nothing is recorded', () => {
    for (const plot of runPlots(plottedRun({}))) expect(plot.series).toEqual([])
  })
})

function budgeted(maxBudgetUsd: number, spentBeforeUsd: number): ReturnType<typeof trajectoryWith> {
  const { limits, ...rest } = trajectoryWith([])
  return { ...rest, limits: { ...limits, maxBudgetUsd, spentBeforeUsd } }
}
