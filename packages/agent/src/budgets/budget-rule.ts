import { budgetName, largestBudgetUsd, type BudgetPer, type BudgetTerms } from '@halting/core/adapters'

/** A standing budget as it is applied. */
export interface BudgetRule {
  /** Name of the budget for users: `$20 a day`. */
  readonly name: string
  /** Length of the period. */
  readonly per: BudgetPer
  /** The limit in nano-dollars (1e-9 US dollars). */
  readonly limitNanos: number
  /** Model that the budget applies to; undefined for all models. */
  readonly model: string | undefined
  /**
   * Key under which spending is accumulated. The key is independent of the limit, so a raised budget retains its
   * recorded spending.
   */
  readonly scope: string
}

/** Whole nano-dollars, at most a million dollars. */
export function nanosOf(usd: number): number {
  return Math.round(Math.min(Math.max(usd, 0), largestBudgetUsd) * 1e9)
}

/** @param path Absolute path of the folder. */
export function budgetRule(terms: BudgetTerms, path: string | undefined): BudgetRule {
  const { per, usd, model } = terms
  return {
    name: budgetName(terms),
    per,
    limitNanos: nanosOf(usd),
    model,
    scope: `${per}${model === undefined ? '' : ` model=${model}`}${path === undefined ? '' : ` folder=${path}`}`,
  }
}
