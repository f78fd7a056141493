import { pathToFileURL } from 'node:url'
import { realpathSync } from 'node:fs'
import { ConfigurationError, type JsonObject, type Model, type Thinking } from '@halting/core'
import { messageOf, type ModelUpdate } from '@halting/core/adapters'
import { createKeyRedactor } from '@halting/models'
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from '@halting/models/ai-sdk'
import type { Environment } from '../tools/limits.ts'
import type { FoundPackage } from './find-package.ts'
import { inOuterScope, withEnvironment } from './scoped-environment.ts'

// Loaded only if a model behind a provider package is used.

/** A model of a package, and how to create its provider. */
export interface ModelToLoad {
  readonly found: FoundPackage
  readonly entry: string | undefined
  readonly factory: string | undefined
  /** Options of the factory. */
  readonly options: JsonObject
  /** The provider's name of the model. */
  readonly model: string
  readonly adapter: AiSdkOptions
  /** The variables of the session: providers read `process.env`. */
  readonly env: Environment
  /** Thinking options for requests that do not specify them. */
  readonly thinking: Thinking | undefined
}

/**
 * Imports the package and creates its model. The package sees the variables of the session as `process.env`, also
 * during requests.
 * @throws ConfigurationError for a package that is not a provider of the AI SDK, or that fails.
 */
export async function loadModel(definition: ModelToLoad): Promise<Model> {
  const { adapter, env, thinking } = definition
  const made = await withEnvironment(env, async () => languageModelOf(definition))
  const model = fromAiSdk(made, adapter)
  return {
    ...model,
    call(request, modelCall) {
      const withThinking = thinking === undefined ? request : { ...request, thinking: request.thinking ?? thinking }
      // Events may start a tool, a hook or another session, which must not receive the scoped variables.
      const call = { ...modelCall, emit: inOuterScope((update: ModelUpdate) => modelCall.emit(update)) }
      return withEnvironment(env, () => model.call(withThinking, call))
    },
  }
}

async function languageModelOf(definition: ModelToLoad): Promise<AiSdkModel> {
  const { found, model, options, env } = definition
  const redact = createKeyRedactor(env)
  const failed = (what: string, thrown: unknown): ConfigurationError =>
    new ConfigurationError(`${shownName(definition)} ${what}: ${redact(messageOf(thrown))}`)
  let exported: Exports
  try {
    exported = (await import(pathToFileURL(realpathSync(found.file)).href)) as Exports
  } catch (thrown) {
    throw failed(`in ${found.folder} cannot be loaded`, thrown)
  }
  const [name, create] = factoryOf(exported, definition)
  let provider: unknown
  try {
    provider = await create(structuredClone(options))
  } catch (thrown) {
    throw failed(`cannot be set up by ${name}`, thrown)
  }
  let made: unknown
  try {
    made = modelOfProvider(provider, model)
  } catch (thrown) {
    throw failed(`cannot give its model "${model}"`, thrown)
  }
  return checkedModel(made, definition, name)
}

function shownName({ found, entry }: Pick<ModelToLoad, 'found' | 'entry'>): string {
  const path = entry === undefined ? found.name : `${found.name}/${entry}`
  return found.version === '' ? path : `${path} ${found.version}`
}

type Exports = Readonly<Record<string, unknown>>
type Factory = (options: JsonObject) => unknown

/** The export that settings name, the only factory, or the one named after the package. */
function factoryOf(exported: Exports, definition: ModelToLoad): readonly [name: string, create: Factory] {
  const { factory, found, entry } = definition
  const factories = factoriesIn(exported)
  const names = factories.map(([name]) => name).join(', ')
  const has = names === '' ? 'It exports nothing that creates a provider' : `It exports ${names}`
  if (factory !== undefined) {
    const named = allOf(exported).find(([name]) => name === factory)
    if (named !== undefined) return named
    throw new ConfigurationError(
      `${shownName(definition)} has no function ${factory}. ${has}. Set another "factory" in aiSdk of the settings.`,
    )
  }
  const different = factories.filter(([, create], at) => factories.findIndex(([, other]) => other === create) === at)
  const [first] = different
  if (first !== undefined && different.length === 1) return first
  if (first === undefined)
    throw new ConfigurationError(
      `${shownName(definition)} is not a provider package of the AI SDK: it exports no function create…. Name another package.`,
    )
  const wantedNames = namesFor(found.name, entry)
  const fitting = wantedNames.flatMap((plain) => different.filter(([name]) => plainOf(name) === plain))[0]
  if (fitting !== undefined) return fitting
  throw new ConfigurationError(
    `${shownName(definition)} has several factories: ${names}. Set "factory" in aiSdk of the settings to one of them.`,
  )
}

/** Usual names of a package's factory: `createAmazonBedrock` for `@ai-sdk/amazon-bedrock`. */
function namesFor(packageName: string, entry: string | undefined): readonly string[] {
  const own = packageName.slice(packageName.lastIndexOf('/') + 1)
  const names = entry === undefined ? [own] : [`${own}${entry}`, `${entry}${own}`, entry, own]
  return names.map((name) => plainOf(`create${name}`))
}

function plainOf(name: string): string {
  return name.replaceAll(/[^A-Za-z\d]/g, '').toLowerCase()
}

function factoriesIn(exported: Exports): readonly (readonly [string, Factory])[] {
  return allOf(exported).filter(([name]) => /^create[A-Z]/.test(name))
}

/** Functions by name. A CommonJS package may have them only in its default export. */
function allOf(exported: Exports): readonly (readonly [string, Factory])[] {
  const { default: whole } = exported
  const inner = typeof whole === 'object' && whole !== null ? Object.entries(whole) : []
  const all = new Map<string, unknown>([...inner, ...Object.entries(exported)])
  return [...all].flatMap(([name, value]) =>
    // Type assertion: a function can be called, and its result is checked.
    typeof value === 'function' && name !== 'default' ? [[name, value as Factory] as const] : [],
  )
}

/** Creates the model by `languageModel`, as in providers of the AI SDK; otherwise by calling the provider. */
function modelOfProvider(provider: unknown, model: string): unknown {
  if (provider === null || (typeof provider !== 'object' && typeof provider !== 'function')) return undefined
  const { languageModel }: { languageModel?: unknown } = provider
  if (typeof languageModel === 'function') return languageModel.call(provider, model) as unknown
  return typeof provider === 'function' ? (provider as (name: string) => unknown)(model) : undefined
}

function checkedModel(made: unknown, definition: ModelToLoad, factory: string): AiSdkModel {
  const fields: { specificationVersion?: unknown; doStream?: unknown } =
    typeof made === 'object' && made !== null ? made : {}
  const { specificationVersion: version, doStream } = fields
  // Type assertion: `fromAiSdk` identifies a model by the same fields.
  if ((version === 'v3' || version === 'v4') && typeof doStream === 'function') return made as AiSdkModel
  if (typeof version === 'string') {
    const isOlder = /^v[12]$/.test(version)
    throw new ConfigurationError(
      `${shownName(definition)} has models of version ${version} of the AI SDK; this program supports v3 and v4. ` +
        (isOlder ? `Install a newer one: ${definition.found.update}.` : 'Install an older one.'),
    )
  }
  throw new ConfigurationError(
    `${shownName(definition)} is not a provider package of the AI SDK: what ${factory} returns has no language model. ` +
      'Name another package, or another "factory" in aiSdk of the settings.',
  )
}
