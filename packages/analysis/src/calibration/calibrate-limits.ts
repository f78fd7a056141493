import { fieldsOf, throwInvalidOption } from '@halting/core/steps'
import type { GradedRun, RunUse } from '../grades/graded-run.ts'
import {
  calibratedFigures,
  type CalibratedFigure,
  type CalibratedGroup,
  type CalibratedLimit,
  type LimitsByFigure,
  type LimitsTogether,
  type LostRuns,
  type RefusedLimit,
  type RunUnderLimits,
  type SavedUse,
} from './calibrated-limit.ts'
import { countInterval, expectedLoss, savedInterval, type UsedAndSaved } from './intervals.ts'

/** How limits are calibrated. */
export interface CalibrationOptions<Run extends GradedRun = GradedRun> {
  /** The share of solved runs that each limit may lose: above 0 and below 1, such as 0.02. */
  readonly mayLose: number
  /** The smallest limits that would not have stopped the run. Default: the figures that the run used, without amounts that requests only reserve. */
  readonly needs?: (run: Run) => RunUse
  /** The effect of limits on a run. Default: a limit stops a run that used more, and saves what is above the limit. */
  readonly under?: (run: Run, limits: LimitsByFigure) => RunUnderLimits
}

/** Limits, calibrated on graded runs. JSON. */
export interface Calibration {
  /** The share of solved runs that each limit may lose. */
  readonly mayLose: number
  /** The number of solved runs that a limit needs. */
  readonly needed: number
  /**
   * One group for each model in each repository, the largest first. A model with too small a group also gets one for all repositories. If that is too
   * small as well, there is one group for all runs.
   */
  readonly groups: readonly CalibratedGroup[]
}

// Spec R-CALIB-1 to R-CALIB-5.
/**
 * Limits that lose at most a given share of runs like the solved ones (split conformal prediction). The limit is the k-th smallest use of n solved
 * runs, with k = ⌈(n + 1)(1 − mayLose)⌉. Runs that made no request are left out. The result does not depend on the order of the runs.
 * @throws ConfigurationError for a share that is not between 0 and 1, and for what is not a list of graded runs with figures.
 */
export function calibrateLimits<Run extends GradedRun>(
  given: readonly Run[],
  options: CalibrationOptions<Run>,
): Calibration {
  checkRuns(given)
  if (fieldsOf(options) === undefined)
    throwInvalidOption('The options of calibrateLimits', 'an object, such as { mayLose: 0.02 }', options)
  const { mayLose } = options
  if (typeof mayLose !== 'number' || !(mayLose > 0 && mayLose < 1))
    throwInvalidOption('mayLose of calibrateLimits', 'a share above 0 and below 1, such as 0.02 for 2 %', mayLose)
  const needed = runsNeeded(mayLose)
  const runs = given.filter(hasUsage)
  const own = [...groupedBy(runs, ({ model, repository }) => JSON.stringify([model, repository])).values()]
    .map((each) =>
      calibrated(each, options, { model: each[0]?.model ?? null, repository: each[0]?.repository ?? null }),
    )
    .toSorted((a, b) => b.runs - a.runs || compared(a.model, b.model) || compared(a.repository, b.repository))
  const small = own.filter((group) => isTooSmall(group, needed))
  const wider = [...new Set(small.map(({ model }) => model))].toSorted(compared).flatMap((model) => {
    const ofModel = runs.filter((run) => run.model === model)
    const isSeveral = own.filter((group) => group.model === model).length > 1
    return isSeveral ? [calibrated(ofModel, options, { model, repository: null })] : []
  })
  const isCovered = (group: CalibratedGroup): boolean =>
    wider.some(({ model, solved }) => model === group.model && solved.all >= needed)
  const isSeveralModels = new Set(own.map(({ model }) => model)).size > 1
  const needsAll = isSeveralModels && !small.every(isCovered)
  const all = needsAll ? [calibrated(runs, options, { model: null, repository: null })] : []
  return { mayLose, needed, groups: [...own, ...wider, ...all] }
}

/** Checked at run time: callers in plain JavaScript may pass anything, and a figure that is not a number would become a limit. */
function checkRuns(runs: unknown): void {
  if (!Array.isArray(runs))
    throwInvalidOption('calibrateLimits', 'given a list of graded runs, as gradedRuns reads them', runs)
  for (const [index, run] of runs.entries()) {
    const use = fieldsOf(fieldsOf(run)?.['use'])
    if (use === undefined)
      throwInvalidOption(`Graded run ${index}`, 'an object with model, repository, use and grade', run)
    for (const figure of calibratedFigures) {
      const value = use[figure]
      if (value === null && figure === 'usd') continue
      if (typeof value !== 'number' || !(value >= 0 && value < Infinity))
        throwInvalidOption(`use.${figure} of graded run ${index}`, 'a number of at least 0', value)
    }
  }
}

/** The minimum number of solved runs: with fewer than 1 / mayLose, the largest run alone would set the limit. */
export function runsNeeded(mayLose: number): number {
  return Math.ceil(1 / mayLose - 1e-9)
}

/** Whether the run made a request. A run whose first request exceeded a limit used nothing, and would form a group of its own. */
function hasUsage({ model, use }: GradedRun): boolean {
  return model !== '' || use.tokens > 0
}

function isTooSmall({ solved }: CalibratedGroup, needed: number): boolean {
  return solved.all < needed
}

function compared(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : (a ?? '') > (b ?? '') ? 1 : 0
}

function groupedBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}

function calibrated<Run extends GradedRun>(
  runs: readonly Run[],
  options: CalibrationOptions<Run>,
  scope: Pick<CalibratedGroup, 'model' | 'repository'>,
): CalibratedGroup {
  const solved = runs.filter(isSolved)
  const by = (who: 'person' | 'goal' | 'guess'): number => solved.filter(({ grade }) => grade?.by === who).length
  const limitOn = (figure: CalibratedFigure): CalibratedLimit | RefusedLimit =>
    limitOnFigure(figure, runs, solved, options)
  const limits = {
    usd: limitOn('usd'),
    tokens: limitOn('tokens'),
    activeMs: limitOn('activeMs'),
    turns: limitOn('turns'),
  }
  return {
    ...scope,
    runs: runs.length,
    solved: {
      all: solved.length,
      byPerson: by('person'),
      byGoal: by('goal'),
      guessed: by('guess'),
      sessions: new Set(solved.map(({ sessionId }) => sessionId)).size,
    },
    ungraded: runs.filter(({ grade }) => grade === null).length,
    limits,
    together: combinedEffect(limits, runs, solved, options),
  }
}

function isSolved({ grade }: GradedRun): boolean {
  return grade?.isGood === true
}

function limitOnFigure<Run extends GradedRun>(
  figure: CalibratedFigure,
  runs: readonly Run[],
  solved: readonly Run[],
  options: CalibrationOptions<Run>,
): CalibratedLimit | RefusedLimit {
  const { mayLose, needs = ({ use }) => use } = options
  const needed = runsNeeded(mayLose)
  const known = solved.filter(({ use }) => use[figure] !== null)
  const sorted = known.map((run) => needs(run)[figure] ?? run.use[figure] ?? 0).toSorted((a, b) => a - b)
  const count = sorted.length
  const refused = (why: RefusedLimit['why']): RefusedLimit => ({ kind: 'refused', why, solved: count, needed })
  if (count < needed) return refused(solved.length < needed ? 'few' : 'unpriced')
  const rank = Math.ceil((count + 1) * (1 - mayLose) - 1e-9)
  const quantile = sorted[rank - 1]
  if (quantile === undefined || !(quantile > 0)) return refused('unused')
  const limit = roundedUp(figure, quantile)
  const outcomes = outcomesOf(runs, { [figure]: limit }, options)
  return {
    kind: 'limit',
    limit,
    quantile,
    rank,
    solved: count,
    lost: lostOf(outcomes.filter(({ run }) => run.use[figure] !== null)),
    toExpect: expectedLoss(rank, count),
    stops: stopsOf(outcomes),
    saved: savedOf(figure, outcomes),
  }
}

interface Outcome {
  readonly run: GradedRun
  readonly under: RunUnderLimits
}

function outcomesOf<Run extends GradedRun>(
  runs: readonly Run[],
  limits: LimitsByFigure,
  { under = byUse }: CalibrationOptions<Run>,
): readonly Outcome[] {
  return runs.map((run) => ({ run, under: under(run, limits) }))
}

/** The effect of limits on a run of which only sums are known. */
function byUse({ use }: GradedRun, limits: LimitsByFigure): RunUnderLimits {
  const beyond = (figure: CalibratedFigure): number => Math.max(0, (use[figure] ?? 0) - (limits[figure] ?? Infinity))
  const saved = {
    usd: use.usd === null ? null : beyond('usd'),
    tokens: beyond('tokens'),
    activeMs: beyond('activeMs'),
    turns: beyond('turns'),
  }
  return { stops: calibratedFigures.some((figure) => (saved[figure] ?? 0) > 0) ? 'yes' : 'no', saved }
}

function lostOf(outcomes: readonly Outcome[]): LostRuns {
  const solved = outcomes.filter(({ run }) => isSolved(run))
  const of = solved.length
  const runs = solved.filter(({ under }) => under.stops !== 'no').length
  return { runs, of, share: of === 0 ? 0 : runs / of, interval: countInterval(runs, of) }
}

function stopsOf(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ run, under }) => !isSolved(run) && under.stops === 'yes').length
}

function savedOf(figure: CalibratedFigure, outcomes: readonly Outcome[]): SavedUse {
  const each = outcomes
    .filter(({ run }) => run.use[figure] !== null)
    .map(({ run, under }): UsedAndSaved => {
      const isGain = !isSolved(run) && under.stops === 'yes'
      return { used: run.use[figure] ?? 0, saved: isGain ? (under.saved[figure] ?? 0) : 0 }
    })
    // The values are sorted first, because floating-point sums depend on the order.
    .toSorted((a, b) => a.used - b.used || a.saved - b.saved)
  const amount = each.reduce((sum, { saved }) => sum + saved, 0)
  const of = each.reduce((sum, { used }) => sum + used, 0)
  return { amount, of, share: of === 0 ? 0 : amount / of, interval: savedInterval(each) }
}

function combinedEffect<Run extends GradedRun>(
  given: CalibratedGroup['limits'],
  runs: readonly Run[],
  solved: readonly Run[],
  options: CalibrationOptions<Run>,
): LimitsTogether | null {
  const limits: { -readonly [figure in CalibratedFigure]?: number } = {}
  for (const figure of calibratedFigures) {
    const each = given[figure]
    if (each.kind === 'limit') limits[figure] = each.limit
  }
  if (Object.keys(limits).length === 0 || solved.length === 0) return null
  const outcomes = outcomesOf(runs, limits, options)
  return {
    limits,
    lost: lostOf(outcomes),
    stops: stopsOf(outcomes),
    saved: {
      usd: savedOf('usd', outcomes),
      tokens: savedOf('tokens', outcomes),
      activeMs: savedOf('activeMs', outcomes),
      turns: savedOf('turns', outcomes),
    },
  }
}

const minute = 60_000

/** Rounding steps for limits on time: the step applies to limits up to the first number; both in milliseconds. */
const timeSteps: readonly (readonly [number, number])[] = [
  [minute, 5_000],
  [10 * minute, 30_000],
  [60 * minute, minute],
  [600 * minute, 5 * minute],
  [Infinity, 30 * minute],
]

/** Rounds up to a figure that a person would type: two significant digits, and whole seconds, minutes or cents. */
export function roundedUp(figure: keyof RunUse, value: number): number {
  switch (figure) {
    case 'usd':
      return roundedUpTo(value, Math.max(0.01, stepOf(value)))
    case 'tokens':
    case 'turns':
      return roundedUpTo(value, Math.max(1, stepOf(value)))
    case 'activeMs':
      return roundedUpTo(value, timeSteps.find(([most]) => value <= most)?.[1] ?? minute)
  }
}

/** The step of the second significant digit. */
function stepOf(value: number): number {
  return 10 ** (Math.floor(Math.log10(value)) - 1)
}

function roundedUpTo(value: number, step: number): number {
  const times = (steps: number): number => (step < 1 ? steps / Math.round(1 / step) : steps * step)
  // Steps below one are inexact: 0.07 / 0.01 is slightly more than 7.
  const steps = Math.floor(value / step + 1e-9)
  return times(steps) >= value ? times(steps) : times(steps + 1)
}
