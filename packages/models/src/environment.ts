import { ConfigurationError } from '@halting/core'
import type { Model } from '@halting/core'
import { anthropic } from './anthropic/anthropic.ts'
import type { AnthropicOptions } from './anthropic/anthropic.ts'
import { isLoopback } from './http/proxy.ts'
import { openaiCompatible } from './openai/openai.ts'
import type { OpenAiCompatibleOptions, OpenAiOptions } from './openai/openai-options.ts'
import type { OpenAiApi } from './openai/service-knowledge.ts'
import type { ServiceOptions } from './service/endpoint.ts'
import { keyVariablesOf, withoutAlias } from './known-models.ts'
import { refuseKeyAsName, headersOf, urlUnder } from './service/endpoint.ts'
import { openAiLikeServices, modelNamed, openAiBaseUrl, openAiService } from './services.ts'
import type { OpenAiLikeService, NamedModel } from './services.ts'
import { MissingKeyError } from './missing-key-error.ts'
import { endpointOf, messagesKeyHeader } from './anthropic/endpoint.ts'
import { isResponsesOnlyModel } from './responses/reasoning-effort.ts'
import { openAiKeyHeader } from './openai/openai-model.ts'
import { createModelService } from './service/model-service.ts'
import type { ModelService } from './service/model-service.ts'

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

type Own<Options> = Partial<Omit<Options, 'model' | 'id'>>

/** What a program decides itself; it goes before the environment. */
export interface ModelSettings extends Own<ServiceOptions> {
  /** Size of the model's window in tokens. Default: from the price snapshot. */
  readonly contextWindow?: number | undefined
  /** Most tokens of one reply. Default: from the price snapshot. */
  readonly maxOutputTokens?: number | undefined
  /** Most tokens of a reply that was not cut before. */
  readonly defaultOutputTokens?: number | undefined
  /** For models of the Messages API alone. */
  readonly anthropic?: Own<AnthropicOptions> | undefined
  /** For models of OpenAI's protocols alone. `api` decides which of them is spoken, whatever the service. */
  readonly openai?: Own<OpenAiOptions> | undefined
}

/** The model that is asked when nobody names one. */
export const defaultModelName = 'claude-sonnet-5-5'

/**
 * The model with this name, reached as the environment says. Without a name ANTHROPIC_MODEL
 * decides, and then the default. `sonnet`, `opus` and `haiku` are the newest known of their family. `claude-…` and `anthropic/…` are models of the Messages API;
 * `gpt-…` and `openai/…` of the Responses API, or of chat completions where OPENAI_BASE_URL points to a service that has nothing else;
 * `openai-compatible/…` (whatever OPENAI_BASE_URL points to), `ollama/…` and the names of further services are models
 * behind chat completions.
 * @throws ConfigurationError for a name of no known service, and when the key or the address is missing.
 */
export function modelFromEnvironment(name: string | undefined, env: Environment, settings: ModelSettings = {}): Model {
  const named = namedOrThrow(wantedName(name, env), env)
  const { anthropic: forAnthropic, openai: forOpenAi, ...common } = settings
  return named.kind === 'anthropic'
    ? anthropicFromEnvironment(named.model, env, { ...common, ...forAnthropic })
    : openAiLikeFromEnvironment(named.model, named.service, env, { ...common, ...forOpenAi })
}

/**
 * The service that has the model with this name, reached as the environment says, for looking at: nothing is asked of the model.
 * @throws ConfigurationError for a name of no known service, and for an address that is missing or cannot be used. A key may be missing.
 */
export function serviceFromEnvironment(
  name: string | undefined,
  env: Environment,
  settings: ModelSettings = {},
): ModelService {
  const wanted = wantedName(name, env)
  const named = namedOrThrow(wanted, env)
  const { anthropic: forAnthropic, openai: forOpenAi, ...common } = settings
  if (named.kind === 'anthropic') {
    const options = messagesOptions(named.model, env, { ...common, ...forAnthropic })
    const { url, headers } = endpointOf(options, '/v1/models')
    const all = new URL(url)
    all.searchParams.set('limit', '1000')
    const endpoint = { url: all.href, headers }
    return createModelService({ model: named.model, endpoint, options, keyHeader: messagesKeyHeader })
  }
  const options = openAiLikeOptions(named.model, named.service, env, { ...common, ...forOpenAi })
  const endpoint = {
    url: urlUnder(options.baseUrl, '/models', openAiBaseUrl),
    headers: headersOf({}, options.headers),
  }
  return createModelService({ model: named.model, endpoint, options, keyHeader: openAiKeyHeader })
}

// Spec R-WIRE-10a.
/**
 * Rejects a model name that looks like a key.
 * @throws ConfigurationError for a name that looks like a key, which is not repeated.
 */
export function refuseKeyName(name: string, env: Environment): void {
  refuseKeyAsName(name, { env, isKnownService: modelNamed(withoutAlias(name)) !== undefined })
}

function namedOrThrow(wanted: string, env: Environment): NamedModel {
  const named = modelNamed(wanted)
  refuseKeyAsName(wanted, { env, isKnownService: named !== undefined })
  if (named !== undefined) return named
  const prefixes = ['anthropic', ...openAiLikeServices.map(({ prefix }) => prefix)].map((prefix) => `${prefix}/`)
  throw new ConfigurationError(
    `No supported service has a model "${wanted}". Write claude-… or gpt-…, or put the service before the name: ` +
      `${prefixes.join(', ')}. openai-compatible/ is whatever OPENAI_BASE_URL points to.`,
  )
}

function anthropicFromEnvironment(model: string, env: Environment, settings: Own<AnthropicOptions>): Model {
  const options = messagesOptions(model, env, settings)
  if (!hasCredentials(options) && !isOnThisMachine(options.baseUrl)) {
    throw new MissingKeyError(
      `No key for ${model}. Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN for a gateway), ` +
        'or point ANTHROPIC_BASE_URL to a service on this machine.',
      { model, keyVariables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] },
    )
  }
  return anthropic(options)
}

function messagesOptions(model: string, env: Environment, settings: Own<AnthropicOptions>): AnthropicOptions {
  return {
    ...limitsFromEnvironment(env),
    apiKey: read(env, 'ANTHROPIC_API_KEY'),
    authToken: read(env, 'ANTHROPIC_AUTH_TOKEN'),
    baseUrl: read(env, 'ANTHROPIC_BASE_URL'),
    ...withoutUndefined(settings),
    model,
    headers: { ...customHeaders(read(env, 'ANTHROPIC_CUSTOM_HEADERS') ?? ''), ...settings.headers },
  }
}

function openAiLikeFromEnvironment(
  model: string,
  service: OpenAiLikeService,
  env: Environment,
  settings: Own<OpenAiOptions>,
): Model {
  const options = openAiLikeOptions(model, service, env, settings)
  if (service.needsKey && !hasCredentials(options) && !isOnThisMachine(options.baseUrl)) {
    const { id = model } = options
    const { keyVariable } = service
    throw new MissingKeyError(`No key for ${id}. Set ${keyVariable ?? 'apiKey'}.`, {
      model: id,
      keyVariables: keyVariable === undefined ? [] : [keyVariable],
    })
  }
  return openaiCompatible(options)
}

function openAiLikeOptions(
  model: string,
  service: OpenAiLikeService,
  env: Environment,
  settings: Own<OpenAiOptions>,
): OpenAiCompatibleOptions {
  const { prefix, baseUrlVariable, keyVariable } = service
  const id = `${prefix}/${model}`
  const baseUrl = settings.baseUrl ?? baseUrlFrom(service, env)
  if (baseUrl === undefined) {
    throw new ConfigurationError(
      `${id} needs the address of its service. Set ${baseUrlVariable ?? 'baseUrl'}, like http://localhost:8000/v1.`,
    )
  }
  return {
    ...limitsFromEnvironment(env),
    apiKey: keyVariable && read(env, keyVariable),
    ...withoutUndefined(settings),
    api: apiOf(service, env, settings),
    model,
    id,
    baseUrl,
    headers: { ...(prefix === 'openai' && openAiHeaders(env)), ...settings.headers },
    settings: { baseUrl: baseUrlVariable ?? 'baseUrl', key: keyVariable ?? 'apiKey' },
  }
}

function apiOf({ responses }: OpenAiLikeService, env: Environment, { api }: Pick<OpenAiOptions, 'api'>): OpenAiApi {
  return api ?? apiFrom(env) ?? (responses === true ? 'responses' : 'chat_completions')
}

/**
 * The name to ask a listed model by: that of OpenAI for one of theirs behind OPENAI_BASE_URL, where there is a key for
 * it. Undefined for one that the API in force does not have: some models only Responses serves.
 * @throws ConfigurationError for a variable that names no API.
 */
export function askedAs(
  name: string,
  env: Environment,
  { openai: settings = {} }: Pick<ModelSettings, 'openai'> = {},
): string | undefined {
  const listed = modelNamed(withoutAlias(name))
  if (listed?.kind !== 'openai_like') return name
  const isTheirs = listed.service.prefix === 'openai-compatible' && keySourceOf(listed.model, env) === 'OPENAI_API_KEY'
  const known = isTheirs ? `openai/${listed.model}` : name
  const service = isTheirs ? openAiService : listed.service
  if (!service.prefix.startsWith('openai') || !isResponsesOnlyModel(listed.model)) return known
  return apiOf(service, env, settings) === 'responses' ? known : undefined
}

/** Which API is spoken, whatever the service. @throws ConfigurationError for a name of none. */
function apiFrom(env: Environment): OpenAiApi | undefined {
  const value = read(env, 'HALTING_OPENAI_API')
  if (value === undefined || value === 'responses' || value === 'chat_completions') return value
  throw new ConfigurationError(`HALTING_OPENAI_API must be responses or chat_completions, not "${value}".`)
}

function baseUrlFrom({ prefix, baseUrl, baseUrlVariable }: OpenAiLikeService, env: Environment): string | undefined {
  const value = baseUrlVariable && read(env, baseUrlVariable)
  if (value === undefined || value === '') return baseUrl
  return prefix === 'ollama' ? ollamaUrl(value) : value
}

/** A service that is made to run on the machine of whoever asks it, and where it is looked for. */
export interface LocalService {
  /** Comes before the names of its models, with a slash. */
  readonly prefix: string
  /** As the environment says; else its usual port on this machine. It may be no address, or lead elsewhere. */
  readonly baseUrl: string
  /** The variable that says so. */
  readonly baseUrlVariable: string
  /** True where it is this machine by its own name. */
  readonly isOnThisMachine: boolean
}

/** Services without a key of which a model may run on this machine. */
export function localServices(env: Environment): readonly LocalService[] {
  return openAiLikeServices.flatMap((service): readonly LocalService[] => {
    const { prefix, baseUrlVariable, needsKey } = service
    const baseUrl = baseUrlFrom(service, env)
    if (needsKey || baseUrlVariable === undefined || service.baseUrl === undefined || baseUrl === undefined) return []
    return [{ prefix, baseUrl, baseUrlVariable, isOnThisMachine: isOnThisMachine(baseUrl) }]
  })
}

/** A service that can be asked with what the environment has. */
export interface ReachableService {
  /** Comes before the names of its models, with a slash; `anthropic` may be left out before `claude-…`. */
  readonly prefix: string
  /** The environment has a key or an address for it. False for a service at its usual port on this machine, which may not be running. */
  readonly isSetUp: boolean
}

/**
 * Services for which the environment has a key or an address, and those that need none and may run on this machine. One address is named once:
 * where OPENAI_BASE_URL is set, as `openai-compatible`.
 */
export function reachableServices(env: Environment): readonly ReachableService[] {
  const messages = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL']
  const hasAddress = read(env, 'OPENAI_BASE_URL') !== undefined
  const others = openAiLikeServices.flatMap((service): readonly ReachableService[] => {
    const { prefix, needsKey, keyVariable, baseUrlVariable } = service
    if (prefix === (hasAddress ? 'openai' : 'openai-compatible')) return []
    const hasKey = keyVariable !== undefined && read(env, keyVariable) !== undefined
    const isSetUp = hasKey || (baseUrlVariable !== undefined && read(env, baseUrlVariable) !== undefined)
    if (needsKey && !hasKey) return []
    return isSetUp || isOnThisMachine(baseUrlFrom(service, env)) ? [{ prefix, isSetUp }] : []
  })
  const isAnthropicSetUp = messages.some((variable) => read(env, variable) !== undefined)
  return [...(isAnthropicSetUp ? [{ prefix: 'anthropic', isSetUp: true }] : []), ...others]
}

/** OLLAMA_HOST may be a host, a host and a port, or an address; a server that listens everywhere is here. */
function ollamaUrl(given: string): string {
  const host = given.startsWith(':') ? `127.0.0.1${given}` : given
  const address = /^https?:\/\//i.test(host) ? host : `http://${host}`
  if (!URL.canParse(address)) return host
  const url = new URL(address)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.port === '' && !/^https?:\/\//i.test(host)) url.port = '11434'
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
}

function openAiHeaders(env: Environment): Readonly<Record<string, string>> {
  const organization = read(env, 'OPENAI_ORG_ID')
  const project = read(env, 'OPENAI_PROJECT_ID')
  return {
    ...(organization !== undefined && { 'openai-organization': organization }),
    ...(project !== undefined && { 'openai-project': project }),
  }
}

/**
 * Sizes and time limits that the environment sets for every model: CLAUDE_CODE_MAX_CONTEXT_TOKENS, CLAUDE_CODE_MAX_OUTPUT_TOKENS, API_TIMEOUT_MS and
 * CLAUDE_STREAM_IDLE_TIMEOUT_MS. What is not set is undefined.
 * @throws ConfigurationError for a value that is not a whole number above 0.
 */
export function limitsFromEnvironment(
  env: Environment,
): Pick<ModelSettings, 'contextWindow' | 'defaultOutputTokens' | 'requestTimeoutMs' | 'idleTimeoutMs'> {
  return {
    contextWindow: readCount(env, 'CLAUDE_CODE_MAX_CONTEXT_TOKENS'),
    defaultOutputTokens: readCount(env, 'CLAUDE_CODE_MAX_OUTPUT_TOKENS'),
    requestTimeoutMs: readCount(env, 'API_TIMEOUT_MS'),
    idleTimeoutMs: readCount(env, 'CLAUDE_STREAM_IDLE_TIMEOUT_MS'),
  }
}

function withoutUndefined<Fields extends object>(settings: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<Fields>
}

function hasCredentials({ apiKey, authToken, credentials, headers = {} }: ServiceOptions): boolean {
  const names = new Set(Object.keys(headers).map((header) => header.toLowerCase()))
  if (apiKey !== undefined || authToken !== undefined || credentials !== undefined) return true
  return names.has('authorization') || names.has('x-api-key') || names.has('api-key')
}

function isOnThisMachine(baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && URL.canParse(baseUrl) && isLoopback(new URL(baseUrl).hostname)
}

/** Whether the model with this name, or the one that is asked without a name, is behind the Messages API. */
export function isOfMessagesApi(name: string | undefined, env: Environment): boolean {
  return modelNamed(wantedName(name, env))?.kind === 'anthropic'
}

function wantedName(name: string | undefined, env: Environment): string {
  return withoutAlias(name ?? read(env, 'ANTHROPIC_MODEL') ?? defaultModelName)
}

/**
 * The variable that the key of this model comes from; `none` when there is none.
 * Without a name it is that of the model that is asked when nobody names one.
 */
export function keySourceOf(name: string | undefined, env: Environment): string {
  const variables = keyVariablesOf(wantedName(name, env)) ?? []
  return variables.find((variable) => read(env, variable) !== undefined) ?? 'none'
}

/** One `Name: value` a line. */
function customHeaders(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    if (colon < 1) {
      throw new ConfigurationError(
        'A line of ANTHROPIC_CUSTOM_HEADERS is not a header. Write one "Name: value" per line.',
      )
    }
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
  }
  return headers
}

/** An empty variable is one that is not set. */
function read(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

function readCount(env: Environment, name: string): number | undefined {
  const value = read(env, name)
  if (value === undefined) return undefined
  if (!/^\d+$/.test(value) || Number(value) === 0) {
    throw new ConfigurationError(`${name} must be a whole number above 0, not "${value}".`)
  }
  return Number(value)
}
