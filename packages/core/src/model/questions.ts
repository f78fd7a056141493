import type { WebSearchUse, Model, ToolDefinition } from './model.ts'
import { webSearchOf } from './web-search.ts'
import type { AssistantMessage, ModelMessage } from './messages.ts'
import type { ModelErrorJson } from './model-error.ts'

// Spec R-HOOK-16.
/**
 * Asks a model through the run: reserved before and settled after, retried, on record and in the figures of the run. Never rejects.
 * It asks the model of the run; any other must be named in `models` of the run or of the context defence.
 */
export type AskModel = (question: HookQuestion) => Promise<CompactionReply>

/** One question: without tools, and without the thinking of the run. */
export interface HookQuestion extends Pick<CompactionRequest, 'model' | 'system' | 'messages' | 'maxOutputTokens'> {
  /** It is cut after so many milliseconds, and has failed then (`timeout`). What it may have cost stays reserved. */
  readonly timeoutMs?: number
  /**
   * Lets the service search the web by its own tool: for a model that says `webSearch`, and within the lists of domains that it
   * keeps to. Each search is reserved with its fee and what it reads again. What was found is in the blocks of the reply.
   */
  readonly webSearch?: WebSearchUse
}

/** What was given as a question, without anything beside it. @throws TypeError for the former name of a limit, and for a web search that is not valid. */
export function questionOf(given: HookQuestion): HookQuestion {
  const { system, messages, model, maxOutputTokens, timeoutMs, webSearch } = given
  // Ignored, it would leave the reply without its bound.
  if ('maxTokens' in given) throw new TypeError('maxTokens of a question is called maxOutputTokens.')
  const bounds = {
    ...(typeof maxOutputTokens === 'number' &&
      maxOutputTokens >= 1 && { maxOutputTokens: Math.floor(maxOutputTokens) }),
    ...(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < Infinity && { timeoutMs }),
    ...(webSearch !== undefined && { webSearch: webSearchOf(webSearch) }),
  }
  return model === undefined ? { system, messages, ...bounds } : { system, messages, model, ...bounds }
}

/** How often a hook may ask in one call. */
export const hookQuestions = 100

/**
 * Why a conversation is made shorter: before a request that would be too long, after one that was refused, from summaries that were made before, or
 * since a person wants it.
 */
export type CompactionTrigger = 'auto' | 'reactive' | 'collapse' | 'manual'

/** One question of a compaction. */
export interface CompactionRequest {
  /** The run's own when absent; any other must be named in `ContextManager.models`. */
  readonly model?: Model
  /** The system prompt of the question. */
  readonly system: string
  /** As they stand in the conversation where possible: what the provider has counted is not reserved for by its bytes. */
  readonly messages: readonly ModelMessage[]
  /** Listed, and not to be called: a prompt that begins like the run's own is read from the provider's cache. None when absent. */
  readonly tools?: readonly ToolDefinition[]
  /**
   * `none` when absent: no tool can be called. `auto` is as the run asks: a service may keep what it has in its cache only then. What is called is not
   * done.
   */
  readonly toolChoice?: 'auto' | 'none'
  /** Cap of the reply in tokens; the model's default when absent. The budget may lower it, but not below the least useful answer. */
  readonly maxOutputTokens?: number
}

/** What came of a question. */
export type CompactionReply =
  /** `streamError` is set when the stream broke after completed blocks. */
  | {
      readonly kind: 'answered'
      /** The answer. */
      readonly message: AssistantMessage
      /** How the stream broke; null when it did not. */
      readonly streamError: ModelErrorJson | null
    }
  /** For good, after all retries. `prompt_too_long` is one of the kinds: ask again with less. */
  | {
      readonly kind: 'failed'
      /** The failure of the last attempt. */
      readonly error: ModelErrorJson
    }
  /** The budget has no room for it: nothing was asked. */
  | { readonly kind: 'over_budget' }
  | { readonly kind: 'aborted' }
