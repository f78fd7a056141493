import type { GoalSpec } from '../verification/goal-record.ts'
import type { Thinking } from '../model/model.ts'
import { isSameUpdate, type PermissionUpdate } from '../permissions/permission-update.ts'

/** Limits as they are changed during a run. Omitted limits do not change; `Infinity` or null removes a limit. */
export type LimitsChange = {
  /** Turns of the whole run, including those already made. */
  readonly maxTurns?: number | null
  /** US dollars of the whole run, or of the session in a `QueryEngine`. */
  readonly maxBudgetUsd?: number | null
  /** US dollars of the whole run, also in a `QueryEngine`. */
  readonly maxRunUsd?: number | null
  /** Input tokens (including cached ones) and output tokens of the whole run. */
  readonly maxTotalTokens?: number | null
  /** Active milliseconds of the whole run. */
  readonly maxDurationMs?: number | null
  /** Tool calls of the whole run, including those of subagents. */
  readonly maxToolCalls?: number | null
  /** How often the model must continue because a goal is not met, including earlier tries; null for the value of the options. */
  readonly maxGoalTries?: number | null
}

// Spec R-SET-1.
/**
 * A person's change of settings during a run. JSON: it is recorded unchanged, and applies from then on. Omitted settings
 * do not change; null restores the value of the options.
 */
export type SettingsChange = {
  /** Id of one of the models in the options, or a name for which `modelNamed` of the options creates one. */
  readonly model?: string | null
  /** A mode name that the permissions define. */
  readonly permissionMode?: string | null
  /** How much the model may think from the next request on. */
  readonly thinking?: Thinking | null
  /** Limits to replace; omitted limits do not change. */
  readonly limits?: LimitsChange
  /** Names of tools in addition to those of the options, which `moreTools` returns. Replaces the previous list. */
  readonly tools?: readonly string[] | null
  /** Goals that replace the previous ones, with new tries. With an empty list, nothing is checked. Null: the goals of the options. */
  readonly until?: readonly GoalSpec[] | null
}

/** A change as a run applies it: a person's change of settings, or permission changes from a person's answer. */
export type RunChange = SettingsChange & {
  /** Permission changes that apply in addition to earlier ones. */
  readonly permissionUpdates?: readonly PermissionUpdate[]
  /** The goals of the options at the time of a change of `until`. Not recorded on its own. */
  readonly untilBefore?: readonly GoalSpec[]
}

// Spec R-SET-4.
/** The combined effect of all changes so far, in place of the options. Each iteration record contains it for a resume. */
export type SettingsInForce = {
  /** Id of the model of the next request. */
  readonly model?: string
  /** Set if the model was changed after the fallback model was selected: the fallback is not used then. */
  readonly isPastFallback?: true
  /** The permission mode. */
  readonly permissionMode?: string
  /** How much the model may think. */
  readonly thinking?: Thinking
  /** The limits that were changed. */
  readonly limits?: LimitsChange
  /** Names of tools in addition to those of the options. */
  readonly tools?: readonly string[]
  /** The goals that were set. */
  readonly until?: readonly GoalSpec[]
  /** The goals of the options when `until` was set. A resume with the same options keeps the goals that were set. */
  readonly untilBefore?: readonly GoalSpec[]
  /** Changes of permission rules that a person agreed to. */
  readonly permissionUpdates?: readonly PermissionUpdate[]
}

/** Merges two consecutive changes into one. */
export function mergeChanges(first: SettingsChange | undefined, second: SettingsChange): SettingsChange {
  if (first === undefined) return second
  const { limits } = second
  return { ...first, ...second, ...(limits !== undefined && { limits: { ...first.limits, ...limits } }) }
}

/** The settings after a change. `hasFallenBack`: whether the fallback model had taken over by then. */
export function settingsAfter(
  before: SettingsInForce | null,
  change: RunChange,
  hasFallenBack: boolean,
): SettingsInForce {
  const {
    model,
    isPastFallback,
    permissionMode,
    thinking,
    limits,
    tools,
    until,
    untilBefore,
    permissionUpdates: updates,
  } = before ?? {}
  const after = {
    model: change.model === undefined ? model : change.model,
    isPastFallback: change.model === undefined || !hasFallenBack ? isPastFallback : true,
    permissionMode: change.permissionMode === undefined ? permissionMode : change.permissionMode,
    thinking: change.thinking === undefined ? thinking : change.thinking,
    limits: change.limits === undefined ? limits : { ...limits, ...change.limits },
    tools: change.tools === undefined ? tools : change.tools,
    until: change.until === undefined ? until : change.until,
    untilBefore: change.until === undefined ? untilBefore : change.until === null ? null : change.untilBefore,
    permissionUpdates:
      change.permissionUpdates === undefined ? updates : [...(updates ?? []), ...change.permissionUpdates],
  }
  return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== undefined && value !== null))
}

/** The change of settings in a person's answer. A mode in the answer counts as a mode that was set. */
export function permissionChange(updates: readonly PermissionUpdate[]): RunChange {
  const mode = updates.findLast((update) => update.type === 'setMode')
  return { permissionUpdates: updates, ...(mode?.type === 'setMode' && { permissionMode: mode.mode }) }
}

/** The settings of a session's next run: those that were set, and the permission changes of the run that ended. */
export function carriedSettings(
  before: SettingsInForce | null,
  endedWith: SettingsInForce | null,
): SettingsInForce | null {
  const known = before?.permissionUpdates ?? []
  const learned = (endedWith?.permissionUpdates ?? []).filter(
    (update) => !known.some((one) => isSameUpdate(one, update)),
  )
  return learned.length === 0 ? before : settingsAfter(before, permissionChange(learned), false)
}

/**
 * The session's permission changes of an earlier process. Changes that were saved to files are read from those files. A
 * permission mode belongs to one process, so a session that was started in `plan` does not carry that mode over.
 */
export function sessionSettings(endedWith: SettingsInForce | null | undefined): SettingsInForce | null {
  const updates = (endedWith?.permissionUpdates ?? []).filter(
    ({ type, destination }) => destination === 'session' && type !== 'setMode',
  )
  return updates.length === 0 ? null : settingsAfter(null, { permissionUpdates: updates }, false)
}
