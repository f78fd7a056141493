import { counted, many, money } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { figureText } from './figure-text.ts'
import { figureNames, ownRuns, standingOf, type FigureName } from './row-kinds.ts'

/** The rule by which a session is an outlier. */
export type OutlierRule = 'far' | 'failed-with-cost' | 'open' | 'failed-calls'

/** Descriptions of the rules for the page. */
export const outlierRules: { readonly [rule in OutlierRule]: string } = {
  far: 'A figure is more than 1.5 interquartile ranges away from the others on a logarithmic scale, and is at least twice or at most half of the usual value.',
  'failed-with-cost': 'It failed, and it cost something.',
  open: 'Its last run has no ending, and no process works on it.',
  'failed-calls': 'At least five tool calls failed, and at least 30 % of all calls.',
}

export interface Outlier {
  readonly key: string
  readonly rule: OutlierRule
  /** The reason in words. */
  readonly why: string
}

const comparedFigures: readonly FigureName[] = ['costUsd', 'turns', 'tokens', 'activeMs']
/** With fewer sessions, no value is unusual. */
const fewestSessions = 8

/** All outliers in the order of the rows. A session may be an outlier by several rules. */
export function findOutliers(rows: readonly SessionRow[]): readonly Outlier[] {
  const readable = rows.filter(({ problem }) => problem === undefined)
  const fences = comparedFigures.flatMap((figure) => fenceOf(readable, figure) ?? [])
  const found: Outlier[] = []
  // Most rows are not outliers, and cost only a few comparisons each.
  for (const row of readable) {
    for (const fence of fences) found.push(...outOfBounds(fence, row))
    found.push(...failedWithCost(row), ...openSession(row), ...failedCalls(row))
  }
  return found
}

/** The usual range of a figure: its quartiles, and the bounds beyond which values are outliers. */
export interface Fence {
  readonly figure: FigureName
  readonly quartiles: readonly [number, number]
  readonly low: number
  readonly high: number
}

/** Undefined when too few sessions have the figure. Zeros are omitted, because they have no logarithm. */
export function fenceOf(rows: readonly SessionRow[], figure: FigureName): Fence | undefined {
  // Sorting a typed array is several times as fast.
  const logs = Float64Array.from(
    rows.map((row) => row[figure]).filter((value) => value > 0),
    Math.log,
  ).toSorted()
  if (logs.length < fewestSessions) return undefined
  const first = quantile(logs, 0.25)
  const third = quantile(logs, 0.75)
  // If half of the sessions are almost equal, tiny differences would be outliers.
  const reach = Math.max(1.5 * (third - first), Math.LN2)
  return {
    figure,
    quartiles: [Math.exp(first), Math.exp(third)],
    low: Math.exp(first - reach),
    high: Math.exp(third + reach),
  }
}

function quantile(values: Float64Array, share: number): number {
  const place = (values.length - 1) * share
  const below = values[Math.floor(place)] ?? 0
  const above = values[Math.ceil(place)] ?? below
  return below + (above - below) * (place - Math.floor(place))
}

function outOfBounds({ figure, quartiles: [first, third], low, high }: Fence, row: SessionRow): readonly Outlier[] {
  const value = row[figure]
  // The figures of a running session are not final.
  const isLow = value > 0 && value < low && standingOf(row) !== 'running'
  if (!isLow && value <= high) return []
  const usual = `half of the sessions are between ${figureText(figure, first)} and ${figureText(figure, third)}`
  const how = isLow ? 'Unusually low' : 'Unusually high'
  return [{ key: row.key, rule: 'far', why: `${how}: ${figureNames[figure]} ${figureText(figure, value)}; ${usual}.` }]
}

function failedWithCost(row: SessionRow): readonly Outlier[] {
  if (standingOf(row) !== 'failed' || row.costUsd <= 0) return []
  const why = `It failed (${row.ending ?? 'no ending'}) and cost ${money(row.costUsd)}.`
  return [{ key: row.key, rule: 'failed-with-cost', why }]
}

function openSession(row: SessionRow): readonly Outlier[] {
  if (standingOf(row) !== 'open' || ownRuns(row) === 0) return []
  const why = `Its last run has no ending after ${many(row.turns, 'turn')}, and no process works on it.`
  return [{ key: row.key, rule: 'open', why }]
}

function failedCalls({ key, calls, failedCalls: failed }: SessionRow): readonly Outlier[] {
  if (failed < 5 || failed < calls * 0.3) return []
  return [{ key, rule: 'failed-calls', why: `${counted(failed)} of ${many(calls, 'tool call')} failed.` }]
}
