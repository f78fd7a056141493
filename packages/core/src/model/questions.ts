import type { WebSearchUse, Model, ToolDefinition } from './model.ts'
import { webSearchOf } from './web-search.ts'
import type { AssistantMessage, ModelMessage } from './messages.ts'
import type { ModelErrorJson } from './model-error.ts'

// Spec R-HOOK-16.
/**
 * Asks a model through the run: with reservation and settlement, retries, recording, and the figures of the run. Never
 * rejects. By default it asks the model of the run; any other must be named in `models` of the run or of the context
 * manager.
 */
export type AskModel = (question: HookQuestion) => Promise<CompactionReply>

/** One question: without tools, and without the thinking of the run. */
export interface HookQuestion extends Pick<CompactionRequest, 'model' | 'system' | 'messages' | 'maxOutputTokens'> {
  /** Timeout in milliseconds; the question then fails with `timeout`. Its possible cost stays reserved. */
  readonly timeoutMs?: number
  /**
   * Lets the service search the web with its own tool: for a model with `webSearch`, within the domain lists that it
   * supports. Each search is reserved with its fee and the input that it reads again. The results are in the blocks of
   * the reply.
   */
  readonly webSearch?: WebSearchUse
}

/** A copy of a question without unknown fields. @throws TypeError for the former name of a limit, and for an invalid web search. */
export function questionOf(request: HookQuestion): HookQuestion {
  const { system, messages, model, maxOutputTokens, timeoutMs, webSearch } = request
  // If it were ignored, the reply would have no limit.
  if ('maxTokens' in request) throw new TypeError('A question has maxOutputTokens, not maxTokens.')
  const bounds = {
    ...(typeof maxOutputTokens === 'number' &&
      maxOutputTokens >= 1 && { maxOutputTokens: Math.floor(maxOutputTokens) }),
    ...(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < Infinity && { timeoutMs }),
    ...(webSearch !== undefined && { webSearch: webSearchOf(webSearch) }),
  }
  return model === undefined ? { system, messages, ...bounds } : { system, messages, model, ...bounds }
}

/** Maximum number of questions in one call of a hook. */
export const hookQuestions = 100

/**
 * Why a conversation is compacted. `auto`: before a request that would be too long. `reactive`: after one was refused.
 * `collapse`: from summaries made earlier. `manual`: a person requested it.
 */
export type CompactionTrigger = 'auto' | 'reactive' | 'collapse' | 'manual'

/** One question of a compaction. */
export interface CompactionRequest {
  /** The model to ask. Default: the run's own model. Any other must be named in `ContextManager.models`. */
  readonly model?: Model
  /** The system prompt of the question. */
  readonly system: string
  /**
   * The messages of the question. Use the conversation's own message objects where possible: if the provider has counted
   * a part of them, that part is not reserved by its bytes.
   */
  readonly messages: readonly ModelMessage[]
  /** Tools that are listed but cannot be called. They let a prompt that begins like the run's own be read from the provider's cache. Default: none. */
  readonly tools?: readonly ToolDefinition[]
  /**
   * `none` (default): no tool can be called. `auto`: as in the run's own requests, which some services require for cache
   * hits. A call that the model makes anyway is not executed.
   */
  readonly toolChoice?: 'auto' | 'none'
  /** Cap of the reply in tokens; the model's default when absent. The budget may lower it, but not below the shortest useful answer. */
  readonly maxOutputTokens?: number
}

/** The outcome of a question. */
export type CompactionReply =
  /** `streamError` is set if the stream broke after complete blocks. */
  | {
      readonly kind: 'answered'
      /** The answer. */
      readonly message: AssistantMessage
      /** How the stream broke; null if it did not. */
      readonly streamError: ModelErrorJson | null
    }
  /** The question failed after all retries. If the kind is `prompt_too_long`, ask again with less. */
  | {
      readonly kind: 'failed'
      /** The failure of the last attempt. */
      readonly error: ModelErrorJson
    }
  /** The budget has too little left: no request was made. */
  | { readonly kind: 'over_budget' }
  | { readonly kind: 'aborted' }
