import { ConfigurationError } from '../values/errors.ts'
import { any } from '../limits/combinators.ts'
import { throwInvalidOption, describeValue } from '../values/validators.ts'
import type { Model } from '../model/model.ts'
import type { RunContext, RunSettings } from './run-context.ts'
import { isAnyTool } from '../tools/check-tool.ts'
import { areOfferedByModel, toolDefinitionsOf } from '../tools/definitions.ts'
import type { LimitsChange, SettingsInForce } from '../state/settings-change.ts'

/** The context of a run whose settings were changed. @throws ConfigurationError for a model that the options do not have. */
export function contextWithSettings(original: RunContext, inForce: SettingsInForce | null): RunContext {
  if (inForce === null) return original
  const { model, permissionMode, thinking, limits = {}, tools, permissionUpdates } = inForce
  const settings: RunSettings = {
    ...original.settings,
    ...limitsWith(original, limits),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(thinking !== undefined && { thinking }),
    ...(permissionUpdates !== undefined && {
      permissionUpdates: [...original.settings.permissionUpdates, ...permissionUpdates],
    }),
  }
  const selected = model === undefined ? original.model : modelNamed(original, model)
  const needsOtherDefinitions = selected !== original.model && areOfferedByModel(original.tools)
  return {
    ...original,
    model: selected,
    settings,
    limits: { ...original.limits, maxTurns: settings.maxTurns },
    ...(needsOtherDefinitions && { toolDefinitions: toolDefinitionsOf(original.tools.values(), selected) }),
    ...(tools !== undefined && toolsWith({ ...original, model: selected }, tools)),
  }
}

/** Tools of the options take precedence over added tools of the same name. Missing tools are omitted: a call of one gets an error result. */
function toolsWith(
  { tools, moreTools, model }: RunContext,
  names: readonly string[],
): Pick<RunContext, 'tools' | 'toolDefinitions'> {
  const all = new Map(tools)
  for (const name of names) {
    if (all.has(name)) continue
    const tool = moreTools?.(name) ?? undefined
    if (tool === undefined) continue
    isAnyTool(`moreTools(${describeValue(name)})`, tool)
    if (tool.name !== name)
      throwInvalidOption(`The name of moreTools(${describeValue(name)})`, describeValue(name), tool.name)
    all.set(name, tool)
  }
  return { tools: all, toolDefinitions: toolDefinitionsOf(all.values(), model) }
}

type SettableLimits = Pick<
  RunSettings,
  'maxTurns' | 'maxBudgetUsd' | 'maxRunUsd' | 'maxTotalTokens' | 'maxDurationMs' | 'maxToolCalls' | 'maxGoalTries'
>

/** The bound of a guard still applies: the guard would stop the run there in any case. */
function limitsWith({ settings, guards }: RunContext, limits: LimitsChange): SettableLimits {
  const bounds = any(...guards.map(({ guard }) => guard)).bounds ?? {}
  const { maxTurns, maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs, maxToolCalls, maxGoalTries } = limits
  return {
    maxTurns: limitWith(settings.maxTurns, maxTurns),
    maxBudgetUsd: limitWith(settings.maxBudgetUsd, maxBudgetUsd),
    maxRunUsd: limitWith(settings.maxRunUsd, maxRunUsd, bounds.usd),
    maxTotalTokens: limitWith(settings.maxTotalTokens, maxTotalTokens, bounds.tokens),
    maxDurationMs: limitWith(settings.maxDurationMs, maxDurationMs, bounds.ms),
    maxToolCalls: limitWith(settings.maxToolCalls, maxToolCalls),
    // Always bounded, since the work on a goal is limited only by its tries.
    maxGoalTries: maxGoalTries ?? settings.maxGoalTries,
  }
}

function limitWith(original: number, set: number | null | undefined, bound = Infinity): number {
  return set === undefined ? original : Math.min(set ?? Infinity, bound)
}

/** @throws ConfigurationError when the options have no model of this id, and create none for this name. */
function modelNamed({ models, namedModels }: Pick<RunContext, 'models' | 'namedModels'>, id: string): Model {
  const model = models.find((each) => each.id === id)
  if (model !== undefined) return model
  const created = namedModels.named(id)
  // The created model may have the id of a known model. The known one is used then.
  if (created !== undefined) return models.find((each) => each.id === created.id) ?? created
  const known = models.map((each) => each.id).join(', ')
  throw new ConfigurationError(`Unknown model ${id}. Known models: ${known}. Add it to the option models.`)
}
