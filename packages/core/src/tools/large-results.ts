import { isFunction, isObject, isPositive, optional, type Given } from '../values/given.ts'
import type { ReadCall } from './result-texts.ts'

/** The text of one result, whole, as hooks left it. */
export interface LargeResult {
  /** Id of the call. */
  readonly callId: string
  /** Name of the tool. */
  readonly toolName: string
  /** The whole text. */
  readonly text: string
  /** Where the tool has put all of it, if `text` is its head and tail alone: this is what is to be kept. */
  readonly spooled?: string
  /** The same for every try at keeping this result, also after a crash, and for no other result: the name to keep it under. */
  readonly idempotencyKey: string
}

// Spec R-TOOL-18.
/** Keeps results that are too large to be shown whole, as a port: the model is shown head, tail and where the whole is. */
export interface LargeResults {
  /** Characters of text that a result may have and be shown whole; what `largeResultLimit` says of the model's window when absent. */
  readonly limit?: number
  /**
   * Keeps the text, and gives the path, or any other name, by which the model can read it. May be asked again for the same result, and then
   * gives the same. What it throws is told to the model: the rest is then lost.
   */
  save(
    result: LargeResult,
    options: {
      /** Aborted when the run is. */
      readonly signal: AbortSignal
    },
  ): PromiseLike<string> | string
  /**
   * The call of a tool by which the model reads a stored result, such as `{ tool: 'Read', input: { file_path: name }, lineField: 'offset' }`. The note
   * in the shortened result names it. `name` is what `save` returned. What it throws leaves the call out.
   */
  readCall?(name: string): ReadCall | undefined
}

const mostCharacters = 50_000

/**
 * How many characters a result may have in a window of so many tokens: half a character for each, 50,000 at most. That is an eighth of the
 * window where a token has four characters, and half of it where each character is a token.
 */
export function largeResultLimit(contextWindow: number): number {
  return Math.min(mostCharacters, Math.floor(contextWindow / 2))
}

export const isLargeResults: Given = isObject('an object with save', {
  save: isFunction,
  limit: optional(isPositive),
  readCall: optional(isFunction),
})
