import { isModel } from '../tools/check-options.ts'
import { ConfigurationError, messageOf } from '../values/errors.ts'
import type { Model } from '../model/model.ts'

/** The models of the options, and the models that were created by name. */
export function knownModels({ allModels, namedModels }: KnownModels): readonly Model[] {
  return [...allModels, ...namedModels.created]
}

interface KnownModels {
  readonly allModels: readonly Model[]
  readonly namedModels: NamedModels
}

/** Models that a program creates by name. The program is called once for each name, however many runs there are. */
export interface NamedModels {
  /** @throws ConfigurationError for anything but a model, and any error of the program. */
  named(name: string): Model | undefined
  /** The models that were created. */
  readonly created: readonly Model[]
}

type MakeModel = (name: string) => Model | undefined

const none: NamedModels = Object.freeze({ named: () => undefined, created: Object.freeze([]) })
const known = new WeakMap<MakeModel, NamedModels>()

export function namedModelsOf(make: MakeModel | undefined): NamedModels {
  if (make === undefined) return none
  const existing = known.get(make)
  if (existing !== undefined) return existing
  const models = new Map<string, Model>()
  const created: NamedModels = {
    named(name) {
      const model = models.get(name) ?? makeModel(make, name)
      if (model !== undefined) models.set(name, model)
      return model
    },
    get created() {
      return [...models.values()]
    },
  }
  known.set(make, created)
  return created
}

function makeModel(make: MakeModel, name: string): Model | undefined {
  let model: Model | undefined | null
  try {
    model = make(name)
  } catch (error) {
    throw new ConfigurationError(`The model ${name} could not be created: ${messageOf(error)}`)
  }
  // Plain JavaScript may return null.
  if (model === undefined || model === null) return undefined
  isModel(`modelNamed(${JSON.stringify(name)})`, model)
  return model
}
