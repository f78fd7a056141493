import { ConfigurationError, type JsonObject, type Model, ModelError, type Thinking } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { configFolder, homeFolder } from '@halting/journal/files'
import {
  cloudSecretVariables,
  keyVariablesOf,
  limitsFromEnvironment,
  mergePriceOverrides,
  modelAliases,
  noteSecretsOfOptions,
  parsePriceOverrides,
  type PriceOverrides,
} from '@halting/models'
import {
  type AiSdkAlias,
  aiSdkNameOf,
  type AiSdkPackage,
  type AiSdkSettings,
  isAiSdkName,
  parseAiSdkName,
  type Settings,
} from '@halting/policy/settings'
import { expandVariables } from '../expand-variables.ts'
import { nearest } from '../nearest.ts'
import type { Environment } from '../tools/limits.ts'
import { findPackage } from './find-package.ts'
import type { ModelToLoad } from './load-model.ts'

/** Settings and environment for models behind provider packages. */
export interface AiSdkPlace {
  readonly settings: Pick<Settings, 'aiSdk'>
  /** The variables of the session. */
  readonly env: Environment
  /** Packages in this folder are not loaded, unless the settings name a folder. */
  readonly cwd: string
  /** How much models think if a request does not specify it. */
  readonly thinking?: Thinking | undefined
}

/** An alias of the settings, for lists of models. */
export interface ListedAlias {
  /** The alias. */
  readonly name: string
  /** The model, as `ai-sdk:PACKAGE/MODEL`. */
  readonly model: string
  /** Size of the context window in tokens. */
  readonly contextWindow: number
  /** Maximum tokens of one reply. */
  readonly maxOutputTokens: number
  /** Price of the model, as in `modelPrices`; undefined if it has none. */
  readonly price: JsonObject | undefined
  /** Path of the settings file. */
  readonly from: string
}

const usualWindow = 128_000
const usualOutput = 16_384
const usualDefaultOutput = 32_000

/** Whether a model with this name is behind a provider package: by its form, or as an alias of the settings. */
export function isBehindPackage(name: string, { aiSdk }: Pick<Settings, 'aiSdk'>): boolean {
  return isAiSdkName(name) || (aiSdk !== undefined && Object.hasOwn(aiSdk.models, name))
}

/** The aliases of the settings. */
export function listedAliases({ aiSdk }: Pick<Settings, 'aiSdk'>): readonly ListedAlias[] {
  return Object.entries(aiSdk?.models ?? {}).map(([name, alias]) => ({
    name,
    model: aiSdkNameOf(alias),
    contextWindow: alias.contextWindow ?? usualWindow,
    maxOutputTokens: alias.maxOutputTokens ?? usualOutput,
    price: alias.price,
    from: alias.from,
  }))
}

/**
 * Prices of the settings: `modelPrices`, then prices of aliases, in descending precedence.
 * @throws ConfigurationError for invalid prices.
 */
export function priceOverridesOf(settings: Pick<Settings, 'aiSdk' | 'modelPrices'>): PriceOverrides {
  const overrides = [...(settings.modelPrices ?? []), pricesOfAliases(settings)]
  return mergePriceOverrides(overrides.map((prices) => parsePriceOverrides(prices)))
}

function pricesOfAliases(settings: Pick<Settings, 'aiSdk'>): JsonObject {
  return Object.fromEntries(
    listedAliases(settings).flatMap(({ name, price }) => (price === undefined ? [] : [[name, price]])),
  )
}

/**
 * Checks the name of a model behind a package: its form, and whether settings allow loading the package. Does not
 * access the disk.
 * @throws ConfigurationError
 */
export function checkPackageName(name: string, { aiSdk }: Pick<Settings, 'aiSdk'>): void {
  definitionOf(name, aiSdk)
}

interface Definition extends Omit<AiSdkPackage, 'from'>, Pick<AiSdkAlias, 'package' | 'model'> {
  /** The id for prices and the journal. */
  readonly id: string
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  readonly maxServerToolUses?: number
}

function definitionOf(name: string, aiSdk: AiSdkSettings | undefined): Definition {
  const alias = aiSdk !== undefined && Object.hasOwn(aiSdk.models, name) ? aiSdk.models[name] : undefined
  if (alias !== undefined) refuseTakenName(name, alias)
  const parsed = alias ?? parseAiSdkName(name)
  const { package: packageName } = parsed
  const ofPackage =
    aiSdk !== undefined && Object.hasOwn(aiSdk.packages, packageName) ? aiSdk.packages[packageName] : undefined
  if (alias === undefined && ofPackage === undefined && aiSdk !== undefined) refuseUnnamed(packageName, aiSdk)
  const options = { ...ofPackage?.options, ...alias?.options }
  const providerOptions = { ...ofPackage?.providerOptions, ...alias?.providerOptions }
  return {
    ...ofPackage,
    ...parsed,
    id: name,
    options,
    providerOptions,
    folders: alias?.folders ?? ofPackage?.folders ?? aiSdk?.folders ?? [],
  }
}

function refuseUnnamed(packageName: string, { models, onlyNamedBy }: AiSdkSettings): void {
  if (onlyNamedBy === undefined || Object.values(models).some((alias) => alias.package === packageName)) return
  throw new ConfigurationError(`${packageName} is not loaded: ${onlyNamedBy}.`)
}

/**
 * Returns the settings of a session whose model another party chooses: only the packages named by the settings and by
 * these models are loaded.
 */
export function onlyPackagesOf(settings: Settings, names: readonly string[]): Settings {
  const { aiSdk = { models: {}, packages: {}, folders: [] } } = settings
  const { folders } = aiSdk
  const named = names.filter(isAiSdkName).map((name) => parseAiSdkName(name).package)
  const ofNames = Object.fromEntries(named.map((name) => [name, { folders, from: 'the names of models' }]))
  const onlyNamedBy =
    aiSdk.onlyNamedBy ??
    'on a cluster only packages are loaded that the worker names in aiSdk of its settings, its flags or its ANTHROPIC_MODEL'
  const isLocked = aiSdk.onlyNamedBy !== undefined
  return { ...settings, aiSdk: { ...aiSdk, packages: { ...(!isLocked && ofNames), ...aiSdk.packages }, onlyNamedBy } }
}

/** An alias must not change the meaning of a known name. */
function refuseTakenName(name: string, { from }: AiSdkAlias): void {
  const taken = ['default', 'inherit', ...Object.keys(modelAliases())]
  if (!taken.includes(name.toLowerCase()) && keyVariablesOf(name) === undefined) return
  throw new ConfigurationError(
    `aiSdk.models.${name} in ${from} has the name of another model. Choose an unused name, such as my-${name}.`,
  )
}

/** The models of a session behind provider packages of the AI SDK. A package is loaded on demand, once. */
export class AiSdkModels {
  readonly #place: AiSdkPlace
  readonly #loaded = new Map<string, Model>()
  readonly #waiting = new Map<string, Model>()

  constructor(place: AiSdkPlace) {
    this.#place = place
  }

  /** Whether a name denotes a model behind a package. */
  has(name: string): boolean {
    return isBehindPackage(name, this.#place.settings)
  }

  /**
   * Returns the model with this name. Its package is located immediately and loaded with the first request, unless
   * `load` was called before.
   * @throws ConfigurationError for a package that is missing or needs another Node, and for invalid options
   */
  model(name: string): Model {
    const made = this.#loaded.get(name) ?? this.#waiting.get(name)
    if (made !== undefined) return made
    const toLoad = this.#modelToLoad(name)
    const { id = name, contextWindow = usualWindow, maxOutputTokens = usualOutput, maxServerToolUses } = toLoad.adapter
    const model: Model = {
      id,
      contextWindow,
      maxOutputTokens,
      defaultOutputTokens: Math.min(toLoad.adapter.defaultOutputTokens ?? usualDefaultOutput, maxOutputTokens),
      ...(maxServerToolUses !== undefined && { maxServerToolUses }),
      call: async (...request) => (await this.#loadForRequest(name)).call(...request),
    }
    this.#waiting.set(name, model)
    return model
  }

  /**
   * Loads the package of a model, to report its problems early.
   * @throws ConfigurationError
   */
  async load(name: string): Promise<Model> {
    const before = this.#loaded.get(name)
    if (before !== undefined) return before
    const toLoad = this.#modelToLoad(name)
    const { loadModel } = await import('./load-model.ts')
    const model = await loadModel(toLoad)
    this.#loaded.set(name, model)
    return model
  }

  /** Distinguishes accounts at the service: the package, and the values of its options. */
  accountOf(name: string): {
    /** Name of the service. */
    readonly service: string
    /** The secret of the account. */
    readonly secret: string
  } {
    const { package: packageName } = definitionOf(name, this.#place.settings.aiSdk)
    const { options } = this.#modelToLoad(name)
    const { env } = this.#place
    const ofEnvironment = Object.entries(env).filter(([variable]) => /^(?:AWS|AZURE|GOOGLE|ANTHROPIC)_/.test(variable))
    return {
      service: packageName,
      secret: JSON.stringify([options, ofEnvironment.toSorted(([one], [other]) => (one < other ? -1 : 1))]),
    }
  }

  async #loadForRequest(name: string): Promise<Model> {
    try {
      return await this.load(name)
    } catch (thrown) {
      if (!(thrown instanceof ConfigurationError)) throw thrown
      throw new ModelError({ kind: 'invalid_request', message: thrown.message, billed: 'nothing', cause: thrown })
    }
  }

  #modelToLoad(name: string): ModelToLoad {
    const { settings, env, cwd, thinking } = this.#place
    const definition = definitionOf(name, settings.aiSdk)
    const { package: packageName, model, entry, factory, options = {}, providerOptions = {} } = definition
    const own = configFolder('halting', { cwd, home: homeFolder(env), env })
    const found = findPackage({ name: packageName, entry, folders: [...new Set([...definition.folders, own])], cwd })
    const { id, contextWindow, maxOutputTokens, maxServerToolUses } = definition
    const expandedOptions = expanded(options, env, `options of ${name}`)
    const givenToProvider = expanded(providerOptions, env, `providerOptions of ${name}`)
    // Registers these values, so that they are removed from what a session shows and stores.
    for (const each of [expandedOptions, givenToProvider]) noteSecretsOfOptions(each)
    const adapter = {
      ...limitsFromEnvironment(env),
      id,
      ...(contextWindow !== undefined && { contextWindow }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(maxServerToolUses !== undefined && { maxServerToolUses }),
      // Type assertion: values of an object of objects remain objects.
      providerOptions: givenToProvider as Record<string, JsonObject>,
    }
    return { found, entry, factory, options: expandedOptions, model, adapter, env, thinking }
  }
}

/** Expands `${VAR}` and `${VAR:-default}` in all texts of a value. */
function expanded(value: JsonObject, env: Environment, where: string): JsonObject {
  const text = JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'string'
      ? expandVariables(inner, env, (variable) => {
          throw new ConfigurationError(
            `aiSdk in the settings: the variable ${variable} in the ${where} is not set. Set it, or write \${${variable}:-default} to say what to use then.`,
          )
        })
      : inner,
  )
  return JSON.parse(text) as JsonObject
}

const secretName = /key|token|secret|auth|passw|credential|cookie|signature|headers/i

/**
 * Returns variables that are withheld from commands: those from which options take a secret, and those of clouds that
 * a model of the session uses to sign in.
 */
export function signInVariables({ aiSdk }: Pick<Settings, 'aiSdk'>, models: readonly string[]): readonly string[] {
  const definitions = [...Object.values(aiSdk?.models ?? {}), ...Object.values(aiSdk?.packages ?? {})]
  const named = new Set<string>()
  for (const { options, providerOptions } of definitions) addVariables([options, providerOptions], false, named)
  const isUsed = models.some((name) => isBehindPackage(name, aiSdk === undefined ? {} : { aiSdk }))
  return [...named, ...(isUsed ? cloudSecretVariables : [])]
}

function addVariables(value: unknown, isSecret: boolean, named: Set<string>): void {
  if (typeof value === 'string')
    for (const [, variable] of (isSecret ? value : secretPartsOf(value)).matchAll(/\$\{([A-Za-z_]\w*)/g))
      if (variable !== undefined) named.add(variable)
  if (Array.isArray(value)) for (const inner of value as readonly unknown[]) addVariables(inner, isSecret, named)
  if (!isJsonObject(value)) return
  for (const [name, inner] of Object.entries(value)) addVariables(inner, isSecret || secretName.test(name), named)
}

/** The user name, password and query of a URL. */
function secretPartsOf(address: string): string {
  const [, beforeHost = '', query = ''] = /^[a-z][a-z\d+.-]*:\/\/(?:([^/?#]*)@)?[^?]*(.*)$/is.exec(address) ?? []
  return beforeHost + query
}

/** Returns the alias that was probably meant; undefined if none is close. */
export function nearestAlias(name: string, settings: Pick<Settings, 'aiSdk'>): string | undefined {
  return nearest(name, Object.keys(settings.aiSdk?.models ?? {}))
}
