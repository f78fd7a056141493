/** A service that speaks OpenAI's protocols, and where a person says how to reach it. */
export interface OpenAiLikeService {
  /** Comes before a model's name, with a slash. */
  readonly prefix: string
  /** Its address, where it has one of its own. */
  readonly baseUrl?: string
  /** The variable that holds another address. */
  readonly baseUrlVariable?: string
  /** The variable that holds the key. */
  readonly keyVariable?: string
  readonly needsKey: boolean
  /** It is asked by the Responses API, which has all that its chat completions have (0084); when absent, by chat completions. */
  readonly responses?: true
}

/** Where OpenAI's own service is. */
export const openAiBaseUrl = 'https://api.openai.com/v1'

/** OpenAI's own. */
export const openAiService: OpenAiLikeService = {
  prefix: 'openai',
  baseUrl: openAiBaseUrl,
  baseUrlVariable: 'OPENAI_BASE_URL',
  keyVariable: 'OPENAI_API_KEY',
  needsKey: true,
  responses: true,
}

/** Prefixes are those of the price snapshot, where it knows the service. */
export const openAiLikeServices: readonly OpenAiLikeService[] = [
  openAiService,
  { prefix: 'openai-compatible', baseUrlVariable: 'OPENAI_BASE_URL', keyVariable: 'OPENAI_API_KEY', needsKey: false },
  local('ollama', 'http://127.0.0.1:11434/v1', 'OLLAMA_HOST'),
  { ...local('llamacpp', 'http://127.0.0.1:8080/v1', 'LLAMACPP_BASE_URL'), keyVariable: 'LLAMA_API_KEY' },
  { ...local('vllm', 'http://127.0.0.1:8000/v1', 'VLLM_BASE_URL'), keyVariable: 'VLLM_API_KEY' },
  { ...local('lmstudio', 'http://127.0.0.1:1234/v1', 'LMSTUDIO_BASE_URL'), keyVariable: 'LM_API_TOKEN' },
  known('openrouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  known('groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  known('deepseek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  known('mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  known('xai', 'https://api.x.ai/v1', 'XAI_API_KEY'),
  known('google', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  known('moonshotai', 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'),
]

function known(prefix: string, baseUrl: string, keyVariable: string): OpenAiLikeService {
  return { prefix, baseUrl, keyVariable, needsKey: true }
}

/** One that runs on the machine of whoever asks, unless its variable says otherwise: at its usual port. */
function local(prefix: string, baseUrl: string, baseUrlVariable: string): OpenAiLikeService {
  return { prefix, baseUrl, baseUrlVariable, needsKey: false }
}

/** A model, and the service that has it. */
export type NamedModel =
  | { readonly kind: 'anthropic'; readonly model: string }
  | { readonly kind: 'openai_like'; readonly model: string; readonly service: OpenAiLikeService }

/** What a model's name means; undefined for a name of no known service. A service's own names may have slashes too. */
export function modelNamed(name: string): NamedModel | undefined {
  if (/^claude-./.test(name)) return { kind: 'anthropic', model: name }
  const [prefix = '', ...rest] = name.split('/')
  const model = rest.join('/')
  if (model === '')
    return isOpenAiModelName(name) ? { kind: 'openai_like', model: name, service: openAiService } : undefined
  if (prefix === 'anthropic') return { kind: 'anthropic', model }
  const service = openAiLikeServices.find((one) => one.prefix === prefix)
  return service && { kind: 'openai_like', model, service }
}

/** Bare names that only OpenAI uses. */
export function isOpenAiModelName(name: string): boolean {
  return /^(gpt-.|chatgpt-.|codex-.|o\d+(-|$))/.test(name)
}
