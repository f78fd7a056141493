import { ConfigurationError } from '@halting/core'
import type { Model } from '@halting/core'
import { openAiApis } from './learned.ts'
import { withRedactor } from '../service/endpoint.ts'
import { openAiBaseUrl } from '../services.ts'
import { makeOpenAiModel } from './openai-model.ts'
import type { OpenAiCompatibleOptions, OpenAiOptions } from './openai-options.ts'

/**
 * A model of OpenAI: over the Responses API, by which it goes on from what it thought. A service that answers 404 to
 * the first request, or says in another way that it does not have that API, is asked by chat completions from then on.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with.
 */
export function openai(options: OpenAiOptions): Model {
  return openaiCompatible({ ...options, baseUrl: options.baseUrl ?? openAiBaseUrl, api: options.api ?? 'responses' })
}

/**
 * A model of OpenAI, or behind another service, over the Responses API and nothing else. Nothing is stored at the
 * service (`store: false`).
 * @throws ConfigurationError for an address, a key or a header that no request can be made with.
 */
export function openaiResponses(options: OpenAiOptions): Model {
  const all = { ...options, baseUrl: options.baseUrl ?? openAiBaseUrl }
  return withRedactor(all, (redactor) => makeOpenAiModel(all, redactor, { api: 'responses', mayFallBack: false }))
}

/**
 * A model behind any service that speaks OpenAI's chat completions: vLLM, Ollama, llama.cpp, OpenRouter, Groq, DeepSeek,
 * Mistral and others. `baseUrl` is what comes before `/chat/completions`, mostly with `/v1` at its end. With
 * `api: 'responses'` it is asked as `openai` asks.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with.
 */
export function openaiCompatible(options: OpenAiCompatibleOptions): Model {
  const { api = 'chat_completions' } = options
  // Programs in JavaScript have no types, and another name would be chat completions without a word.
  if (!openAiApis.includes(api)) {
    throw new ConfigurationError(`api must be ${openAiApis.join(' or ')}, not ${JSON.stringify(api)}.`)
  }
  return withRedactor(options, (redactor) => makeOpenAiModel(options, redactor, { api, mayFallBack: true }))
}
