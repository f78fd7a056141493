import type { IterationReason } from '@halting/core'
import type { RunProgress } from '@halting/core/adapters'
import { transitionRules, rankingOf, transitions, type RunLimits } from '@halting/core/steps'

/** How often the loop iterated for one reason, and how much of that reason's retry limit is used. */
export interface IterationFigures {
  /** The reason for the iteration. */
  readonly transition: IterationReason
  /** Iterations in the whole run. */
  readonly laps: number
  /** Iterations since the retry limit was last reset. */
  readonly used: number
  /** The retry limit; null when a limit of the run applies instead. */
  readonly allowed: number | null
}

/** The reasons for which the loop iterated, the most frequent first. */
export function iterationFigures(
  { laps: { inRun, sinceRefill, triesBefore = 0 } }: RunProgress,
  maxGoalTries: number | null,
): readonly IterationFigures[] {
  return transitions
    .map((transition): IterationFigures => {
      const { chargedTo, resets, iterations: allowed } = transitionRules[transition]
      const laps = inRun[transition] ?? 0
      // Tries for goals that were replaced later are not counted.
      if (chargedTo === 'goalTries')
        return { transition, laps, used: Math.max(0, laps - triesBefore), allowed: maxGoalTries }
      const used = resets === 'run' ? laps : (sinceRefill[transition] ?? 0)
      return { transition, laps, used, allowed: chargedTo === 'own' || chargedTo === 'ownTurns' ? allowed : null }
    })
    .filter(({ laps }) => laps > 0)
    .toSorted((a, b) => b.laps - a.laps)
}

/** The last value of the ranking. Each iteration lowers the ranking, so the run must end. */
export interface RankingLeft {
  /** Remaining turns. Null: no limit was set, or the record of an earlier version does not say. */
  readonly turns: number | null
  /** Remaining iterations of all constant retry limits, and remaining tries of goals. */
  readonly others: number
}

export function rankingLeft(
  { laps, goal }: RunProgress,
  { maxTurns, maxGoalTries = 0 }: Pick<RunLimits, 'maxTurns' | 'maxGoalTries'>,
): RankingLeft {
  const goalTries = goal === undefined ? 0 : maxGoalTries
  const [turns, , others] = rankingOf(laps, { maxTurns: maxTurns ?? Infinity, goalTries, tokenTargetIterations: 0 })
  return { turns: maxTurns === null ? null : turns, others }
}
