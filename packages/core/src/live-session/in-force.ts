import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { Model, Thinking } from '../model/model.ts'
import type { QueryOptions } from '../api/query-options.ts'
import { settingsOf } from '../api/options.ts'
import type { LimitsInForce } from './session.ts'

/** The effective settings that a person can change, except the model, which the engine knows. */
export interface InForce {
  readonly permissionMode: string
  readonly thinking: Thinking | null
  readonly limits: LimitsInForce
}

/** The settings before any change. @throws ConfigurationError for invalid options. */
export function inForceAtFirst(options: QueryOptions, permissionMode: string): InForce {
  const { maxTurns, maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs, maxToolCalls, thinking } =
    settingsOf(options)
  return {
    permissionMode,
    thinking,
    limits: {
      maxTurns: orNull(maxTurns),
      maxBudgetUsd: orNull(maxBudgetUsd),
      maxTotalTokens: orNull(maxTotalTokens),
      maxDurationMs: orNull(maxDurationMs),
      maxRunUsd: orNull(maxRunUsd),
      maxToolCalls: orNull(maxToolCalls),
    },
  }
}

/** The settings after a change. A setting that is reset has its initial value. */
export function inForceWith(before: InForce, first: InForce, change: SettingsChange): InForce {
  const { permissionMode, thinking, limits = {} } = change
  return {
    permissionMode: permissionMode === undefined ? before.permissionMode : (permissionMode ?? first.permissionMode),
    thinking: thinking === undefined ? before.thinking : (thinking ?? first.thinking),
    limits: limitsWith(before.limits, limits),
  }
}

function limitsWith(before: LimitsInForce, change: LimitsChange): LimitsInForce {
  const set = (limit: number | null, given: number | null | undefined): number | null =>
    given === undefined ? limit : orNull(given ?? Infinity)
  return {
    maxTurns: set(before.maxTurns, change.maxTurns),
    maxBudgetUsd: set(before.maxBudgetUsd, change.maxBudgetUsd),
    maxTotalTokens: set(before.maxTotalTokens, change.maxTotalTokens),
    maxDurationMs: set(before.maxDurationMs, change.maxDurationMs),
    maxRunUsd: set(before.maxRunUsd, change.maxRunUsd),
    maxToolCalls: set(before.maxToolCalls, change.maxToolCalls),
  }
}

/** Ids of the models to choose from. */
export function modelIdsOf({ model, fallbackModel, models = [] }: QueryOptions): readonly string[] {
  const all: readonly Model[] = [model, ...(fallbackModel === undefined ? [] : [fallbackModel]), ...models]
  return [...new Set(all.map(({ id }) => id))]
}

/** Null for an infinite limit. */
export function orNull(limit: number): number | null {
  return limit === Infinity ? null : limit
}
