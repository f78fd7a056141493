import type { LimitsChange } from '@halting/core'
import type { Flags } from './flags.ts'

type LimitName = keyof LimitsChange

/** The flag of each limit of a session. */
export const limitFlags: {
  readonly [name in LimitName]-?:
    | 'maxTurns'
    | 'maxBudgetUsd'
    | 'maxRunUsd'
    | 'maxTokens'
    | 'maxDuration'
    | 'maxToolCalls'
    | 'untilTries'
} = {
  maxTurns: 'maxTurns',
  maxBudgetUsd: 'maxBudgetUsd',
  maxRunUsd: 'maxRunUsd',
  maxTotalTokens: 'maxTokens',
  maxDurationMs: 'maxDuration',
  maxToolCalls: 'maxToolCalls',
  maxGoalTries: 'untilTries',
}

// This cast is safe: the keys of the record are the names of limits.
export const limitNames = Object.keys(limitFlags) as readonly LimitName[]

/** The limits that the flags set, by the names of a session's limits. */
export function limitsFromFlags(flags: Flags): { readonly [name in LimitName]?: number } {
  const { maxTurns, maxBudgetUsd, maxRunUsd, maxTokens, maxDuration, maxToolCalls, untilTries } = flags
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxRunUsd !== undefined && { maxRunUsd }),
    ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
    ...(maxDuration !== undefined && { maxDurationMs: maxDuration }),
    ...(maxToolCalls !== undefined && { maxToolCalls }),
    ...(untilTries !== undefined && { maxGoalTries: untilTries }),
  }
}
