import { isModel } from '../tools/check-options.ts'
import { ConfigurationError, messageOf } from '../values/errors.ts'
import type { Model } from '../model/model.ts'

/** Those of the options, and those that were made of names. */
export function knownModels({ allModels, namedModels }: KnownModels): readonly Model[] {
  return [...allModels, ...namedModels.made]
}

interface KnownModels {
  readonly allModels: readonly Model[]
  readonly namedModels: NamedModels
}

/** Models that a program makes by their names. Each name is asked about once, however many runs there are. */
export interface NamedModels {
  /** @throws ConfigurationError for what is no model, and with what the program threw. */
  named(name: string): Model | undefined
  /** Those that were made. */
  readonly made: readonly Model[]
}

type MakeModel = (name: string) => Model | undefined

const none: NamedModels = Object.freeze({ named: () => undefined, made: Object.freeze([]) })
const known = new WeakMap<MakeModel, NamedModels>()

export function namedModelsOf(make: MakeModel | undefined): NamedModels {
  if (make === undefined) return none
  const before = known.get(make)
  if (before !== undefined) return before
  const models = new Map<string, Model>()
  const made: NamedModels = {
    named(name) {
      const model = models.get(name) ?? makeModel(make, name)
      if (model !== undefined) models.set(name, model)
      return model
    },
    get made() {
      return [...models.values()]
    },
  }
  known.set(make, made)
  return made
}

function makeModel(make: MakeModel, name: string): Model | undefined {
  let model: Model | undefined | null
  try {
    model = make(name)
  } catch (error) {
    throw new ConfigurationError(`The model ${name} cannot be asked: ${messageOf(error)}`)
  }
  // Plain JavaScript may give null.
  if (model === undefined || model === null) return undefined
  isModel(`modelNamed(${JSON.stringify(name)})`, model)
  return model
}
