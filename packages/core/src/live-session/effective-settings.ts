import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { Model, Thinking } from '../model/model.ts'
import type { QueryOptions } from '../api/query-options.ts'
import { settingsOf } from '../api/options.ts'
import type { LimitsInForce } from './session.ts'

/** The effective settings that a person can change, except the model, which the engine knows. */
export interface EffectiveSettings {
  readonly permissionMode: string
  readonly thinking: Thinking | null
  readonly limits: LimitsInForce
}

/** The settings before any change. @throws ConfigurationError for invalid options. */
export function initialSettings(options: QueryOptions, permissionMode: string): EffectiveSettings {
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
export function changedSettings(
  before: EffectiveSettings,
  first: EffectiveSettings,
  change: SettingsChange,
): EffectiveSettings {
  const { permissionMode, thinking, limits = {} } = change
  return {
    permissionMode: permissionMode === undefined ? before.permissionMode : (permissionMode ?? first.permissionMode),
    thinking: thinking === undefined ? before.thinking : (thinking ?? first.thinking),
    limits: limitsWith(before.limits, limits),
  }
}

function limitsWith(before: LimitsInForce, change: LimitsChange): LimitsInForce {
  const limitAfter = (limit: number | null, changed: number | null | undefined): number | null =>
    changed === undefined ? limit : orNull(changed ?? Infinity)
  return {
    maxTurns: limitAfter(before.maxTurns, change.maxTurns),
    maxBudgetUsd: limitAfter(before.maxBudgetUsd, change.maxBudgetUsd),
    maxTotalTokens: limitAfter(before.maxTotalTokens, change.maxTotalTokens),
    maxDurationMs: limitAfter(before.maxDurationMs, change.maxDurationMs),
    maxRunUsd: limitAfter(before.maxRunUsd, change.maxRunUsd),
    maxToolCalls: limitAfter(before.maxToolCalls, change.maxToolCalls),
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
