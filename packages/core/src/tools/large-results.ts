import { isFunction, isObject, isPositive, optional, type Validator } from '../values/validators.ts'
import type { ReadCall } from './result-texts.ts'

/** The full text of one result, after the hooks. */
export interface LargeResult {
  /** Id of the call. */
  readonly callId: string
  /** Name of the tool. */
  readonly toolName: string
  /** The full text. */
  readonly text: string
  /** The location where the tool stored the full output, if `text` is only its head and tail. Store the content of this location in place of `text`. */
  readonly spooled?: string
  /** A key that is unique to this result and the same for every attempt to store it, even after a crash. Use it as the name. */
  readonly idempotencyKey: string
}

// Spec R-TOOL-18.
/** Stores results that are too large for the model. The model receives the head, the tail and the location of the full text. */
export interface LargeResults {
  /** Maximum characters of a result that is shown in full (default: `largeResultLimit` of the model's window). */
  readonly limit?: number
  /**
   * Stores the text and returns the path, or any other name, by which the model can read the text. It may be called
   * again for the same result, and must then return the same name. If it throws, the error is shown to the model, and
   * the rest of the text is lost.
   */
  save(
    result: LargeResult,
    options: {
      /** Aborted when the run is aborted. */
      readonly signal: AbortSignal
    },
  ): PromiseLike<string> | string
  /**
   * The tool call by which the model reads a stored result, such as `{ tool: 'Read', input: { file_path: name },
   * lineField: 'offset' }`. The note in the shortened result names it. `name` is the value that `save` returned. If it
   * throws, no call is named.
   */
  readCall?(name: string): ReadCall | undefined
}

const maxResultCharacters = 50_000

/**
 * Maximum characters of a result for a context window of this many tokens: half a character per token, at most 50,000.
 * That is an eighth of the window at four characters per token, and half of it at one character per token.
 */
export function largeResultLimit(contextWindow: number): number {
  return Math.min(maxResultCharacters, Math.floor(contextWindow / 2))
}

export const isLargeResults: Validator = isObject('an object with save', {
  save: isFunction,
  limit: optional(isPositive),
  readCall: optional(isFunction),
})
