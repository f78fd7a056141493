import type { Thinking } from '../model/model.ts'

/** Limits as they are set while a run goes on. What is left out stays; `Infinity` or null takes the limit away. */
export type LimitsChange = {
  /** Turns of the whole run, those that were made counted. */
  readonly maxTurns?: number | null
  /** US dollars of the whole run, of the session in a `QueryEngine`. */
  readonly maxBudgetUsd?: number | null
  /** Input (cached too) and output of the whole run. */
  readonly maxTotalTokens?: number | null
  /** Active milliseconds of the whole run. */
  readonly maxDurationMs?: number | null
}

/**
 * What a person sets while a run goes on. JSON: it is put on record as it is, and counts from there on (spec R-SET-1).
 * What is left out stays; null goes back to what the options say.
 */
export type SettingsChange = {
  /** Id of one of the models in the options. */
  readonly model?: string | null
  /** By a name that the permissions know. */
  readonly permissionMode?: string | null
  readonly thinking?: Thinking | null
  readonly limits?: LimitsChange
}

/** What stands of all changes so far, in place of the options. A lap records it, so that a resume knows (spec R-SET-4). */
export type SettingsInForce = {
  readonly model?: string
  /** The model was set after the fallback had taken over: it is asked, and not the fallback. */
  readonly isPastFallback?: true
  readonly permissionMode?: string
  readonly thinking?: Thinking
  readonly limits?: LimitsChange
}

/** One change after another, as one. */
export function bothChanges(first: SettingsChange | undefined, second: SettingsChange): SettingsChange {
  if (first === undefined) return second
  const { limits } = second
  return { ...first, ...second, ...(limits !== undefined && { limits: { ...first.limits, ...limits } }) }
}

/** What is in force after a change. `hasFallenBack`: the fallback model had taken over by then. */
export function inForceAfter(
  before: SettingsInForce | null,
  change: SettingsChange,
  hasFallenBack: boolean,
): SettingsInForce {
  const { model, isPastFallback, permissionMode, thinking, limits } = before ?? {}
  const after = {
    model: change.model === undefined ? model : change.model,
    isPastFallback: change.model === undefined || !hasFallenBack ? isPastFallback : true,
    permissionMode: change.permissionMode === undefined ? permissionMode : change.permissionMode,
    thinking: change.thinking === undefined ? thinking : change.thinking,
    limits: change.limits === undefined ? limits : { ...limits, ...change.limits },
  }
  return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== undefined && value !== null))
}
