import { ConfigurationError } from '@halting/core'
import type { Model } from '@halting/core'
import { openAiApis } from './service-knowledge.ts'
import { modelOptionsOf, withUsualKey } from '../model-call.ts'
import type { OptionsBesideName } from '../model-call.ts'
import { withRedactor } from '../service/endpoint.ts'
import { openAiBaseUrl } from '../services.ts'
import { makeOpenAiModel } from './openai-model.ts'
import type { OpenAiCompatibleOptions, OpenAiOptions } from './openai-options.ts'

/**
 * A model of OpenAI: over the Responses API, by which it goes on from what it thought. A service that answers 404 to
 * the first request, or says in another way that it does not have that API, is asked by chat completions from then on.
 * `openai('gpt-5')` or `openai({ model, … })`: without a key and a `baseUrl` the key is that of `OPENAI_API_KEY`. The model brings its price where the snapshot
 * has one.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with, and for another call.
 */
export function openai(model: string | OpenAiOptions, more?: OptionsBesideName<OpenAiOptions>): Model {
  const options = openAiOptionsOf('openai', model, more)
  return openaiCompatible({ ...options, baseUrl: options.baseUrl ?? openAiBaseUrl, api: options.api ?? 'responses' })
}

/**
 * A model of OpenAI, or behind another service, over the Responses API and nothing else. Nothing is stored at the
 * service (`store: false`). Called as `openai` is.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with, and for another call.
 */
export function openaiResponses(model: string | OpenAiOptions, more?: OptionsBesideName<OpenAiOptions>): Model {
  const options = openAiOptionsOf('openaiResponses', model, more)
  const all = { ...options, baseUrl: options.baseUrl ?? openAiBaseUrl }
  return withRedactor(all, (redactor) => makeOpenAiModel(all, redactor, { api: 'responses', mayFallBack: false }))
}

/**
 * A model behind any service that speaks OpenAI's chat completions: vLLM, Ollama, llama.cpp, OpenRouter, Groq, DeepSeek,
 * Mistral and others. `baseUrl` is what comes before `/chat/completions`, mostly with `/v1` at its end. With
 * `api: 'responses'` it is asked as `openai` asks. A model whose id the snapshot knows brings its price.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with, and for another call.
 */
export function openaiCompatible(
  model: string | OpenAiCompatibleOptions,
  more?: OptionsBesideName<OpenAiCompatibleOptions>,
): Model {
  const form = { name: 'openaiCompatible', sample: 'llama3.3', rest: "baseUrl: 'http://localhost:11434/v1'" }
  const named = modelOptionsOf(form, model, more)
  const { baseUrl } = named
  if (typeof baseUrl !== 'string')
    throw new ConfigurationError(
      `openaiCompatible needs baseUrl, the address of the service: openaiCompatible('${named.model}', { ${form.rest} }).`,
    )
  const options: OpenAiCompatibleOptions = { ...named, baseUrl }
  const { api = 'chat_completions' } = options
  // Programs in JavaScript have no types, and another name would be chat completions without a word.
  if (!openAiApis.includes(api)) {
    throw new ConfigurationError(`api must be ${openAiApis.join(' or ')}, not ${JSON.stringify(api)}.`)
  }
  return withRedactor(options, (redactor) => makeOpenAiModel(options, redactor, { api, mayFallBack: true }))
}

function openAiOptionsOf(name: string, given: unknown, more: unknown): OpenAiOptions {
  const options: OpenAiOptions = modelOptionsOf({ name, sample: 'gpt-5' }, given, more)
  return withUsualKey(options, 'OPENAI_API_KEY')
}
