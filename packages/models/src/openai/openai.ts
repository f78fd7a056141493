import type { JsonObject, Model } from '@halting/core'
import { releaseBody } from '../bytes/bodies.ts'
import { sizesOf } from '../model-sizes.ts'
import type { KeyHeader } from '../service/credentials.ts'
import { headersOf, keyRingOf, urlUnder, withRedactor } from '../service/endpoint.ts'
import type { ServiceOptions } from '../service/endpoint.ts'
import type { Redactor } from '../service/redactor.ts'
import { callService, limitsOf } from '../service/service-model.ts'
import type { Protocol, Spoken } from '../service/service-model.ts'
import { createChatBody } from './chat-body.ts'
import { ChatReader } from './chat-reader.ts'
import { mistralQuirks, quirksOf } from './service-quirks.ts'

/** Options of `openai`. */
export interface OpenAiOptions extends ServiceOptions {
  /** The id that the service knows the model by. */
  readonly model: string
  /** The id it is priced and reported by, when that is another one. */
  readonly id?: string | undefined
  /** Tokens of input and output that fit; from the price snapshot, or 128,000. */
  readonly contextWindow?: number | undefined
  /** The longest reply there is, in tokens; from the price snapshot, or 16,384. */
  readonly maxOutputTokens?: number | undefined
  /** What is asked for unless a reply was cut; 32,000 when absent, and never more than `maxOutputTokens`. */
  readonly defaultOutputTokens?: number | undefined
  /** Most input tokens that one image is billed as; when absent, 48,169 for gpt-4o-mini, and 6,000 for any other. */
  readonly maxImageTokens?: number | undefined
  /** What the limit of the reply is called: OpenAI's own service wants `max_completion_tokens`, most others `max_tokens`. */
  readonly outputLimitField?: 'max_tokens' | 'max_completion_tokens' | undefined
  /**
   * Further fields of every request, such as `reasoning_effort` or `temperature`. With `stream_options: null` usage is
   * not asked for, where a service does not know that field; with any other `stream_options` it is, whatever the dialect.
   */
  readonly extraBody?: JsonObject | undefined
  /** What a person sets the address and the key with, for errors that say so. */
  readonly settings?: { readonly baseUrl: string; readonly key: string } | undefined
}

/** Options of a service that speaks chat completions. */
export interface OpenAiCompatibleOptions extends OpenAiOptions {
  readonly baseUrl: string
  /**
   * What is peculiar to a service, or to the models behind it; by the host of `baseUrl` when absent. `mistral`: ids of
   * calls are nine letters and digits, no message of the user follows a result, and usage comes unasked.
   */
  readonly dialect?: 'mistral' | undefined
}

/** The header of a key of chat completions. */
export const chatKeyHeader: KeyHeader = (apiKey) => ['authorization', `Bearer ${apiKey}`]

const openAiBaseUrl = 'https://api.openai.com/v1'

/**
 * A model of OpenAI, over its chat completions.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with.
 */
export function openai(options: OpenAiOptions): Model {
  return openaiCompatible({ ...options, baseUrl: options.baseUrl ?? openAiBaseUrl })
}

/**
 * A model behind any service that speaks OpenAI's chat completions: vLLM, Ollama, llama.cpp, OpenRouter, Groq, DeepSeek,
 * Mistral and others. `baseUrl` is what comes before `/chat/completions`, mostly with `/v1` at its end.
 * @throws ConfigurationError for an address, a key or a header that no request can be made with.
 */
export function openaiCompatible(options: OpenAiCompatibleOptions): Model {
  return withRedactor(options, (redactor) => makeModel(options, redactor))
}

function makeModel(options: OpenAiCompatibleOptions, redactor: Redactor): Model {
  const { model, id = model, settings } = options
  const keys = keyRingOf(options, chatKeyHeader)
  const limits = limitsOf(options)
  const url = urlUnder(options.baseUrl, '/chat/completions', openAiBaseUrl)
  const { hostname } = new URL(url)
  const hostQuirks = quirksOf(hostname)
  // Models of Mistral on another host keep the name that this host has for the output limit.
  const { hasShortCallIds, separatesUserFromResults, reportsUsageUnasked } =
    options.dialect === 'mistral' ? mistralQuirks : hostQuirks
  const streamOptions = options.extraBody?.stream_options
  const maxImageTokens = options.maxImageTokens ?? imageTokensOf(id) ?? imageTokensOf(model)
  const protocol: Protocol = {
    url,
    redactor,
    headers: headersOf({}, options.headers),
    labels: {
      name: 'the chat completions API',
      baseUrlSetting: settings?.baseUrl ?? 'OPENAI_BASE_URL',
      keySetting: settings?.key ?? 'OPENAI_API_KEY',
    },
    body: createChatBody({
      model,
      id,
      hasShortCallIds,
      separatesUserFromResults,
      outputLimitField: options.outputLimitField ?? hostQuirks.outputLimitField,
      asksForUsage: streamOptions === undefined ? !reportsUsageUnasked : streamOptions !== null,
      extraBody: options.extraBody,
    }),
    release: releaseBody,
    reader: (request, emit) => new ChatReader(model, request, emit),
  }
  const spoken: Spoken = { protocol }
  return {
    id,
    ...sizesOf(id, options, { contextWindow: 128_000, maxOutputTokens: 16_384 }),
    ...(maxImageTokens !== undefined && { maxImageTokens }),
    call: (request, call) => callService(spoken, keys, limits, request, call),
  }
}

/** gpt-4o-mini bills an image as 2,833 tokens and 5,667 for each of its tiles, of which there are 8 at most. */
function imageTokensOf(id: string): number | undefined {
  return /(^|[^a-z0-9])gpt-4o-mini(-\d{4}-\d{2}-\d{2})?$/.test(id) ? 2_833 + 8 * 5_667 : undefined
}
