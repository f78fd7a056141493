import { allEntries, figuresOf } from './prices/catalogue.ts'
import type { ModelFigures, ModelPrice } from './prices/catalogue.ts'
import { openAiLikeServices, modelNamed } from './services.ts'

/** A model that the price snapshot knows, behind a service that can be asked. */
export interface KnownModel extends ModelFigures {
  /** As it is written behind `--model`. */
  readonly name: string
  /** What it costs. */
  readonly price: ModelPrice
  /** The variables that its key is looked for in; none for a service without keys. */
  readonly keyVariables: readonly string[]
}

/** Every known model, by service and name. */
export function knownModels(): readonly KnownModel[] {
  const models: KnownModel[] = []
  for (const [id, { price, contextWindow, maxOutputTokens }] of allEntries()) {
    const name = id.replace(/^anthropic\//, '')
    const keyVariables = keyVariablesOf(name)
    if (keyVariables !== undefined) models.push({ name, contextWindow, maxOutputTokens, price, keyVariables })
  }
  return models
}

/** How many tokens the window of a model has, by its name alone; undefined for a name that is not known. */
export function contextWindowOf(name: string): number | undefined {
  return figuresOf(name)?.contextWindow
}

/** Where the key of the model with this name is looked for; undefined for a name of no known service. */
export function keyVariablesOf(name: string): readonly string[] | undefined {
  const named = modelNamed(name)
  if (named === undefined) return undefined
  if (named.kind === 'anthropic') return ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN']
  return named.service.keyVariable === undefined ? [] : [named.service.keyVariable]
}

/** Every variable that a key, a token or a header with one is looked for in, whichever model is asked. */
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

/** Keys of models that provider packages of the AI SDK read. */
const ofProviderPackages = (
  'AI_GATEWAY_API_KEY ALIBABA_API_KEY ANTHROPIC_FOUNDRY_API_KEY AWS_BEARER_TOKEN_BEDROCK AZURE_API_KEY AZURE_OPENAI_API_KEY ' +
  'BASETEN_API_KEY CEREBRAS_API_KEY COHERE_API_KEY DEEPINFRA_API_KEY FIREWORKS_API_KEY GOOGLE_API_KEY GOOGLE_GENERATIVE_AI_API_KEY ' +
  'GOOGLE_VERTEX_API_KEY HUGGINGFACE_API_KEY PERPLEXITY_API_KEY TOGETHER_AI_API_KEY TOGETHER_API_KEY VERCEL_API_KEY'
).split(' ')

/**
 * Secrets of clouds that provider packages of the AI SDK sign in with, and other programs, too. They are taken out of what a session shows; commands get
 * them unless the model of the session is behind such a package.
 */
export const cloudSecretVariables: readonly string[] = [
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AZURE_CLIENT_SECRET',
  // A service account, in words of its own where there are no files.
  'GOOGLE_PRIVATE_KEY',
]

const families = ['sonnet', 'opus', 'haiku'] as const

/** Short names, and the newest known model of the family that each stands for. */
export function modelAliases(): Readonly<Record<(typeof families)[number], string>> {
  return { sonnet: newestOf('sonnet'), opus: newestOf('opus'), haiku: newestOf('haiku') }
}

/** The name that a short name stands for; any other name is itself. */
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
