import type { IterationReason } from '@halting/core'
import type { RunProgress } from '@halting/core/adapters'
import { allowances, rankingOf, transitions, type RunLimits } from '@halting/core/steps'

/** How often the loop went round for one reason, and what that has used of its allowance. */
export interface IterationFigures {
  /** The reason for the iteration. */
  readonly transition: IterationReason
  /** In the whole run. */
  readonly laps: number
  /** Since the allowance was last full. */
  readonly used: number
  /** Null where a limit of the run pays for it. */
  readonly allowed: number | null
}

/** The transitions that were taken, most often first. */
export function lapFigures(
  { laps: { inRun, sinceRefill, triesBefore = 0 } }: RunProgress,
  maxGoalTries: number | null,
): readonly IterationFigures[] {
  return transitions
    .map((transition): IterationFigures => {
      const { paidFrom, resets, laps: allowed } = allowances[transition]
      const laps = inRun[transition] ?? 0
      // Tries for goals that others took the place of are used no more.
      if (paidFrom === 'goalTries')
        return { transition, laps, used: Math.max(0, laps - triesBefore), allowed: maxGoalTries }
      const used = resets === 'run' ? laps : (sinceRefill[transition] ?? 0)
      return { transition, laps, used, allowed: paidFrom === 'own' || paidFrom === 'ownTurns' ? allowed : null }
    })
    .filter(({ laps }) => laps > 0)
    .toSorted((a, b) => b.laps - a.laps)
}

/** What the last ranking left: with it every round uses something up, so the run could not go on for ever. */
export interface RankingLeft {
  /** Null: no limit was set, or the record of an earlier version does not say. */
  readonly turns: number | null
  /** Rounds of all allowances that are constants, and the tries of goals. */
  readonly others: number
}

export function rankingLeft(
  { laps, goal }: RunProgress,
  { maxTurns, maxGoalTries = 0 }: Pick<RunLimits, 'maxTurns' | 'maxGoalTries'>,
): RankingLeft {
  const goalTries = goal === undefined ? 0 : maxGoalTries
  const [turns, , others] = rankingOf(laps, { maxTurns: maxTurns ?? Infinity, goalTries, tokenTargetLaps: 0 })
  return { turns: maxTurns === null ? null : turns, others }
}
