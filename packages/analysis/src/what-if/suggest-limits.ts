import { nanosOf, usdOf, throwInvalidOption } from '@halting/core/steps'
import type { OtherLimits } from './other-limits.ts'
import type { Trajectory } from './trajectory.ts'
import { hasResult, checkTrajectory, whatIf, type WhatIf, type WhatIfOptions } from './what-if.ts'

/** A limit that loses nothing in any of the runs, and what it saves in all of them. */
export interface SuggestedLimit {
  /** The limit. */
  readonly limits: OtherLimits
  /** Savings in all runs together. */
  readonly saved: WhatIf['saved']
  /** Runs that it stops earlier. */
  readonly stops: number
}

/**
 * Limits that would have saved most without losing an answer or a call that changed something; only those with savings, the largest first. Dollars
 * and tokens are not included: for a request that just fits, it is unknown whether it would have been made.
 * @throws ConfigurationError for what is not a list of trajectories.
 */
export function suggestLimits(
  trajectories: readonly Trajectory[],
  options: WhatIfOptions = {},
): readonly SuggestedLimit[] {
  if (!Array.isArray(trajectories))
    throwInvalidOption(
      'suggestLimits',
      'given a list of trajectories, as trajectoryOf makes them of runs',
      trajectories,
    )
  for (const [index, each] of trajectories.entries()) checkTrajectory(`Trajectory ${index} must be`, each)
  const needed = trajectories.map((trajectory) => neededBy(trajectory, options))
  const maxTurns = Math.max(1, ...needed.map(({ turns }) => turns))
  const maxDurationMs = Math.max(1, ...needed.map(({ ms }) => Math.ceil(ms / 1_000) * 1_000))
  const maxToolCalls = Math.max(1, ...needed.map(({ calls }) => calls))
  const maxGoalTries = Math.max(1, ...needed.map(({ tries }) => tries))
  return [{ noProgress: true }, { maxTurns }, { maxToolCalls }, { maxGoalTries }, { maxDurationMs }]
    .map((limits) => suggestion(trajectories, limits, options))
    .filter((suggested) => suggested !== undefined)
    .toSorted((a, b) => b.saved.costUsd - a.saved.costUsd || b.saved.tokens - a.saved.tokens)
}

function suggestion(
  trajectories: readonly Trajectory[],
  limits: OtherLimits,
  options: WhatIfOptions,
): SuggestedLimit | undefined {
  const answers = trajectories.map((trajectory) => whatIf(trajectory, limits, options))
  const stopped = answers.filter(({ verdict }) => verdict === 'stops')
  if (!answers.every(losesNothing) || stopped.length === 0) return undefined
  const sum = (figure: (spent: WhatIf['saved']) => number): number =>
    stopped.reduce((total, { saved }) => total + figure(saved), 0)
  const saved = {
    turns: sum(({ turns }) => turns),
    tokens: sum(({ tokens }) => tokens),
    costUsd: usdOf(sum(({ costUsd }) => nanosOf(costUsd))),
    unknownUsd: usdOf(sum(({ unknownUsd }) => nanosOf(unknownUsd))),
    activeMs: sum(({ activeMs }) => activeMs),
  }
  return { limits, saved, stops: stopped.length }
}

/** The losses of a run that might have been different are unknown. */
function losesNothing({ lost, unknownFrom }: WhatIf): boolean {
  return !lost.answer && Object.keys(lost.changes).length === 0 && unknownFrom === null
}

/** What a run needed: all of it if it has an answer or may continue, else up to its last call that changed something. */
function neededBy(
  { turns, ending, carried }: Trajectory,
  { changes = () => true }: WhatIfOptions,
): { readonly turns: number; readonly calls: number; readonly tries: number; readonly ms: number } {
  const isNeeded = ending === null || hasResult(ending)
  const last = isNeeded
    ? turns.length - 1
    : turns.findLastIndex(({ calls }) => calls.some((call) => call.hasRun && changes(call)))
  const needed = turns.slice(0, last + 1)
  if (needed.length === 0) return { turns: 0, calls: 0, tries: 0, ms: 0 }
  const own = needed.filter(({ countsAsTurn }) => countsAsTurn).length
  return {
    turns: Math.max(carried.turns + own, ...turns.map(({ agentTurns }) => agentTurns)),
    calls: needed.reduce((sum, { calls }) => sum + calls.length, carried.toolCalls ?? 0),
    tries: Math.max(...needed.map(({ tries = 0 }) => tries), ...turns.map(({ agentTries = 0 }) => agentTries)),
    ms: carried.ms + needed.reduce((latest, { endMs }) => Math.max(latest, endMs), 0),
  }
}
