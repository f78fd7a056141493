import type { CompactionReply, CompactionRequest } from '../context/port.ts'
import type { WebSearchUse } from '../model/model.ts'
import { webSearchOf } from '../model/web-search.ts'

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
