import { durationMs, longestDurationMs } from '@halting/core/adapters'
import type { AgentDefinition } from './definition.ts'
import { isAbsent } from './is-absent.ts'

/** An agent's limits as written, of any type, by flag name. */
export interface RawLimits {
  readonly maxTurns?: unknown
  readonly maxBudgetUsd?: unknown
  readonly maxTokens?: unknown
  readonly maxDuration?: unknown
  readonly maxToolCalls?: unknown
}

/** The limit names as users write them. */
export const limitNames = ['maxTurns', 'maxBudgetUsd', 'maxTokens', 'maxDuration', 'maxToolCalls'] as const

type Limits = Pick<AgentDefinition, 'maxTurns' | 'maxBudgetUsd' | 'maxTotalTokens' | 'maxDurationMs' | 'maxToolCalls'>

/**
 * Returns the limits, or a message about an invalid limit. Ignoring an invalid limit would leave the agent unbounded.
 */
export function limitsOf(raw: RawLimits): Limits | string {
  const { maxTurns, maxBudgetUsd, maxTokens, maxDuration, maxToolCalls } = raw
  const [turns, usd, tokens] = [numberOf(maxTurns), numberOf(maxBudgetUsd), numberOf(maxTokens)]
  const calls = numberOf(maxToolCalls)
  if (turns !== undefined && !isCount(turns)) return 'maxTurns must be a whole number above 0'
  if (calls !== undefined && !isCount(calls)) return 'maxToolCalls must be a whole number above 0'
  if (usd !== undefined && !(usd > 0 && usd < Infinity))
    return 'maxBudgetUsd must be a number of dollars above 0, such as 0.50'
  if (tokens !== undefined && !isCount(tokens)) return 'maxTokens must be a whole number above 0'
  const maxDurationMs = isAbsent(maxDuration) ? undefined : millisecondsOf(maxDuration)
  if (Number.isNaN(maxDurationMs)) return 'maxDuration must be a time with its unit, such as 90s, 10m or 1h30m'
  return {
    ...(turns !== undefined && { maxTurns: turns }),
    ...(usd !== undefined && { maxBudgetUsd: usd }),
    ...(tokens !== undefined && { maxTotalTokens: tokens }),
    ...(maxDurationMs !== undefined && { maxDurationMs }),
    ...(calls !== undefined && { maxToolCalls: calls }),
  }
}

/** NaN if the input is not a number. */
function numberOf(input: unknown): number | undefined {
  if (isAbsent(input)) return undefined
  return typeof input === 'number' || typeof input === 'string' ? Number(input) : NaN
}

function isCount(input: number): boolean {
  return Number.isSafeInteger(input) && input >= 1
}

/** NaN if the input is not a duration. */
function millisecondsOf(input: unknown): number {
  const value = typeof input === 'string' ? durationMs(input) : undefined
  return value !== undefined && value >= 1 && value <= longestDurationMs ? value : NaN
}
