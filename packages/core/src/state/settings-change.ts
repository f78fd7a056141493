import type { GoalSpec } from '../verification/goal-record.ts'
import type { Thinking } from '../model/model.ts'
import { isSameUpdate, type PermissionUpdate } from '../permissions/permission-update.ts'

/** Limits as they are set while a run goes on. What is left out stays; `Infinity` or null takes the limit away. */
export type LimitsChange = {
  /** Turns of the whole run, those that were made counted. */
  readonly maxTurns?: number | null
  /** US dollars of the whole run, of the session in a `QueryEngine`. */
  readonly maxBudgetUsd?: number | null
  /** US dollars of the whole run, also in a `QueryEngine`. */
  readonly maxRunUsd?: number | null
  /** Input (cached too) and output of the whole run. */
  readonly maxTotalTokens?: number | null
  /** Active milliseconds of the whole run. */
  readonly maxDurationMs?: number | null
  /** Calls of tools of the whole run, those of subagents too. */
  readonly maxToolCalls?: number | null
  /** How often an answer is sent back because a goal is not met, those times counted that it was; null for what the options say. */
  readonly maxGoalTries?: number | null
}

// Spec R-SET-1.
/**
 * What a person sets while a run goes on. JSON: it is put on record as it is, and counts from there on.
 * What is left out stays; null goes back to what the options say.
 */
export type SettingsChange = {
  /** Id of one of the models in the options, or a name by which `modelNamed` of the options makes one. */
  readonly model?: string | null
  /** By a name that the permissions know. */
  readonly permissionMode?: string | null
  /** How much the model may think from the next request on. */
  readonly thinking?: Thinking | null
  /** Limits to replace; those that are left out stay. */
  readonly limits?: LimitsChange
  /** Names of tools beside those of the options, which `moreTools` gives: all of them, in place of those before. */
  readonly tools?: readonly string[] | null
  /** Goals, in place of those before; their tries begin anew. None: nothing is checked. Null: those of the options. */
  readonly until?: readonly GoalSpec[] | null
}

/** A change as a run takes it: what a person set, or said to a question that is to hold from then on. */
export type RunChange = SettingsChange & {
  /** In addition to those before. */
  readonly permissionUpdates?: readonly PermissionUpdate[]
  /** Beside `until`: the goals of the options when it was set. Not on record by itself. */
  readonly untilBefore?: readonly GoalSpec[]
}

// Spec R-SET-4.
/** What stands of all changes so far, in place of the options. A lap records it, so that a resume knows. */
export type SettingsInForce = {
  /** Id of the model of the next request. */
  readonly model?: string
  /** The model was set after the fallback had taken over: it is asked, and not the fallback. */
  readonly isPastFallback?: true
  /** The permission mode. */
  readonly permissionMode?: string
  /** How much the model may think. */
  readonly thinking?: Thinking
  /** The limits that were set. */
  readonly limits?: LimitsChange
  /** Names of tools in addition to those of the options. */
  readonly tools?: readonly string[]
  /** The goals that were set. */
  readonly until?: readonly GoalSpec[]
  /** The goals of the options when `until` was set: whoever goes on with these again has those that were set. */
  readonly untilBefore?: readonly GoalSpec[]
  /** Changes of permission rules that a person agreed to. */
  readonly permissionUpdates?: readonly PermissionUpdate[]
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

/** What an answer of a person changes: a mode counts as one that was set. */
export function changeOf(updates: readonly PermissionUpdate[]): RunChange {
  const mode = updates.findLast((update) => update.type === 'setMode')
  return { permissionUpdates: updates, ...(mode?.type === 'setMode' && { permissionMode: mode.mode }) }
}

/** What the next run of a session begins with: what was set, and what persons said in the run that ended. */
export function carriedOn(before: SettingsInForce | null, ran: SettingsInForce | null): SettingsInForce | null {
  const known = before?.permissionUpdates ?? []
  const learned = (ran?.permissionUpdates ?? []).filter((update) => !known.some((one) => isSameUpdate(one, update)))
  return learned.length === 0 ? before : inForceAfter(before, changeOf(learned), false)
}

/**
 * What an earlier process of the session learned for all of it. What was kept in files is read from there, and a mode is that of the process: whoever starts
 * one in `plan` is not to find it in another.
 */
export function keptOf(ran: SettingsInForce | null | undefined): SettingsInForce | null {
  const updates = (ran?.permissionUpdates ?? []).filter(
    ({ type, destination }) => destination === 'session' && type !== 'setMode',
  )
  return updates.length === 0 ? null : inForceAfter(null, { permissionUpdates: updates }, false)
}
