import type { RunResult } from '@halting/core'
import { limitOfResult, type RunProgress } from '@halting/core/adapters'
import {
  turnsBegun,
  defaultRepeats,
  nearestCycle,
  type RunLimits,
  beginningOf,
  type StepRecord,
} from '@halting/core/steps'

/** The limits that are told: those of the options, a cost guard's, and how often the same turns came. */
export type LimitName =
  | 'maxTurns'
  | 'maxBudgetUsd'
  | 'maxRunUsd'
  | 'maxTotalTokens'
  | 'maxDurationMs'
  | 'maxToolCalls'
  | 'maxGoalTries'
  | 'noProgress'

/** How full a limit was when the run ended, or is now. */
export interface LimitFigures {
  /** Which limit it is. */
  readonly limit: LimitName
  /** Unit of `used` and `max`. */
  readonly unit: 'turns' | 'calls' | 'usd' | 'tokens' | 'ms' | 'tries' | 'repeats'
  /** How much is used. */
  readonly used: number
  /** Null: no limit was set, or the record of an earlier version does not say. */
  readonly max: number | null
  /** The run ended by it. */
  readonly isReached: boolean
}

/** Those of a record that does not say them. */
export const unknownLimits: RunLimits = Object.freeze({
  maxTurns: null,
  maxBudgetUsd: null,
  maxRunUsd: null,
  maxTotalTokens: null,
  maxDurationMs: null,
  spentBeforeUsd: 0,
})

/** The limits with which the run began, and what a person set of them while it went on. */
export function limitsInForce(records: readonly StepRecord[]): RunLimits {
  let limits = beginningOf(records).start.limits ?? unknownLimits
  for (const record of records) {
    if (record.type !== 'control' || record.key.includes('/agent:')) continue
    const set = Object.entries(record.control.settings?.limits ?? {})
    const given = beginningOf(records).start.limits?.maxGoalTries
    // `Infinity` takes a limit away, and is null in a file. Tries of a goal are never without one: null is what the options say.
    const changed = set.map(([name, limit]) => {
      if (name === 'maxGoalTries') return [name, limit ?? given] as const
      return [name, limit === Infinity ? null : limit] as const
    })
    limits = { ...limits, ...Object.fromEntries(changed) }
  }
  return limits
}

interface Reached {
  readonly spent: RunProgress
  /** A turn was granted, and its model not asked. */
  readonly isTurnOpen: boolean
  readonly totals: { readonly tokens: number; readonly committedUsd: number; readonly activeMs: number }
  readonly terminal: RunResult | undefined
}

/**
 * The limits that an ending may report. Dollars are limited by the run, too: records of earlier versions do not say which it was. A budget that is shared with
 * other runs is none of them.
 */
function limitsOf(terminal: RunResult): readonly LimitName[] {
  const limit = limitOfResult(terminal)
  if (limit === null) return []
  return limit === 'maxBudgetUsd' ? ['maxRunUsd', limit] : [limit]
}

export function limitFigures(
  limits: RunLimits,
  { spent, isTurnOpen, totals, terminal }: Reached,
): readonly LimitFigures[] {
  const { spentBeforeUsd, maxRunUsd } = limits
  const cycle = nearestCycle(spent.recentTurns, defaultRepeats)
  const figures: readonly Omit<LimitFigures, 'isReached'>[] = [
    { limit: 'maxTurns', unit: 'turns', used: turnsBegun(spent.laps) - (isTurnOpen ? 1 : 0), max: limits.maxTurns },
    { limit: 'maxBudgetUsd', unit: 'usd', used: spentBeforeUsd + totals.committedUsd, max: limits.maxBudgetUsd },
    ...(maxRunUsd === null
      ? []
      : [{ limit: 'maxRunUsd', unit: 'usd', used: totals.committedUsd, max: maxRunUsd } as const]),
    { limit: 'maxTotalTokens', unit: 'tokens', used: totals.tokens, max: limits.maxTotalTokens },
    { limit: 'maxDurationMs', unit: 'ms', used: totals.activeMs, max: limits.maxDurationMs },
    ...(limits.maxToolCalls === undefined || limits.maxToolCalls === null
      ? []
      : [{ limit: 'maxToolCalls', unit: 'calls', used: spent.toolCalls ?? 0, max: limits.maxToolCalls } as const]),
    ...(spent.goal === undefined
      ? []
      : [{ limit: 'maxGoalTries', unit: 'tries', used: spent.goal.tries, max: limits.maxGoalTries ?? null } as const]),
    ...(cycle === undefined
      ? []
      : [{ limit: 'noProgress', unit: 'repeats', used: cycle.repeats, max: cycle.limit } as const]),
  ]
  if (terminal === undefined) return figures.map((each) => ({ ...each, isReached: false }))
  const ending = limitsOf(terminal)
  // What the signal says counts: a guard or a resume may have had another limit than the run began with.
  const told = terminal.signal.context['limit']
  const reached =
    figures.find(({ limit, max }) => ending.includes(limit) && (max === null || max === told))?.limit ?? ending[0]
  return figures.map((each) => {
    const isReached = each.limit === reached
    return { ...each, max: isReached && typeof told === 'number' ? told : each.max, isReached }
  })
}
