import { plainTextOf } from '../content.ts'
import { ConfigurationError } from '../errors.ts'
import { isJsonObject } from '../json.ts'
import type { RunContext } from '../run-context.ts'
import { checkBudgetable, checkedThinking, checkLimits } from './check-settings.ts'
import { contextWith } from './context-with.ts'
import { inForceAfter, type LimitsChange, type SettingsChange, type SettingsInForce } from './settings-change.ts'

/**
 * The change as it is put on record: JSON, and nothing in it but what is known.
 * @param context That of the options.
 * @throws ConfigurationError for what cannot be set; then nothing is.
 */
export function checkedChange(
  context: RunContext,
  inForce: SettingsInForce | null,
  change: SettingsChange,
): SettingsChange {
  if (!isJsonObject(change)) throw new ConfigurationError('A change of settings must be an object, such as { model }.')
  const { model, permissionMode, thinking, limits } = change
  if (permissionMode !== undefined && permissionMode !== null) checkMode(context, permissionMode)
  const checked: SettingsChange = {
    ...(model !== undefined && { model }),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(thinking !== undefined && { thinking: thinking === null ? null : checkedThinking(thinking) }),
    ...(limits !== undefined && { limits: recordedLimits(limits) }),
  }
  const after = contextWith(context, inForceAfter(inForce, checked, false))
  checkLimits(after.settings)
  for (const asked of [after.model, after.fallbackModel, ...(after.contextDefence.models ?? [])])
    if (asked !== null) checkBudgetable(asked, after.prices, after.settings)
  return checked
}

function checkMode({ permissions: { modes = [] } }: RunContext, mode: string): void {
  if (modes.includes(mode)) return
  const known = modes.length === 0 ? 'these permissions have none' : `there are ${modes.join(', ')}`
  throw new ConfigurationError(`There is no permission mode ${plainTextOf(mode)}: ${known}.`)
}

/** `Infinity` is no JSON. @throws ConfigurationError for a limit that is none. */
function recordedLimits(limits: LimitsChange): LimitsChange {
  if (!isJsonObject(limits)) throw new ConfigurationError('limits must be an object, such as { maxTurns: 20 }.')
  const { maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs } = limits
  const recorded: [name: string, limit: number | null][] = []
  for (const [name, limit] of Object.entries({ maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs })) {
    if (limit === undefined) continue
    if (limit !== null && !(typeof limit === 'number' && limit > 0))
      throw new ConfigurationError(`${name} must be above 0, but it is ${String(limit)}. Set null for no limit.`)
    recorded.push([name, limit === Infinity ? null : limit])
  }
  return Object.fromEntries(recorded)
}
