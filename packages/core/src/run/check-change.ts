import { plainTextOf } from '../model/content.ts'
import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isListOf, isName, isNumber, listOf, throwInvalidOption } from '../values/validators.ts'
import { checkedSpecs, checkGoalTries, checkKnown, specOf } from '../goals/run-goals.ts'
import { limitKinds } from '../state/limit-request.ts'
import type { RunContext } from './run-context.ts'
import { checkBudgetable, checkedThinking, checkLimits } from './check-settings.ts'
import { contextWithSettings } from './context-with-settings.ts'
import {
  settingsAfter,
  type LimitsChange,
  type SettingsChange,
  type SettingsInForce,
} from '../state/settings-change.ts'

/**
 * Validates a change of settings and returns its recorded form: JSON, with known fields only. @param context The context
 * built from the options.
 * @throws ConfigurationError for an invalid setting; then the whole change is rejected.
 */
export function checkedChange(
  context: RunContext,
  inForce: SettingsInForce | null,
  change: SettingsChange,
): SettingsChange {
  checkNames('A change', 'setting', change, settingNames)
  const { model, permissionMode, thinking, limits, tools, until } = change
  // Goals are recorded by name, so that a resume or a replay with other options has the same goals.
  const specs =
    until === null ? context.goals.configured.map(specOf) : until === undefined ? until : checkedSpecs(until)
  if (specs !== undefined) checkKnown(context.goals, specs)
  if (tools !== undefined && tools !== null) isListOf(isName)('tools', tools)
  if (permissionMode !== undefined && permissionMode !== null) checkMode(context, permissionMode)
  const checked: SettingsChange = {
    ...(model !== undefined && { model }),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(thinking !== undefined && { thinking: thinking === null ? null : checkedThinking(thinking) }),
    ...(limits !== undefined && { limits: recordedLimits(limits) }),
    ...(specs !== undefined && { until: specs }),
    ...(tools !== undefined && { tools: tools === null ? null : [...new Set(tools)] }),
  }
  const after = contextWithSettings(context, settingsAfter(inForce, checked, false))
  checkLimits(after.settings)
  for (const used of [after.model, after.fallbackModel, ...(after.contextDefence.models ?? [])])
    if (used !== null) checkBudgetable(used, after.prices, after.settings)
  return checked
}

const settingNames: { readonly [name in keyof SettingsChange]-?: true } = {
  model: true,
  permissionMode: true,
  thinking: true,
  limits: true,
  tools: true,
  until: true,
}

/** Plain JavaScript may pass any fields. @throws ConfigurationError for an unknown field, which would be ignored. */
function checkNames(subject: string, field: string, value: object, known: object): void {
  const fields = fieldsOf(value) ?? throwInvalidOption(subject, 'an object', value)
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined)
    throw new ConfigurationError(`Unknown ${field} ${unknown}. Known: ${listOf(Object.keys(known))}.`)
}

function checkMode({ permissions: { modes = [] } }: RunContext, mode: string): void {
  if (modes.includes(mode)) return
  const known = modes.length === 0 ? 'these permissions have none' : `there are ${modes.join(', ')}`
  throw new ConfigurationError(`Unknown permission mode ${plainTextOf(mode)}: ${known}.`)
}

/** `Infinity` is not JSON, so it becomes null. @throws ConfigurationError for an invalid limit. */
function recordedLimits(limits: LimitsChange): LimitsChange {
  checkNames('limits', 'limit', limits, limitKinds)
  const { maxGoalTries } = limits
  if (maxGoalTries !== undefined && maxGoalTries !== null) checkGoalTries(maxGoalTries)
  const recorded: [name: string, limit: number | null][] = []
  for (const name of Object.keys(limitKinds) as (keyof LimitsChange)[]) {
    const limit = limits[name]
    if (limit === undefined) continue
    if (limit !== null) isNumber(name, limit)
    if (limit !== null && !(limit > 0))
      throw new ConfigurationError(`${name} must be above 0, but it is ${limit}. Set null for no limit.`)
    recorded.push([name, limit === Infinity ? null : limit])
  }
  return Object.fromEntries(recorded)
}
