import type { JsonObject, Thinking } from '@halting/core'
import type { ReasoningEffort } from '../responses/reasoning-effort.ts'
import type { FreeformTools } from '../responses/responses-items.ts'
import type { ServiceOptions } from '../service/endpoint.ts'
import type { OpenAiApi } from './service-knowledge.ts'

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
  /** Which API is spoken; `openai` speaks Responses when absent, and `openaiCompatible` chat completions. */
  readonly api?: OpenAiApi | undefined
  /**
   * How hard the model is to think; the service's own when absent. A value that the model refuses gives way to the
   * nearest that it takes, once. Chat completions are asked for `high` at most.
   */
  readonly effort?: ReasoningEffort | undefined
  /** What a request does not say otherwise: `disabled` asks, over Responses, for the least effort that the model takes. */
  readonly thinking?: Thinking | undefined
  /** Which summary of its thoughts is asked for, over Responses; `auto` when absent, for models of OpenAI that think. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | 'none' | undefined
  /**
   * The service's own tools, over Responses, as it wants them listed; chat completions have none: `{ type: 'code_interpreter', … }`. `max_tool_calls` of
   * `extraBody` bounds how often one request may use them; a budget wants that.
   */
  readonly serverTools?: readonly JsonObject[] | undefined
  /**
   * Whether the service searches the web, over Responses, for requests that let it; when absent, at OpenAI's own addresses and Azure's
   * alone. It must keep to `max_tool_calls`, which holds the fees.
   */
  readonly webSearch?: boolean | undefined
  /** Tools whose input the model writes as a text of its own, over Responses, by their names. */
  readonly freeform?: FreeformTools | undefined
  /**
   * Further fields of every request, such as `temperature`, `text` or `response_format`; ours go first. What one API names otherwise
   * than the other (`reasoning_effort`, `response_format`, `verbosity`) may have either name. With `stream_options: null` usage is
   * not asked for, where a service does not know that field; with any other `stream_options` it is, whatever the dialect.
   */
  readonly extraBody?: JsonObject | undefined
  /** What a person sets the address and the key with, for errors that say so. */
  readonly settings?:
    | {
        /** What sets the address, such as the name of a variable. */
        readonly baseUrl: string
        /** What sets the key, such as the name of a variable. */
        readonly key: string
      }
    | undefined
}

/** Options of a service that speaks chat completions. */
export interface OpenAiCompatibleOptions extends OpenAiOptions {
  /** Address of the service, up to and including the version: `https://api.mistral.ai/v1`. */
  readonly baseUrl: string
  /**
   * What is peculiar to a service, or to the models behind it; by the host of `baseUrl` when absent. `mistral`: ids of
   * calls are nine letters and digits, no message of the user follows a result, and usage comes unasked.
   */
  readonly dialect?: 'mistral' | undefined
}
