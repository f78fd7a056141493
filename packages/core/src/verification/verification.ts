import { isEither, isFunction, isObject, optional, type Given } from '../values/given.ts'

// Spec R-VERI-2.
/** How a run heeds changes that nobody checked. */
export interface Verification {
  /**
   * `ask`: an answer after at least 3 changed lines that no passing check followed is sent back once, where a check is known: the model is to verify, or to
   * say why not. `tell`: only the result says so.
   */
  readonly mode: 'ask' | 'tell'
  /** Checks that the project itself names, such as `npm test`, the best first; asked before the model is. None when absent. What it throws counts as none. */
  readonly checks?: () => readonly string[] | Promise<readonly string[]>
}

/** So many lines have to be unchecked before a model is asked about them. */
export const fewestUncheckedLines = 3

export const isVerification: Given = isObject("an object with mode, such as { mode: 'tell' }", {
  mode: isEither('ask', 'tell'),
  checks: optional(isFunction),
})
