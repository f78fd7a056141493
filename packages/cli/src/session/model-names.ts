import { keyVariablesOf, knownModels, modelAliases, refuseKeyName, withoutAlias } from '@halting/models'
import { nearest } from '../flags/nearest.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** @throws UsageError for a name of no known service, with the nearest known name. */
export function checkModelName(name: string, env: Program['env']): void {
  refuseKeyName(name, env)
  if (keyVariablesOf(withoutAlias(name)) !== undefined) return
  const meant = nearestModel(name)
  throw new UsageError(
    `No known service has a model "${name}".${meant === undefined ? '' : ` Did you mean ${meant}?`} halting models lists them.`,
  )
}

/** The known name that was most likely meant: that of the same model at its service, else the nearest by letters. */
export function nearestModel(name: string): string | undefined {
  const given = name.toLowerCase()
  const names = [...knownModels().map((model) => model.name), ...Object.keys(modelAliases())]
  return (
    names.find((known) => known.split('/').at(-1) === given.split('/').at(-1)) ??
    nearest(given, names) ??
    names.find(
      (known) =>
        known.split('/').at(-1) ===
        nearest(
          given,
          names.map((one) => one.split('/').at(-1) ?? one),
        ),
    )
  )
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
