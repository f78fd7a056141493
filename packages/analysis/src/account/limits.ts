import type { RunResult } from '@halting/core'
import { limitOfResult, type RunProgress } from '@halting/core/adapters'
import {
  turnsBegun,
  defaultRepeats,
  nearestCycle,
  type RunLimits,
  startOfRecord,
  type StepRecord,
} from '@halting/core/steps'

/** The limits that are reported: those of the options, that of a cost guard, and the limit on repeated turns. */
export type LimitName =
  | 'maxTurns'
  | 'maxBudgetUsd'
  | 'maxRunUsd'
  | 'maxTotalTokens'
  | 'maxDurationMs'
  | 'maxToolCalls'
  | 'maxGoalTries'
  | 'noProgress'

/** How full a limit was at the end of the run, or is now. */
export interface LimitFigures {
  /** Which limit it is. */
  readonly limit: LimitName
  /** Unit of `used` and `max`. */
  readonly unit: 'turns' | 'calls' | 'usd' | 'tokens' | 'ms' | 'tries' | 'repeats'
  /** The amount used. */
  readonly used: number
  /** The limit. Null: no limit was set, or the record of an earlier version does not say. */
  readonly max: number | null
  /** Whether the run ended because of this limit. */
  readonly isReached: boolean
}

/** The limits to assume for a record that does not state them. */
export const unknownLimits: RunLimits = Object.freeze({
  maxTurns: null,
  maxBudgetUsd: null,
  maxRunUsd: null,
  maxTotalTokens: null,
  maxDurationMs: null,
  spentBeforeUsd: 0,
})

/** The limits that the run began with, updated by changes that a person made during the run. */
export function limitsInForce(records: readonly StepRecord[]): RunLimits {
  let limits = startOfRecord(records).start.limits ?? unknownLimits
  for (const record of records) {
    if (record.type !== 'control' || record.key.includes('/agent:')) continue
    const set = Object.entries(record.control.settings?.limits ?? {})
    const initialTries = startOfRecord(records).start.limits?.maxGoalTries
    // `Infinity` removes a limit, and files store it as null. Goals always have a limit on tries: null means the limit of the options.
    const changed = set.map(([name, limit]) => {
      if (name === 'maxGoalTries') return [name, limit ?? initialTries] as const
      return [name, limit === Infinity ? null : limit] as const
    })
    limits = { ...limits, ...Object.fromEntries(changed) }
  }
  return limits
}

interface Reached {
  readonly spent: RunProgress
  /** Whether a turn was granted and its model request has not been made. */
  readonly isTurnOpen: boolean
  readonly totals: { readonly tokens: number; readonly committedUsd: number; readonly activeMs: number }
  readonly terminal: RunResult | undefined
}

/**
 * The limits that an ending may report. Dollars may also be limited by the run: records of earlier versions do not say which limit it was. Shared
 * budgets are not included.
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
  // Uses the limit of the signal: a guard or a resume may have used another limit than the run began with.
  const signalLimit = terminal.signal.context['limit']
  const reached =
    figures.find(({ limit, max }) => ending.includes(limit) && (max === null || max === signalLimit))?.limit ??
    ending[0]
  return figures.map((each) => {
    const isReached = each.limit === reached
    return { ...each, max: isReached && typeof signalLimit === 'number' ? signalLimit : each.max, isReached }
  })
}
