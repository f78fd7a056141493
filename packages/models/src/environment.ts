import { ConfigurationError } from '@halting/core'
import type { Model } from '@halting/core'
import { anthropic } from './anthropic/anthropic.ts'
import type { AnthropicOptions } from './anthropic/anthropic.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a program decides itself; it goes before the environment. */
export type ModelSettings = Partial<Omit<AnthropicOptions, 'model' | 'id'>>

/** The model that is asked when nobody names one. */
export const defaultModelName = 'claude-sonnet-5-5'

/**
 * The model with this name, reached as the environment says. Without a name ANTHROPIC_MODEL
 * decides, and then the default.
 * @throws ConfigurationError for a name of no known service, and when the key is missing.
 */
export function modelFromEnvironment(name: string | undefined, env: Environment, settings: ModelSettings = {}): Model {
  const wanted = name ?? read(env, 'ANTHROPIC_MODEL') ?? defaultModelName
  const model = anthropicName(wanted)
  if (model === undefined) {
    throw new ConfigurationError(
      `No supported service has a model "${wanted}". Supported are Anthropic models: claude-…, or anthropic/ with any ` +
        'name that the service at ANTHROPIC_BASE_URL knows.',
    )
  }
  return anthropicFromEnvironment(model, env, settings)
}

function anthropicName(name: string): string | undefined {
  if (name.startsWith('claude-')) return name
  const rest = name.startsWith('anthropic/') ? name.slice('anthropic/'.length) : ''
  return rest === '' ? undefined : rest
}

function anthropicFromEnvironment(model: string, env: Environment, settings: ModelSettings): Model {
  const fromEnvironment: AnthropicOptions = {
    model,
    apiKey: read(env, 'ANTHROPIC_API_KEY'),
    authToken: read(env, 'ANTHROPIC_AUTH_TOKEN'),
    baseUrl: read(env, 'ANTHROPIC_BASE_URL'),
    headers: customHeaders(read(env, 'ANTHROPIC_CUSTOM_HEADERS') ?? ''),
    contextWindow: readCount(env, 'CLAUDE_CODE_MAX_CONTEXT_TOKENS'),
    defaultOutputTokens: readCount(env, 'CLAUDE_CODE_MAX_OUTPUT_TOKENS'),
    requestTimeoutMs: readCount(env, 'API_TIMEOUT_MS'),
    idleTimeoutMs: readCount(env, 'CLAUDE_STREAM_IDLE_TIMEOUT_MS'),
  }
  const options: AnthropicOptions = {
    ...fromEnvironment,
    ...withoutUndefined(settings),
    headers: { ...fromEnvironment.headers, ...settings.headers },
  }
  if (!hasCredentials(options) && !isLoopback(options.baseUrl)) {
    throw new ConfigurationError(
      `No key for ${model}. Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN for a gateway), ` +
        'or point ANTHROPIC_BASE_URL to a service on this machine.',
    )
  }
  return anthropic(options)
}

function withoutUndefined(settings: ModelSettings): ModelSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

function hasCredentials({ apiKey, authToken, headers = {} }: AnthropicOptions): boolean {
  const names = new Set(Object.keys(headers).map((header) => header.toLowerCase()))
  return apiKey !== undefined || authToken !== undefined || names.has('authorization') || names.has('x-api-key')
}

function isLoopback(baseUrl: string | undefined): boolean {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return false
  const { hostname } = new URL(baseUrl)
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || hostname.startsWith('127.')
  )
}

/** One `Name: value` a line. */
function customHeaders(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    if (colon < 1) {
      throw new ConfigurationError('A line of ANTHROPIC_CUSTOM_HEADERS is no header. Write one "Name: value" a line.')
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
