import { whatIf } from '../what-if/what-if.ts'
import type { OtherLimits } from '../what-if/other-limits.ts'
import type { Trajectory } from '../what-if/trajectory.ts'
import { mayChange } from '../what-if/changing-calls.ts'
import type { LimitTried } from './report-model.ts'

const minute = 60_000

/** Typical limits, the strictest of each kind first. All of them are tried on each run while it is in memory, so that no run must be stored. */
const ladders: readonly (readonly OtherLimits[])[] = [
  [{ noProgress: true }],
  [5, 10, 15, 20, 30, 50, 75, 100, 150, 200].map((maxTurns) => ({ maxTurns })),
  [1, 2, 3, 5, 10, 20, 50].map((maxGoalTries) => ({ maxGoalTries })),
  [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50].map((maxBudgetUsd) => ({ maxBudgetUsd })),
  [1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7].map((maxTotalTokens) => ({ maxTotalTokens })),
  [1, 2, 5, 10, 20, 30, 60, 120].map((minutes) => ({ maxDurationMs: minutes * minute })),
]

interface LimitTally {
  stops: number
  atTheLatest: number
  unknown: number
  nanos: number
  worst: number
  tokens: number
  ms: number
  answers: number
  changes: number
}

/** Savings and losses of each of these limits, over runs that are added one by one. */
export class TighterLimits {
  readonly #tried = new Map<OtherLimits, LimitTally>()

  /** Dollar limits are not tried on a run whose cost is unknown. */
  add(trajectory: Trajectory, unpriced: readonly string[]): void {
    for (const ladder of ladders) {
      for (const limits of ladder) {
        if (limits.maxBudgetUsd !== undefined && unpriced.length > 0) break
        const { verdict, saved, lost, unknownFrom, isAtTheLatest } = whatIf(trajectory, limits, { changes: mayChange })
        // A limit without effect makes all looser ones ineffective.
        if (verdict !== 'stops' && unknownFrom === null) break
        const tried = this.#of(limits)
        if (verdict !== 'stops') {
          tried.unknown++
          continue
        }
        tried.stops++
        if (isAtTheLatest) tried.atTheLatest++
        tried.nanos += Math.round(saved.costUsd * 1e9)
        tried.worst += Math.round(saved.unknownUsd * 1e9)
        tried.tokens += saved.tokens
        tried.ms += saved.activeMs
        tried.answers += lost.answer ? 1 : 0
        tried.changes += Object.values(lost.changes).reduce((sum, count) => sum + count, 0)
      }
    }
  }

  #of(limits: OtherLimits): LimitTally {
    let tried = this.#tried.get(limits)
    if (tried === undefined) {
      tried = { stops: 0, atTheLatest: 0, unknown: 0, nanos: 0, worst: 0, tokens: 0, ms: 0, answers: 0, changes: 0 }
      this.#tried.set(limits, tried)
    }
    return tried
  }

  /** Limits that would stop a run, by kind, the strictest first. */
  rows(): readonly LimitTried[] {
    return ladders.flat().flatMap((limits) => {
      const tried = this.#tried.get(limits)
      if (tried === undefined || tried.stops === 0) return []
      const { stops, atTheLatest, unknown, nanos, worst, tokens, ms, answers, changes: lostChanges } = tried
      const saved = { savedUsd: nanos / 1e9, savedUnknownUsd: worst / 1e9, savedTokens: tokens, savedMs: ms }
      return [{ limits, stops, atTheLatest, unknown, ...saved, lostAnswers: answers, lostChanges }]
    })
  }
}

/** For each kind, the strictest limit without losses and the next stricter one. */
export function limitsWorthReporting(tried: readonly LimitTried[]): readonly LimitTried[] {
  return ladders.flatMap((steps) => {
    const ladder = tried.filter(({ limits }) => steps.includes(limits))
    const free = ladder.findIndex(({ unknown, lostAnswers, lostChanges }) => unknown + lostAnswers + lostChanges === 0)
    const from = free < 0 ? ladder.length - 1 : Math.max(0, free - 1)
    return ladder.slice(from, free < 0 ? ladder.length : free + 1).toReversed()
  })
}

/** The limit as a command-line flag. */
export function flagOf({ maxTurns, maxGoalTries, maxBudgetUsd, maxTotalTokens, maxDurationMs }: OtherLimits): string {
  if (typeof maxTurns === 'number') return `--max-turns ${maxTurns}`
  if (typeof maxGoalTries === 'number') return `--until-tries ${maxGoalTries}`
  if (typeof maxBudgetUsd === 'number') return `--max-budget-usd ${maxBudgetUsd}`
  if (typeof maxTotalTokens === 'number')
    return `--max-tokens ${maxTotalTokens >= 1e6 ? `${maxTotalTokens / 1e6}m` : `${maxTotalTokens / 1e3}k`}`
  if (typeof maxDurationMs === 'number') return `--max-duration ${maxDurationMs / minute}m`
  return '--no-progress'
}
