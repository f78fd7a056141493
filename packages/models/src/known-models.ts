import { allEntries, figuresOf } from './prices/catalogue.ts'
import type { ModelFigures, ModelPrice } from './prices/catalogue.ts'
import { openAiLikeServices, modelNamed } from './services.ts'

/** A model in the price snapshot whose service is supported. */
export interface KnownModel extends ModelFigures {
  /** Name for `--model`. */
  readonly name: string
  /** Its price. */
  readonly price: ModelPrice
  /** Variables that may contain its key; empty for a service without keys. */
  readonly keyVariables: readonly string[]
}

/** Returns all known models, by service and name. */
export function knownModels(): readonly KnownModel[] {
  const models: KnownModel[] = []
  for (const [id, { price, contextWindow, maxOutputTokens }] of allEntries()) {
    const name = id.replace(/^anthropic\//, '')
    const keyVariables = keyVariablesOf(name)
    if (keyVariables !== undefined) models.push({ name, contextWindow, maxOutputTokens, price, keyVariables })
  }
  return models
}

/** Returns the context window of a model by its name; undefined for an unknown name. */
export function contextWindowOf(name: string): number | undefined {
  return figuresOf(name)?.contextWindow
}

/** Returns the variables that may contain the key of this model; undefined for an unknown service. */
export function keyVariablesOf(name: string): readonly string[] | undefined {
  const named = modelNamed(name)
  if (named === undefined) return undefined
  if (named.kind === 'anthropic') return ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']
  return named.service.keyVariable === undefined ? [] : [named.service.keyVariable]
}

/** Returns all variables that may contain a key, a token or a secret header, for any model. */
export function keyVariables(): readonly string[] {
  const services = openAiLikeServices.flatMap(({ keyVariable }) => keyVariable ?? [])
  const ofMessagesApi = [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_CUSTOM_HEADERS',
    'CLAUDE_CODE_OAUTH_TOKEN',
  ]
  return [...new Set([...ofMessagesApi, ...services, ...ofProviderPackages])]
}

/** Key variables of AI SDK provider packages. */
const ofProviderPackages = (
  'AI_GATEWAY_API_KEY ALIBABA_API_KEY ANTHROPIC_FOUNDRY_API_KEY AWS_BEARER_TOKEN_BEDROCK AZURE_API_KEY AZURE_OPENAI_API_KEY ' +
  'BASETEN_API_KEY CEREBRAS_API_KEY COHERE_API_KEY DEEPINFRA_API_KEY FIREWORKS_API_KEY GOOGLE_API_KEY GOOGLE_GENERATIVE_AI_API_KEY ' +
  'GOOGLE_VERTEX_API_KEY HUGGINGFACE_API_KEY PERPLEXITY_API_KEY TOGETHER_AI_API_KEY TOGETHER_API_KEY VERCEL_API_KEY'
).split(' ')

/**
 * Cloud secrets that AI SDK provider packages use, and other programs, too. Sessions redact them; commands receive them
 * unless the session's model uses such a package.
 */
export const cloudSecretVariables: readonly string[] = [
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AZURE_CLIENT_SECRET',
  // A service account without a file.
  'GOOGLE_PRIVATE_KEY',
]

const families = ['sonnet', 'opus', 'haiku'] as const

/** Returns the short names and the newest known model of each family. */
export function modelAliases(): Readonly<Record<(typeof families)[number], string>> {
  return { sonnet: newestOf('sonnet'), opus: newestOf('opus'), haiku: newestOf('haiku') }
}

/** Resolves a short name; any other name is unchanged. */
export function withoutAlias(name: string): string {
  const family = families.find((one) => one === name.toLowerCase())
  return family === undefined ? name : newestOf(family)
}

function newestOf(family: (typeof families)[number]): string {
  let newest = ''
  let newestVersion: readonly number[] = []
  for (const id of allEntries().keys()) {
    const version = new RegExp(`^anthropic/claude-${family}-(\\d{1,3}(?:-\\d{1,3})*)$`).exec(id)?.[1]
    if (version === undefined) continue
    const parts = version.split('-').map(Number)
    if (isNewer(parts, newestVersion)) [newest, newestVersion] = [`claude-${family}-${version}`, parts]
  }
  return newest
}

function isNewer(version: readonly number[], than: readonly number[]): boolean {
  for (let index = 0; index < Math.max(version.length, than.length); index++) {
    const [one, other] = [version[index] ?? 0, than[index] ?? -1]
    if (one !== other) return one > other
  }
  return false
}
