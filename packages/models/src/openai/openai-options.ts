import type { JsonObject, Thinking } from '@halting/core'
import type { ReasoningEffort } from '../responses/reasoning-effort.ts'
import type { FreeformTools } from '../responses/responses-items.ts'
import type { ServiceOptions } from '../service/endpoint.ts'
import type { OpenAiApi } from './service-knowledge.ts'

/** Options of `openai`. */
export interface OpenAiOptions extends ServiceOptions {
  /** Model id at the service. */
  readonly model: string
  /** Id for pricing and reports, if it differs from `model`. */
  readonly id?: string | undefined
  /** Context window in tokens, input and output together (default: from the price snapshot, or 128,000). */
  readonly contextWindow?: number | undefined
  /** Maximum length of a reply in tokens (default: from the price snapshot, or 16,384). */
  readonly maxOutputTokens?: number | undefined
  /** Output tokens requested unless an earlier reply was truncated (default: 32,000); never more than `maxOutputTokens`. */
  readonly defaultOutputTokens?: number | undefined
  /** Maximum input tokens that one image is billed as (default: 48,169 for gpt-4o-mini, 6,000 for others). */
  readonly maxImageTokens?: number | undefined
  /**
   * Field for the maximum reply length: OpenAI's own service requires `max_completion_tokens`, most others
   * `max_tokens`.
   */
  readonly outputLimitField?: 'max_tokens' | 'max_completion_tokens' | undefined
  /** The API to use (default: `responses` for `openai`, `chat_completions` for `openaiCompatible`). */
  readonly api?: OpenAiApi | undefined
  /**
   * Reasoning effort (default: the service's). If the model rejects a value, the nearest supported one is used. Chat
   * completions receive at most `high`.
   */
  readonly effort?: ReasoningEffort | undefined
  /**
   * Default for requests without `thinking`: `disabled` requests the lowest effort that the model supports, over
   * Responses.
   */
  readonly thinking?: Thinking | undefined
  /** Summary of the reasoning to request over Responses (default: `auto` for OpenAI's reasoning models). */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | 'none' | undefined
  /**
   * Tools that the service runs, over Responses, in the service's format: `{ type: 'code_interpreter', … }`. Set
   * `max_tool_calls` in `extraBody` to limit their use per request; a budget requires it.
   */
  readonly serverTools?: readonly JsonObject[] | undefined
  /**
   * Whether the service supports web search over Responses (default: only at addresses of OpenAI and Azure). It must
   * respect `max_tool_calls`, which limits the fees.
   */
  readonly webSearch?: boolean | undefined
  /** Tools whose input is free-form text, over Responses, by tool name. */
  readonly freeform?: FreeformTools | undefined
  /**
   * Additional fields of every request, such as `temperature`, `text` or `response_format`; built-in fields take
   * precedence. Fields with different names in the two APIs (`reasoning_effort`, `response_format`, `verbosity`) may
   * have either name. `stream_options: null` stops requesting usage, for services that reject the field; any other
   * value requests it, whatever the dialect.
   */
  readonly extraBody?: JsonObject | undefined
  /** Names of the settings for address and key, for error messages. */
  readonly settings?:
    | {
        /** Setting of the address, such as a variable. */
        readonly baseUrl: string
        /** Setting of the key, such as a variable. */
        readonly key: string
      }
    | undefined
}

/** Options of a service with chat completions. */
export interface OpenAiCompatibleOptions extends OpenAiOptions {
  /** Address of the service, up to and including the version: `https://api.mistral.ai/v1`. */
  readonly baseUrl: string
  /**
   * Dialect of the service, or of the models behind it (default: by the host of `baseUrl`). `mistral`: call ids have
   * nine letters and digits, no user message directly follows a result, and usage is reported without asking.
   */
  readonly dialect?: 'mistral' | undefined
}
