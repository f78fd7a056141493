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

/** Settings of a program, which override the environment. */
export interface ModelSettings extends Own<ServiceOptions> {
  /** Context window in tokens (default: from the price snapshot). */
  readonly contextWindow?: number | undefined
  /** Maximum tokens of a reply (default: from the price snapshot). */
  readonly maxOutputTokens?: number | undefined
  /** Output tokens requested unless an earlier reply was truncated. */
  readonly defaultOutputTokens?: number | undefined
  /** Only for models of the Messages API. */
  readonly anthropic?: Own<AnthropicOptions> | undefined
  /** Only for models of OpenAI's protocols. `api` selects the protocol for every service. */
  readonly openai?: Own<OpenAiOptions> | undefined
}

/** The model to use if none is named. */
export const defaultModelName = 'claude-sonnet-5-5'

/**
 * Creates the model with this name from the environment. Without a name, ANTHROPIC_MODEL or the default applies.
 *
 * `sonnet`, `opus` and `haiku` mean the newest known model of the family. `claude-…` and `anthropic/…` use the Messages
 * API. `gpt-…` and `openai/…` use the Responses API, or chat completions if the service at OPENAI_BASE_URL has nothing
 * else. `openai-compatible/…` (any service at OPENAI_BASE_URL), `ollama/…` and other service names use chat
 * completions.
 * @throws ConfigurationError for a name of an unknown service, and for a missing key or address.
 */
export function modelFromEnvironment(name: string | undefined, env: Environment, settings: ModelSettings = {}): Model {
  const named = namedOrThrow(wantedName(name, env), env)
  const { anthropic: forAnthropic, openai: forOpenAi, ...common } = settings
  return named.kind === 'anthropic'
    ? anthropicFromEnvironment(named.model, env, { ...common, ...forAnthropic })
    : openAiLikeFromEnvironment(named.model, named.service, env, { ...common, ...forOpenAi })
}

/**
 * Returns the service of the model with this name, for inspection; no request is sent to the model.
 * @throws ConfigurationError for a name of an unknown service, and for a missing or invalid address. The key may be
 * missing.
 */
export function serviceFromEnvironment(
  name: string | undefined,
  env: Environment,
  settings: ModelSettings = {},
): ModelService {
  const requestedName = wantedName(name, env)
  const named = namedOrThrow(requestedName, env)
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
 * @throws ConfigurationError for a name that looks like a key. The message does not repeat it.
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
    apiKey: readVariable(env, 'ANTHROPIC_API_KEY'),
    authToken: readVariable(env, 'ANTHROPIC_AUTH_TOKEN'),
    baseUrl: readVariable(env, 'ANTHROPIC_BASE_URL'),
    ...withoutUndefined(settings),
    model,
    headers: { ...customHeaders(readVariable(env, 'ANTHROPIC_CUSTOM_HEADERS') ?? ''), ...settings.headers },
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
    apiKey: keyVariable && readVariable(env, keyVariable),
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
 * Returns the name under which a listed model can be requested: the OpenAI name for an OpenAI model behind
 * OPENAI_BASE_URL, if its key is set. Undefined if the selected API does not serve the model, because only Responses
 * does.
 * @throws ConfigurationError for an unknown API in a variable.
 */
export function requestableModelName(
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

/** Returns the API that a variable selects for all services. @throws ConfigurationError for an unknown API. */
function apiFrom(env: Environment): OpenAiApi | undefined {
  const value = readVariable(env, 'HALTING_OPENAI_API')
  if (value === undefined || value === 'responses' || value === 'chat_completions') return value
  throw new ConfigurationError(`HALTING_OPENAI_API must be responses or chat_completions, not "${value}".`)
}

function baseUrlFrom({ prefix, baseUrl, baseUrlVariable }: OpenAiLikeService, env: Environment): string | undefined {
  const value = baseUrlVariable && readVariable(env, baseUrlVariable)
  if (value === undefined || value === '') return baseUrl
  return prefix === 'ollama' ? ollamaUrl(value) : value
}

/** A service that runs on the user's own machine, and its address. */
export interface LocalService {
  /** Prefix of its model names, before a slash. */
  readonly prefix: string
  /** Address from the environment, or the default port on this machine. It may be invalid, or point elsewhere. */
  readonly baseUrl: string
  /** Variable of the address. */
  readonly baseUrlVariable: string
  /** Whether the address is this machine by name. */
  readonly isOnThisMachine: boolean
}

/** Returns services without a key whose models may run on this machine. */
export function localServices(env: Environment): readonly LocalService[] {
  return openAiLikeServices.flatMap((service): readonly LocalService[] => {
    const { prefix, baseUrlVariable, needsKey } = service
    const baseUrl = baseUrlFrom(service, env)
    if (needsKey || baseUrlVariable === undefined || service.baseUrl === undefined || baseUrl === undefined) return []
    return [{ prefix, baseUrl, baseUrlVariable, isOnThisMachine: isOnThisMachine(baseUrl) }]
  })
}

/** A service that the environment makes reachable. */
export interface ReachableService {
  /** Prefix of its model names, before a slash; `anthropic` is optional before `claude-…`. */
  readonly prefix: string
  /**
   * Whether the environment has a key or an address for the service. False for a service at its default port on this
   * machine, which may not be running.
   */
  readonly isSetUp: boolean
}

/**
 * Returns services for which the environment has a key or an address, and those that need none and may run on this
 * machine. If OPENAI_BASE_URL is set, its address is listed only as `openai-compatible`.
 */
export function reachableServices(env: Environment): readonly ReachableService[] {
  const messages = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL']
  const hasAddress = readVariable(env, 'OPENAI_BASE_URL') !== undefined
  const others = openAiLikeServices.flatMap((service): readonly ReachableService[] => {
    const { prefix, needsKey, keyVariable, baseUrlVariable } = service
    if (prefix === (hasAddress ? 'openai' : 'openai-compatible')) return []
    const hasKey = keyVariable !== undefined && readVariable(env, keyVariable) !== undefined
    const isSetUp = hasKey || (baseUrlVariable !== undefined && readVariable(env, baseUrlVariable) !== undefined)
    if (needsKey && !hasKey) return []
    return isSetUp || isOnThisMachine(baseUrlFrom(service, env)) ? [{ prefix, isSetUp }] : []
  })
  const isAnthropicSetUp = messages.some((variable) => readVariable(env, variable) !== undefined)
  return [...(isAnthropicSetUp ? [{ prefix: 'anthropic', isSetUp: true }] : []), ...others]
}

/** Parses OLLAMA_HOST: a host, a host and port, or an address; a server that listens on all interfaces is local. */
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
  const organization = readVariable(env, 'OPENAI_ORG_ID')
  const project = readVariable(env, 'OPENAI_PROJECT_ID')
  return {
    ...(organization !== undefined && { 'openai-organization': organization }),
    ...(project !== undefined && { 'openai-project': project }),
  }
}

/**
 * Returns the sizes and time limits that the environment sets for every model: CLAUDE_CODE_MAX_CONTEXT_TOKENS,
 * CLAUDE_CODE_MAX_OUTPUT_TOKENS, API_TIMEOUT_MS and CLAUDE_STREAM_IDLE_TIMEOUT_MS. Unset values are undefined.
 * @throws ConfigurationError for a value that is not a positive integer.
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

/** Whether the named model, or the default one, uses the Messages API. */
export function isMessagesApiModel(name: string | undefined, env: Environment): boolean {
  return modelNamed(wantedName(name, env))?.kind === 'anthropic'
}

function wantedName(name: string | undefined, env: Environment): string {
  return withoutAlias(name ?? readVariable(env, 'ANTHROPIC_MODEL') ?? defaultModelName)
}

/** Returns the variable of the key for the named model, or for the default one; `none` if it has no key. */
export function keySourceOf(name: string | undefined, env: Environment): string {
  const variables = keyVariablesOf(wantedName(name, env)) ?? []
  return variables.find((variable) => readVariable(env, variable) !== undefined) ?? 'none'
}

/** Parses one `Name: value` per line. */
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

/** Reads a variable; an empty one counts as unset. */
function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

function readCount(env: Environment, name: string): number | undefined {
  const value = readVariable(env, name)
  if (value === undefined) return undefined
  if (!/^\d+$/.test(value) || Number(value) === 0) {
    throw new ConfigurationError(`${name} must be a whole number above 0, not "${value}".`)
  }
  return Number(value)
}
