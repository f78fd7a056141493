import { ConfigurationError } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import {
  requestableModelName,
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
 * Checks the name of a model: one of a known service, one behind a provider package, or an alias of the settings.
 * @throws ConfigurationError for any other name, with the nearest known one.
 */
export function checkModelName(name: string, env: SessionPorts['env'], settings: Pick<Settings, 'aiSdk'> = {}): void {
  if (isBehindPackage(name, settings)) {
    // Does not repeat an API key that was passed in place of a name. Model names may look like a key.
    if (isAiSdkName(name) && !isAiSdkNameWhole(name)) refuseKeyName(name, env)
    return checkPackageName(name, settings)
  }
  // Names of a known service are checked when the model is created.
  if (keyVariablesOf(withoutAlias(name)) !== undefined) return
  refuseKeyName(name, env)
  const suggestion = nearestAlias(name, settings) ?? nearestModel(name)
  throw new ConfigurationError(
    `No known service has a model "${name}".${suggestion === undefined ? '' : ` Did you mean ${suggestion}?`} halting models lists known models.`,
  )
}

/** Returns the first variable that has a key; undefined if none has. */
export function firstKeyVariable(variables: readonly string[], env: SessionPorts['env']): string | undefined {
  return variables.find((variable) => (env[variable]?.trim() ?? '') !== '')
}

/** Known models of services whose key is in the environment, and that the effective API offers. */
export function modelsWithKey(run: AskedBy): readonly KnownModel[] {
  return askableModels(run).filter(({ keyVariables }) => firstKeyVariable(keyVariables, run.env) !== undefined)
}

/** Known models that the effective API offers. */
export function askableModels(run: AskedBy): readonly KnownModel[] {
  return knownModels().filter(({ name }) => requestableModelName(name, run.env, modelSettingsOf(run)) !== undefined)
}

/** Returns the known name that was probably meant: the same model at its service, otherwise the nearest spelling. */
export function nearestModel(name: string): string | undefined {
  const lowerCase = name.toLowerCase()
  const names = [...knownModels().map((model) => model.name), ...Object.keys(modelAliases())]
  const named = (model: string | undefined): string | undefined => names.find((known) => lastPart(known) === model)
  return (
    named(lastPart(lowerCase)) ??
    byParts(lowerCase) ??
    nearest(lowerCase, names) ??
    named(nearest(lowerCase, names.map(lastPart)))
  )
}

/**
 * Returns the known name that contains the parts of this name in order, with the fewest other parts: `sonnet-4-5`
 * matches `claude-sonnet-4-5`.
 */
function byParts(name: string): string | undefined {
  const wantedParts = partsOf(lastPart(name))
  if (!wantedParts.some((part) => /[a-z]/.test(part))) return undefined
  const holding = knownModels().flatMap((model) => {
    const parts = partsOf(lastPart(model.name))
    return isWithin(wantedParts, parts) ? [{ name: model.name, others: parts.length - wantedParts.length }] : []
  })
  return holding.toSorted((one, other) => one.others - other.others)[0]?.name
}

/** Letters and digits separately: `gpt5.1` has the same parts as `gpt-5-1`. */
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

/**
 * A known name that differs only in separators (`claude-sonnet-4.5`) or in one or two letters: probably a typo. Other
 * digits mean another version.
 */
export function likelyTypo(name: string): string | undefined {
  const bareName = withoutAlias(name).replace(/^anthropic\//, '')
  const names = knownModels().map((model) => model.name)
  if (names.includes(bareName)) return undefined
  const same = names.find((known) => partsOf(known).join(' ') === partsOf(bareName).join(' '))
  if (same !== undefined) return same
  const suggestion = nearest(bareName, names, 2)
  return suggestion !== undefined && letters(suggestion) !== letters(bareName) ? suggestion : undefined
}

function letters(name: string): string {
  return name.replaceAll(/[^a-z]/gi, '').toLowerCase()
}
