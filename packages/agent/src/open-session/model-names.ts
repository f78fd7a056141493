import { ConfigurationError } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import {
  askedAs,
  type KnownModel,
  keyVariablesOf,
  knownModels,
  modelAliases,
  refuseKeyName,
  withoutAlias,
} from '@halting/models'
import { isAiSdkName, isAiSdkNameWhole, type Settings } from '@halting/policy/settings'
import { nearest } from '../nearest.ts'
import { type AskedBy, modelSettingsOf } from './model-settings.ts'
import { checkPackageName, isBehindPackage, nearestAlias } from '../providers/ai-sdk-models.ts'

/**
 * Checks the name of a model: that of a known service, one behind a provider package, or an alias of the settings.
 * @throws ConfigurationError for any other name, with the nearest known one.
 */
export function checkModelName(name: string, env: SessionPorts['env'], settings: Pick<Settings, 'aiSdk'> = {}): void {
  if (isBehindPackage(name, settings)) {
    // A key in the place of a name is not repeated. Names of models may look like one.
    if (isAiSdkName(name) && !isAiSdkNameWhole(name)) refuseKeyName(name, env)
    return checkPackageName(name, settings)
  }
  // A name of a known service is looked at where its model is made.
  if (keyVariablesOf(withoutAlias(name)) !== undefined) return
  refuseKeyName(name, env)
  const meant = nearestAlias(name, settings) ?? nearestModel(name)
  throw new ConfigurationError(
    `No known service has a model "${name}".${meant === undefined ? '' : ` Did you mean ${meant}?`} halting models lists known models.`,
  )
}

/** The first of the variables that holds a key; undefined where none does. */
export function keyFound(variables: readonly string[], env: SessionPorts['env']): string | undefined {
  return variables.find((variable) => (env[variable]?.trim() ?? '') !== '')
}

/** Known models of services whose key is in the environment, and that can be asked by the API in force. */
export function modelsWithKey(run: AskedBy): readonly KnownModel[] {
  return askableModels(run).filter(({ keyVariables }) => keyFound(keyVariables, run.env) !== undefined)
}

/** Known models without those that the API in force does not have. */
export function askableModels(run: AskedBy): readonly KnownModel[] {
  return knownModels().filter(({ name }) => askedAs(name, run.env, modelSettingsOf(run)) !== undefined)
}

/** The known name that was most likely meant: that of the same model at its service, else the nearest by letters. */
export function nearestModel(name: string): string | undefined {
  const given = name.toLowerCase()
  const names = [...knownModels().map((model) => model.name), ...Object.keys(modelAliases())]
  const named = (model: string | undefined): string | undefined => names.find((known) => lastPart(known) === model)
  return named(lastPart(given)) ?? byParts(given) ?? nearest(given, names) ?? named(nearest(given, names.map(lastPart)))
}

/** The known name that holds the parts of this one in their order, and the fewest others: `sonnet-4-5` is in `claude-sonnet-4-5`. */
function byParts(name: string): string | undefined {
  const wanted = partsOf(lastPart(name))
  if (!wanted.some((part) => /[a-z]/.test(part))) return undefined
  const holding = knownModels().flatMap((model) => {
    const parts = partsOf(lastPart(model.name))
    return isWithin(wanted, parts) ? [{ name: model.name, others: parts.length - wanted.length }] : []
  })
  return holding.toSorted((one, other) => one.others - other.others)[0]?.name
}

/** Letters and figures, each by themselves: `gpt5.1` has the same as `gpt-5-1`. */
function partsOf(name: string): readonly string[] {
  return name.toLowerCase().match(/[a-z]+|\d+/g) ?? []
}

function isWithin(some: readonly string[], all: readonly string[]): boolean {
  let from = 0
  return some.every((each) => {
    const at = all.indexOf(each, from)
    from = at + 1
    return at >= 0
  })
}

/** The name of a model without its service. */
function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

/** A known name that differs in what parts it (`claude-sonnet-4.5`), or in one or two letters: most likely a slip. Other figures are another version. */
export function slipOf(name: string): string | undefined {
  const wanted = withoutAlias(name).replace(/^anthropic\//, '')
  const names = knownModels().map((model) => model.name)
  if (names.includes(wanted)) return undefined
  const same = names.find((known) => partsOf(known).join(' ') === partsOf(wanted).join(' '))
  if (same !== undefined) return same
  const meant = nearest(wanted, names, 2)
  return meant !== undefined && letters(meant) !== letters(wanted) ? meant : undefined
}

function letters(name: string): string {
  return name.replaceAll(/[^a-z]/gi, '').toLowerCase()
}
