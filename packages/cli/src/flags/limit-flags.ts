import type { LimitsChange } from '@halting/core'
import type { Flags } from './flags.ts'

type LimitName = keyof LimitsChange

/** Limits as a session sets them, and the flags that name them. */
export const limitFlags: {
  readonly [name in LimitName]-?: 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'maxDuration' | 'untilTries'
} = {
  maxTurns: 'maxTurns',
  maxBudgetUsd: 'maxBudgetUsd',
  maxTotalTokens: 'maxTokens',
  maxDurationMs: 'maxDuration',
  maxGoalTries: 'untilTries',
}

// The names of a record over the limits are those of the limits.
export const limitNames = Object.keys(limitFlags) as readonly LimitName[]

/** The limits that flags name, as a session sets them. */
export function limitsIn({ maxTurns, maxBudgetUsd, maxTokens, maxDuration, untilTries }: Flags): {
  readonly [name in LimitName]?: number
} {
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
    ...(maxDuration !== undefined && { maxDurationMs: maxDuration }),
    ...(untilTries !== undefined && { maxGoalTries: untilTries }),
  }
}
