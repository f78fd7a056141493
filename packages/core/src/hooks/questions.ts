import type { CompactionReply, CompactionRequest } from '../context/port.ts'

/**
 * Asks a model through the run: reserved before and settled after, retried, on record and in the figures of the run (spec R-HOOK-16). Never rejects.
 * It asks the model of the run; any other must be named in `models` of the run or of the context defence.
 */
export type AskModel = (question: HookQuestion) => Promise<CompactionReply>

/** One question: without tools, and without the thinking of the run. */
export type HookQuestion = Pick<CompactionRequest, 'model' | 'system' | 'messages' | 'maxTokens'>

/** What was given as a question, without anything beside it. */
export function questionOf(given: HookQuestion): HookQuestion {
  const { system, messages, model, maxTokens } = given
  const cap = typeof maxTokens === 'number' && maxTokens >= 1 ? { maxTokens: Math.floor(maxTokens) } : {}
  return model === undefined ? { system, messages, ...cap } : { system, messages, model, ...cap }
}

/** How often a hook may ask in one call. */
export const hookQuestions = 100
