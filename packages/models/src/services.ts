/** A service that speaks OpenAI's protocols, and how users configure it. */
export interface OpenAiLikeService {
  /** Prefix of its model names, before a slash. */
  readonly prefix: string
  /** Its default address, if it has one. */
  readonly baseUrl?: string
  /** Variable for another address. */
  readonly baseUrlVariable?: string
  /** Variable of the key. */
  readonly keyVariable?: string
  readonly needsKey: boolean
  /** Uses the Responses API, which covers all features of its chat completions (0084). Default: chat completions. */
  readonly responses?: true
}

/** Address of OpenAI's own service. */
export const openAiBaseUrl = 'https://api.openai.com/v1'

/** OpenAI's own service. */
export const openAiService: OpenAiLikeService = {
  prefix: 'openai',
  baseUrl: openAiBaseUrl,
  baseUrlVariable: 'OPENAI_BASE_URL',
  keyVariable: 'OPENAI_API_KEY',
  needsKey: true,
  responses: true,
}

/** Prefixes match the price snapshot, if it knows the service. */
export const openAiLikeServices: readonly OpenAiLikeService[] = [
  openAiService,
  { prefix: 'openai-compatible', baseUrlVariable: 'OPENAI_BASE_URL', keyVariable: 'OPENAI_API_KEY', needsKey: false },
  localService('ollama', 'http://127.0.0.1:11434/v1', 'OLLAMA_HOST'),
  { ...localService('llamacpp', 'http://127.0.0.1:8080/v1', 'LLAMACPP_BASE_URL'), keyVariable: 'LLAMA_API_KEY' },
  { ...localService('vllm', 'http://127.0.0.1:8000/v1', 'VLLM_BASE_URL'), keyVariable: 'VLLM_API_KEY' },
  { ...localService('lmstudio', 'http://127.0.0.1:1234/v1', 'LMSTUDIO_BASE_URL'), keyVariable: 'LM_API_TOKEN' },
  hostedService('openrouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  hostedService('groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  hostedService('deepseek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  hostedService('mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  hostedService('xai', 'https://api.x.ai/v1', 'XAI_API_KEY'),
  hostedService('google', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  hostedService('moonshotai', 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'),
]

function hostedService(prefix: string, baseUrl: string, keyVariable: string): OpenAiLikeService {
  return { prefix, baseUrl, keyVariable, needsKey: true }
}

/** A service on the user's machine at its default port, unless its variable says otherwise. */
function localService(prefix: string, baseUrl: string, baseUrlVariable: string): OpenAiLikeService {
  return { prefix, baseUrl, baseUrlVariable, needsKey: false }
}

/** A model and its service. */
export type NamedModel =
  | { readonly kind: 'anthropic'; readonly model: string }
  | { readonly kind: 'openai_like'; readonly model: string; readonly service: OpenAiLikeService }

/** Resolves a model name; undefined for an unknown service. A service's own names may contain slashes, too. */
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

/** Names without a prefix that only OpenAI uses. */
export function isOpenAiModelName(name: string): boolean {
  return /^(gpt-.|chatgpt-.|codex-.|o\d+(-|$))/.test(name)
}
