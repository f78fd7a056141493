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
 * A model of OpenAI, over the Responses API, which carries reasoning from one request to the next. If the service does
 * not have that API, for instance because it answers 404 to the first request, chat completions are used from then on.
 *
 * Call `openai('gpt-5')` or `openai({ model, … })`. Without a key and a `baseUrl`, the key is `OPENAI_API_KEY`. The
 * price comes from the snapshot, if it has one.
 * @throws ConfigurationError for an invalid address, key, header or call.
 */
export function openai(model: string | OpenAiOptions, more?: OptionsBesideName<OpenAiOptions>): Model {
  const options = openAiOptionsOf('openai', model, more)
  return openaiCompatible({ ...options, baseUrl: options.baseUrl ?? openAiBaseUrl, api: options.api ?? 'responses' })
}

/**
 * A model of OpenAI, or of another service, over the Responses API only. Nothing is stored at the service (`store:
 * false`). Call it like `openai`.
 * @throws ConfigurationError for an invalid address, key, header or call.
 */
export function openaiResponses(model: string | OpenAiOptions, more?: OptionsBesideName<OpenAiOptions>): Model {
  const options = openAiOptionsOf('openaiResponses', model, more)
  const all = { ...options, baseUrl: options.baseUrl ?? openAiBaseUrl }
  return withRedactor(all, (redactor) => makeOpenAiModel(all, redactor, { api: 'responses', mayFallBack: false }))
}

/**
 * A model of any service with OpenAI's chat completions: vLLM, Ollama, llama.cpp, OpenRouter, Groq, DeepSeek, Mistral
 * and others. `baseUrl` is the part before `/chat/completions`, usually ending with `/v1`. With `api: 'responses'` it
 * behaves like `openai`. The price comes from the snapshot, if it knows the id.
 * @throws ConfigurationError for an invalid address, key, header or call.
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
  // JavaScript programs have no types, and any other name would silently mean chat completions.
  if (!openAiApis.includes(api)) {
    throw new ConfigurationError(`api must be ${openAiApis.join(' or ')}, not ${JSON.stringify(api)}.`)
  }
  return withRedactor(options, (redactor) => makeOpenAiModel(options, redactor, { api, mayFallBack: true }))
}

function openAiOptionsOf(name: string, given: unknown, more: unknown): OpenAiOptions {
  const options: OpenAiOptions = modelOptionsOf({ name, sample: 'gpt-5' }, given, more)
  return withUsualKey(options, 'OPENAI_API_KEY')
}
