import { ConfigurationError } from '../errors.ts'
import type { RunContext } from '../run-context.ts'
import { checkBudgetable, checkLimits, checkThinking } from './check-settings.ts'
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
  const { model, permissionMode, thinking, limits } = change
  if (typeof permissionMode === 'string') checkMode(context, permissionMode)
  if (thinking !== undefined && thinking !== null) checkThinking(thinking)
  const checked: SettingsChange = {
    ...(model !== undefined && { model }),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(thinking !== undefined && { thinking }),
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
  throw new ConfigurationError(`There is no permission mode ${mode}: ${known}.`)
}

/** `Infinity` is no JSON. @throws ConfigurationError for a limit that is none. */
function recordedLimits({ maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs }: LimitsChange): LimitsChange {
  const recorded: [name: string, limit: number | null][] = []
  for (const [name, limit] of Object.entries({ maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs })) {
    if (limit === undefined) continue
    if (limit !== null && !(limit > 0))
      throw new ConfigurationError(`${name} must be above 0, but it is ${limit}. Set null for no limit.`)
    recorded.push([name, limit === Infinity ? null : limit])
  }
  return Object.fromEntries(recorded)
}
