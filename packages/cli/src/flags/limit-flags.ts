import type { LimitsChange } from '@halting/core'
import type { Flags } from './flags.ts'

type LimitName = keyof LimitsChange

/** Limits as a session sets them, and the flags that name them. */
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

// The names of a record over the limits are those of the limits.
export const limitNames = Object.keys(limitFlags) as readonly LimitName[]

/** The limits that flags name, as a session sets them. */
export function limitsIn(flags: Flags): { readonly [name in LimitName]?: number } {
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
