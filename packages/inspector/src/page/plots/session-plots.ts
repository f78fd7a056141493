import type { Phase } from '@halting/analysis'
import type { ContextByKind, RunView, TurnPoint } from '@halting/analysis/view'
import { counted, many, money, visible } from '@halting/analysis/words'
import { shownText } from '../common/shown-text.ts'
import { phaseColors, type ColorName } from '../common/colors.ts'
import type { Plot, PlotSeries } from './plot.ts'

/** The plots of one run, computed from the figures of its requests. Pure. */
export function runPlots(run: RunView): readonly Plot[] {
  return [contextPlot(run), dollarsPlot(run), tokensPlot(run), timePlot(run), totalTimePlot(run), retryLimitsPlot(run)]
}

type Points = readonly TurnPoint[]

/** By turn, if each request is one turn; else by request. */
function alongTurns(points: Points): Plot['x'] {
  const isByTurn = points.every(({ turn }, index) => index === 0 || turn > (points[index - 1]?.turn ?? 0))
  return {
    label: isByTurn ? 'turn' : 'request',
    unit: 'count',
    values: points.map(({ turn, request }) => (isByTurn ? turn : request)),
  }
}

function series(
  label: string,
  color: ColorName,
  shape: PlotSeries['shape'],
  values: readonly (number | null)[],
  more: Partial<Pick<PlotSeries, 'side' | 'isDashed'>> = {},
): PlotSeries {
  return { label, color, shape, values, side: 'left', isDashed: false, ...more }
}

function isSomething({ values }: PlotSeries): boolean {
  return values.some((value) => value !== null && value !== 0)
}

/** Many bars would be narrower than a pixel, so they are drawn as an area. */
function barsOrArea(count: number): 'bars' | 'area' {
  return count > 300 ? 'area' : 'bars'
}

const contextKinds: { readonly [kind in keyof ContextByKind]: readonly [label: string, color: ColorName] } = {
  fixed: ['System prompt and tools', 'series-8'],
  summaries: ['Summaries', 'series-5'],
  person: ['Person', 'series-4'],
  answers: ['Answers', 'series-1'],
  thinking: ['Thinking', 'series-7'],
  calls: ['Calls', 'series-2'],
  results: ['Results', 'series-3'],
  other: ['Other', 'series-6'],
}

function contextPlot({ points, windows }: RunView): Plot {
  const x = alongTurns(points)
  // The type of this table guarantees that it has all keys.
  const kinds = Object.keys(contextKinds) as (keyof ContextByKind)[]
  return {
    name: 'Context by kind',
    about: [
      'Tokens in the context window at each request. The sum is what the service counted; the parts are estimates. A line marks a compaction of the conversation.',
      ...windows.map(
        ({ model, tokens }) => `By its name, ${visible(model)} has a window of ${counted(tokens)} tokens.`,
      ),
    ].join(' '),
    x,
    left: 'tokens',
    right: 'tokens',
    isStacked: true,
    series: kinds
      .map((kind) =>
        series(
          ...contextKinds[kind],
          // An area needs at least two places.
          points.length === 1 ? 'bars' : 'area',
          points.map(({ context }) => context[kind]),
        ),
      )
      .filter(isSomething),
    marks: points.flatMap(({ isCompacted }, index) =>
      isCompacted ? [{ at: x.values[index] ?? 0, label: 'compacted' }] : [],
    ),
    levels: windows.map(({ model, tokens }) => ({
      value: tokens,
      label: windows.length === 1 ? 'window by the model’s name' : `window of ${shownText(model, 40)} by its name`,
    })),
  }
}

function dollarsPlot({ points, trajectory: { limits, carried }, unpriced }: RunView): Plot {
  const before = limits.spentBeforeUsd + carried.nanos / 1e9
  const isTimed = points.some(({ atMs }) => atMs > (points[0]?.atMs ?? 0))
  const settled = points.map(({ settledUsd }) => before + settledUsd)
  const reserved = points.map(({ reservedUsd }, index) =>
    reservedUsd === null ? null : (index === 0 ? before : (settled[index - 1] ?? before)) + reservedUsd,
  )
  // Without a price, the cost is unknown.
  const isKnown = unpriced.length === 0 || settled.some((usd) => usd > 0)
  const levels = [
    ...(limits.maxBudgetUsd === null ? [] : [{ value: limits.maxBudgetUsd, label: 'budget' }]),
    ...(limits.maxRunUsd === null
      ? []
      : [{ value: limits.spentBeforeUsd + limits.maxRunUsd, label: 'budget of the run' }]),
  ]
  const budget = levels.length === 0 ? 'The run had no budget.' : levels.map(budgetText).join(' ')
  const earlier = before > 0 ? ` ${money(before)} had been spent before it.` : ''
  return {
    name: 'Dollars',
    about: `Dollars spent so far, and what was reserved at worst case when each request was made. ${budget}${earlier}`,
    x: isTimed ? { label: 'active time', unit: 'ms', values: points.map(({ atMs }) => atMs) } : alongTurns(points),
    left: 'usd',
    right: 'usd',
    isStacked: false,
    series: [
      ...(isKnown ? [series('Spent', 'series-1', 'steps', settled)] : []),
      series('Spent and reserved', 'series-2', 'line', reserved, { isDashed: true }),
    ].filter(({ values }) => values.some((value) => value !== null)),
    marks: [],
    levels,
  }
}

function budgetText({ value, label }: Plot['levels'][number]): string {
  return `The ${label} was ${money(value)}.`
}

function tokensPlot({ points }: RunView): Plot {
  const shape = barsOrArea(points.length)
  const of = (kind: keyof TurnPoint['usage']): readonly number[] => points.map(({ usage }) => usage[kind])
  const share = points.map(({ usage: { input, cacheRead, cacheWrite } }) => {
    const inputTokens = input + cacheRead + cacheWrite
    return inputTokens === 0 ? null : cacheRead / inputTokens
  })
  return {
    name: 'Tokens by kind',
    about: 'Tokens of each request as counted by the service, and the share of its input that came from the cache.',
    x: alongTurns(points),
    left: 'tokens',
    right: 'share',
    isStacked: true,
    series: [
      series('From the cache', 'series-3', shape, of('cacheRead')),
      series('Written to the cache', 'series-5', shape, of('cacheWrite')),
      series('Input', 'series-1', shape, of('input')),
      series('Output', 'series-2', shape, of('output')),
      series('Share from the cache', 'ink', 'line', share, { side: 'right' }),
    ].filter(({ side, values }) => (side === 'right' ? values.some((value) => value !== null) : values.some(Boolean))),
    marks: [],
    levels: [],
  }
}

const phases: { readonly [phase in Phase]: string } = {
  model: 'Model',
  tools: 'Tools',
  hooks: 'Hooks',
  compaction: 'Compaction',
  checks: 'Goal checks',
  waiting: 'Waiting',
  other: 'Other',
}

// Complete by its type, as above.
const phaseNames = Object.keys(phases) as Phase[]

function timePlot({ points }: RunView): Plot {
  const shape = barsOrArea(points.length)
  return {
    name: 'Time by turn',
    about:
      'How long each turn took: the model, tools, hooks, compactions, checks of the goal, and waiting for a person.',
    x: alongTurns(points),
    left: 'ms',
    right: 'ms',
    isStacked: true,
    series: phaseNames
      .map((phase) =>
        series(
          phases[phase],
          phaseColors[phase],
          shape,
          points.map(({ ms }) => ms[phase]),
        ),
      )
      .filter(isSomething),
    marks: [],
    levels: [],
  }
}

function totalTimePlot({ account }: RunView): Plot {
  const phasesWithTime = account.phases.filter(({ ms }) => ms > 0)
  return {
    name: 'Total time',
    about: 'How the time of the whole run was spent, including subagents.',
    x: {
      label: 'phase',
      unit: 'count',
      values: phasesWithTime.map((_, index) => index),
      names: phasesWithTime.map(({ phase }) => phases[phase]),
    },
    left: 'ms',
    right: 'ms',
    isStacked: false,
    series: phasesWithTime.map(({ phase, ms }, place) =>
      series(
        phases[phase],
        phaseColors[phase],
        'bars',
        phasesWithTime.map((_, index) => (index === place ? ms : null)),
      ),
    ),
    marks: [],
    levels: [],
  }
}

const lineColors: readonly ColorName[] = [
  'series-2',
  'series-3',
  'series-4',
  'series-5',
  'series-7',
  'series-6',
  'series-8',
]

/** Turns on one scale, the few iterations of other kinds on the other. */
function retryLimitsPlot({ points }: RunView): Plot {
  const turns = points.map(({ turnsLeft }) => turnsLeft)
  const names = [...new Set(points.flatMap(({ allowancesLeft }) => Object.keys(allowancesLeft)))].toSorted()
  const unusedNames = names
    .map((name) => ({ name, left: points.map(({ allowancesLeft }) => allowancesLeft[name] ?? null) }))
    .filter(({ left }) => left.some((value) => value !== null))
  const [moved, still] = [unusedNames.filter(isMoving), unusedNames.filter((each) => !isMoving(each))]
  const stillText = still.map(({ name, left }) => `${name} (${many(left.at(-1) ?? 0, 'time')})`).join(', ')
  return {
    name: 'Retries left',
    about: `How many more repetitions of each kind the run was allowed.${turns.every((left) => left === null) ? ' Turns had no limit.' : ''}${still.length === 0 ? '' : ` Not used: ${stillText}.`}`,
    x: alongTurns(points),
    left: 'count',
    right: 'count',
    isStacked: false,
    series: [
      series('Turns (maxTurns)', 'series-1', 'steps', turns),
      ...moved.map(({ name, left }, index) =>
        series(name, lineColors[index % lineColors.length] ?? 'series-8', 'steps', left, { side: 'right' }),
      ),
    ].filter(({ values }) => values.some((value) => value !== null)),
    marks: [],
    levels: [],
  }
}

function isMoving({ left }: { readonly left: readonly (number | null)[] }): boolean {
  return left.some((value) => value !== left[0])
}
