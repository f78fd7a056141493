import type { GradedRun, RunUse } from '../grades/graded-run.ts'
import { whatIfPriced } from '../what-if/changing-calls.ts'
import type { OtherLimits } from '../what-if/other-limits.ts'
import type { Trajectory } from '../what-if/trajectory.ts'
import { calibratedFigures, type LimitsByFigure, type RunUnderLimits } from './calibrated-limit.ts'
import { calibrateLimits, type Calibration } from './calibrate-limits.ts'
import { usdOf } from '@halting/core/steps'
import { leastBudget } from '../what-if/budget-stops.ts'

/** A graded run with its trajectory. */
export interface GradedTrajectory extends GradedRun {
  /** The run. */
  readonly trajectory: Trajectory
  /** Models without a price. */
  readonly unpriced: readonly string[]
}

const nothing: RunUse = { usd: 0, tokens: 0, activeMs: 0, turns: 0 }

// Spec R-CALIB-6.
/**
 * Like `calibrateLimits`, with exact effects of limits: a limit leaves room for what requests reserve, and `whatIf` computes what it stops and saves.
 * @throws ConfigurationError for a share that is not between 0 and 1, and for what is not a list of graded runs.
 */
export function calibrateTrajectories(
  runs: readonly GradedTrajectory[],
  options: {
    /** The share of solved runs that each limit may lose: above 0 and below 1, such as 0.02. */
    readonly mayLose: number
  },
): Calibration {
  const known = new Map<GradedRun, RunUse>()
  const needs = (run: GradedTrajectory): RunUse => {
    const found = known.get(run) ?? runNeeds(run.trajectory, run.unpriced)
    known.set(run, found)
    return found
  }
  return calibrateLimits(runs, { ...options, needs, under: (run, limits) => underLimits(run, limits, needs(run)) })
}

function underLimits(
  { trajectory, unpriced, use }: GradedTrajectory,
  limits: LimitsByFigure,
  needs: RunUse,
): RunUnderLimits {
  // Most runs are far below every limit and need no simulation.
  if (calibratedFigures.every((figure) => (needs[figure] ?? 0) <= (limits[figure] ?? Infinity)))
    return { stops: 'no', saved: nothing }
  const { verdict, saved, unknownFrom } = whatIfPriced(trajectory, otherLimitsOf(limits, use), unpriced)
  if (verdict === 'stops')
    return {
      stops: 'yes',
      saved: {
        usd: use.usd === null ? null : saved.costUsd + saved.unknownUsd,
        tokens: saved.tokens,
        activeMs: saved.activeMs,
        turns: saved.turns,
      },
    }
  // A subagent, or a request in parallel, would have reached the limit: the effect on the run is unknown.
  const mayStop = verdict === 'unknown' && (unknownFrom?.why === 'agent' || unknownFrom?.why === 'beside')
  return { stops: mayStop ? 'maybe' : 'no', saved: nothing }
}

/** The limits to simulate. Dollars are left out for a run whose cost is unknown. */
function otherLimitsOf({ usd, tokens, activeMs, turns }: LimitsByFigure, use: RunUse): OtherLimits {
  return {
    ...(usd !== undefined && use.usd !== null && { maxRunUsd: usd }),
    ...(tokens !== undefined && { maxTotalTokens: tokens }),
    ...(activeMs !== undefined && { maxDurationMs: activeMs }),
    ...(turns !== undefined && { maxTurns: turns }),
  }
}

/**
 * The smallest limits under which the run would have been the same. These are the figures that it used, or higher ones
 * when requests reserve more than they cost, or when a subagent took more turns than the run. `usd` is null when a model
 * has no price.
 */
export function runNeeds(trajectory: Trajectory, unpriced: readonly string[]): RunUse {
  const { turns, carried } = trajectory
  const own = turns.filter(({ countsAsTurn }) => countsAsTurn).length
  return {
    usd: unpriced.length > 0 ? null : usdOf(leastBudget(trajectory, 'nanos')),
    tokens: leastBudget(trajectory, 'tokens'),
    activeMs: carried.ms + turns.reduce((latest, { endMs }) => Math.max(latest, endMs), 0),
    turns: turns.reduce((most, { agentTurns }) => Math.max(most, agentTurns), carried.turns + own),
  }
}
