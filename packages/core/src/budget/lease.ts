import { fieldsOf, isFunction, isName, isNumber, refuse, type Given } from '../given.ts'

// Spec R-BUD-17.
/**
 * A share of a budget that this session has together with others, which may be on other machines: it asks for more before it spends more.
 * It holds beside `maxBudgetUsd`, and like that counts all that the session ever spent.
 */
export interface BudgetLease {
  /** Whose budget it is, for messages: `the budget of acme`. */
  readonly name: string
  /** What the session may have spent in all, in US dollars, as things stand. */
  readonly usd: number
  /**
   * Asks for so much in all. Resolves when `usd` says what there is now, which may be less. Nobody could tell what a rejection means: whoever cannot ask
   * tries again until `signal` is aborted.
   */
  growTo(
    usd: number,
    options: {
      /** Aborted when the run is. */
      readonly signal: AbortSignal
    },
  ): Promise<void>
}

export const isBudgetLease: Given = (name, value) => {
  const fields = fieldsOf(value) ?? refuse(name, 'a lease: { name, usd, growTo }', value)
  isName(`${name}.name`, fields['name'])
  isNumber(`${name}.usd`, fields['usd'])
  isFunction(`${name}.growTo`, fields['growTo'])
}
