import { keyVariablesOf, knownModels, modelAliases, refuseKeyName, withoutAlias } from '@halting/models'
import { nearest } from '../flags/nearest.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** @throws UsageError for a name of no known service, with the nearest known name. */
export function checkModelName(name: string, env: Program['env']): void {
  // A name of a known service is looked at where its model is made.
  if (keyVariablesOf(withoutAlias(name)) !== undefined) return
  refuseKeyName(name, env)
  const meant = nearestModel(name)
  throw new UsageError(
    `No known service has a model "${name}".${meant === undefined ? '' : ` Did you mean ${meant}?`} halting models lists them.`,
  )
}

/** The first of the variables that holds a key; undefined where none does. */
export function keyFound(variables: readonly string[], env: Program['env']): string | undefined {
  return variables.find((variable) => (env[variable]?.trim() ?? '') !== '')
}

/** Known models of services whose key is in the environment. */
export function modelsWithKey(env: Program['env']): ReturnType<typeof knownModels> {
  return knownModels().filter(({ keyVariables }) => keyFound(keyVariables, env) !== undefined)
}

/** The known name that was most likely meant: that of the same model at its service, else the nearest by letters. */
export function nearestModel(name: string): string | undefined {
  const given = name.toLowerCase()
  const names = [...knownModels().map((model) => model.name), ...Object.keys(modelAliases())]
  const named = (model: string | undefined): string | undefined => names.find((known) => lastPart(known) === model)
  return named(lastPart(given)) ?? nearest(given, names) ?? named(nearest(given, names.map(lastPart)))
}

/** The name of a model without its service. */
function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

/** A known name that is one or two letters away from one that is not known: most likely a slip. Other figures are another version. */
export function slipOf(name: string): string | undefined {
  const wanted = withoutAlias(name).replace(/^anthropic\//, '')
  const names = knownModels().map((model) => model.name)
  if (names.includes(wanted)) return undefined
  const meant = nearest(wanted, names, 2)
  return meant !== undefined && letters(meant) !== letters(wanted) ? meant : undefined
}

function letters(name: string): string {
  return name.replaceAll(/[^a-z]/gi, '').toLowerCase()
}
