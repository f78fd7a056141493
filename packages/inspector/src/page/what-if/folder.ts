import {
  suggestLimits,
  type OtherLimits,
  type SuggestedLimit,
  type Trajectory,
  type WhatIf,
  mayChange,
  whatIfPriced,
} from '@halting/analysis'
import type { Plot } from '../plots/plot.ts'
import { isDollars, isSmall, limitWords, usedOf, type LimitName } from './limits.ts'

/** A run of one of the sessions, as needed for what-if. */
export interface PastRun {
  readonly key: string
  /** Number of the run, from 1. */
  readonly run: number
  readonly title: string
  readonly trajectory: Trajectory
  readonly unpriced: readonly string[]
}

/** The effect of one value of a limit on all runs. */
export interface LimitSums {
  readonly value: number
  readonly stops: number
  /** Runs with an unknown effect, including those whose record ends. */
  readonly unknown: number
  /** Runs that might have been different, so that their losses are unknown. */
  readonly diverged: number
  readonly saved: WhatIf['saved']
  readonly lostAnswers: number
  /** Lost calls that changed something. */
  readonly lostChanges: number
}

/** More values would not be distinguishable on a plot, and each is tried on every run. */
const maxValues = 60

/** Values at which something changes: what runs used, and suggested limits; evenly sampled if there are too many. */
export function valuesToTry(
  name: LimitName,
  runs: readonly PastRun[],
  suggested: readonly SuggestedLimit[],
): readonly number[] {
  const used = runs.map(({ trajectory }) => usedOf(trajectory)[name]).filter((value) => value > 0)
  const highest = Math.max(0, ...used)
  if (highest === 0) return []
  const wished = suggested.map(({ limits }) => limits[name]).filter((value) => typeof value === 'number')
  const rounded = (value: number): number =>
    isDollars(name) ? Number(value.toPrecision(6)) : Math.max(1, Math.round(value))
  const all = new Set<number>()
  if (isSmall(name) && highest <= maxValues) for (let turns = 1; turns <= highest; turns++) all.add(turns)
  else
    for (const value of [...used, ...used.flatMap((each) => [each / 4, each / 2, (each * 3) / 4])])
      all.add(rounded(value))
  const sorted = [...all].toSorted((a, b) => a - b)
  const every = sorted.length / maxValues
  const chosen =
    every <= 1 ? sorted : Array.from({ length: maxValues }, (_, index) => sorted[Math.floor(index * every)] ?? highest)
  return [...new Set([...chosen, ...wished, rounded(highest)])].toSorted((a, b) => a - b)
}

/** Tries one value on all runs. */
export function sumsAt(name: LimitName, value: number, runs: readonly PastRun[]): LimitSums {
  const saved = { turns: 0, tokens: 0, activeMs: 0 }
  let [stops, unknown, parted, lostAnswers, lostChanges, nanos, worstNanos] = [0, 0, 0, 0, 0, 0, 0]
  for (const { trajectory, unpriced } of runs) {
    const answer = whatIfPriced(trajectory, { [name]: value }, unpriced)
    if (answer.verdict === 'unknown') unknown++
    if (answer.unknownFrom !== null) parted++
    if (answer.verdict !== 'stops') continue
    stops++
    saved.turns += answer.saved.turns
    saved.tokens += answer.saved.tokens
    saved.activeMs += answer.saved.activeMs
    nanos += Math.round(answer.saved.costUsd * 1e9)
    worstNanos += Math.round(answer.saved.unknownUsd * 1e9)
    if (answer.lost.answer) lostAnswers++
    for (const count of Object.values(answer.lost.changes)) lostChanges += count
  }
  const dollars = { costUsd: nanos / 1e9, unknownUsd: worstNanos / 1e9 }
  return { value, stops, unknown, diverged: parted, saved: { ...saved, ...dollars }, lostAnswers, lostChanges }
}

/** A run that a limit would have stopped. */
export interface StoppedRun {
  readonly run: PastRun
  readonly answer: WhatIf
}

/** The runs that a limit would have stopped. */
export function stoppedBy(limits: OtherLimits, runs: readonly PastRun[]): readonly StoppedRun[] {
  return runs
    .map((run) => ({ run, answer: whatIfPriced(run.trajectory, limits, run.unpriced) }))
    .filter(({ answer }) => answer.verdict === 'stops')
}

/** Limits without losses, as in `halting what-if FOLDER --suggest`. */
export function suggestedFor(runs: readonly PastRun[]): readonly SuggestedLimit[] {
  return suggestLimits(
    runs.map(({ trajectory }) => trajectory),
    { changes: mayChange },
  )
}

/** A plot of savings and losses by the value of a limit; the suggested limit is marked. */
export function savingsPlot(name: LimitName, sums: readonly LimitSums[], suggested: readonly SuggestedLimit[]): Plot {
  const { label } = limitWords[name]
  const isPriced = sums.some(({ saved }) => saved.costUsd > 0)
  const losesNothing = sums.filter(
    ({ stops, diverged: parted, lostAnswers, lostChanges }) => stops > 0 && parted + lostAnswers + lostChanges === 0,
  )
  const best = losesNothing.map(({ value, saved }) => ({ value, amount: isPriced ? saved.costUsd : saved.tokens }))
  const highest = Math.max(0, ...best.map(({ amount }) => amount))
  const wished = suggested.map(({ limits }) => limits[name]).filter((value) => typeof value === 'number')
  const marks =
    wished.length > 0
      ? wished.map((at) => ({ at, label: 'suggested' }))
      : best
          .filter(({ amount }) => amount === highest)
          .slice(-1)
          .map(({ value }) => ({ at: value, label: 'loses nothing' }))
  const latest = isDollars(name) || name === 'maxTotalTokens'
  return {
    name: `Savings and losses by limit: ${label.toLowerCase()}`,
    about: `What each value of the limit would have saved in all runs, and what would have been lost.${
      latest ? ' For runs of an earlier version, savings are lower bounds and losses are upper bounds.' : ''
    }${marks.length === 0 ? ' No value saves anything without a loss.' : ''}`,
    x: { label: `limit of ${label.toLowerCase()}`, unit: unitOf[name], values: sums.map(({ value }) => value) },
    left: isPriced ? 'usd' : 'tokens',
    right: 'count',
    isStacked: false,
    series: [
      {
        label: isPriced ? 'Dollars saved' : 'Tokens saved',
        color: 'series-3',
        shape: 'line',
        values: sums.map(({ saved }) => (isPriced ? saved.costUsd : saved.tokens)),
        side: 'left',
        isDashed: false,
      },
      {
        label: 'Answers lost',
        color: 'series-2',
        shape: 'line',
        values: sums.map(({ lostAnswers }) => lostAnswers),
        side: 'right',
        isDashed: true,
      },
      {
        label: 'Calls with changes lost',
        color: 'series-4',
        shape: 'line',
        values: sums.map(({ lostChanges }) => lostChanges),
        side: 'right',
        isDashed: false,
      },
      {
        label: 'Runs stopped',
        color: 'series-8',
        shape: 'line',
        values: sums.map(({ stops }) => stops),
        side: 'right',
        isDashed: false,
      },
    ],
    marks,
    levels: [],
  }
}

const unitOf = {
  maxTurns: 'count',
  maxToolCalls: 'count',
  maxBudgetUsd: 'usd',
  maxRunUsd: 'usd',
  maxTotalTokens: 'count',
  maxDurationMs: 'ms',
  maxGoalTries: 'count',
} as const
