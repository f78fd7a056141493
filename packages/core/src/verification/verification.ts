import { isEither, isFunction, isObject, optional, type Validator } from '../values/validators.ts'

// Spec R-VERI-2.
/** How a run handles changes without a check. */
export interface Verification {
  /**
   * `ask`: sends an answer back once if at least 3 changed lines were not followed by a passed check and a check is
   * known. The model then verifies, or says why not. `tell`: only the result reports it.
   */
  readonly mode: 'ask' | 'tell'
  /**
   * Checks that the project itself names, such as `npm test`, the best first. Called before the model is asked. No
   * checks when absent or when it throws.
   */
  readonly checks?: () => readonly string[] | Promise<readonly string[]>
}

/** Minimum number of unchecked lines before a model is asked about them. */
export const minUncheckedLines = 3

export const isVerification: Validator = isObject("an object with mode, such as { mode: 'tell' }", {
  mode: isEither('ask', 'tell'),
  checks: optional(isFunction),
})
