import type { IterationReason } from '@halting/core'
import type { RunProgress } from '@halting/core/adapters'
import { allowances, rankingOf, transitions } from '@halting/core/steps'

/** How often the loop went round for one reason, and what that has used of its allowance. */
export interface IterationFigures {
  readonly transition: IterationReason
  /** In the whole run. */
  readonly laps: number
  /** Since the allowance was last full. */
  readonly used: number
  /** Null where a limit of the run pays for it. */
  readonly allowed: number | null
}

/** The transitions that were taken, most often first. */
export function lapFigures({ laps: { inRun, sinceRefill } }: RunProgress): readonly IterationFigures[] {
  return transitions
    .map((transition): IterationFigures => {
      const { paidFrom, resets, laps: allowed } = allowances[transition]
      const laps = inRun[transition] ?? 0
      const used = resets === 'run' ? laps : (sinceRefill[transition] ?? 0)
      return { transition, laps, used, allowed: paidFrom === 'own' ? allowed : null }
    })
    .filter(({ laps }) => laps > 0)
    .toSorted((a, b) => b.laps - a.laps)
}

/** What the last ranking left: with it every round uses something up, so the run could not go on for ever. */
export interface RankingLeft {
  /** Null: no limit was set, or the record of an earlier version does not say. */
  readonly turns: number | null
  /** Rounds of all allowances that are constants. */
  readonly others: number
}

export function rankingLeft({ laps }: RunProgress, maxTurns: number | null): RankingLeft {
  const [turns, , others] = rankingOf(laps, { maxTurns: maxTurns ?? Infinity, tokenTargetLaps: 0 })
  return { turns: maxTurns === null ? null : turns, others }
}
