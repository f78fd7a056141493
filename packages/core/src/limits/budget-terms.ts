import { matchesWildcard } from '../values/text.ts'

/** How long a period of a standing budget is, in the local time zone. */
export type BudgetPer = 'day' | 'month'

/** A standing budget as a person sets it: so many US dollars a day or a month. */
export interface BudgetTerms {
  /** Length of the period. */
  readonly per: BudgetPer
  /** US dollars, above 0. */
  readonly usd: number
  /** Models that it counts, by their ids; `*` stands for any characters. Without a slash it is the name behind that of the service, too. All of them without it. */
  readonly model?: string | undefined
  /** A folder: it counts what is done there and below it, and in all worktrees of its repository. Everywhere without it. */
  readonly folder?: string | undefined
}

/** A million dollars: more cannot be added up exactly for long. */
export const mostBudgetUsd = 1_000_000

/** As people read it: `$20 a day`, `$5 a month for claude-opus-* in ~/work/x`. */
export function budgetName({ per, usd, model, folder }: BudgetTerms): string {
  const forModel = model === undefined ? '' : ` for ${model}`
  const inFolder = folder === undefined ? '' : ` in ${folder}`
  return `$${dollarsText(usd)} a ${per}${forModel}${inFolder}`
}

// Spec R-STAND-23a.
/** Whether a budget counts requests to a model: `gpt-*` counts `openai/gpt-5` and `openrouter/openai/gpt-5`, too. */
export function countsModel({ model: pattern }: Pick<BudgetTerms, 'model'>, model: string): boolean {
  if (pattern === undefined || matchesWildcard(pattern, model)) return true
  return !pattern.includes('/') && matchesWildcard(pattern, model.slice(model.lastIndexOf('/') + 1))
}

/** Whole dollars without cents, others to the nano-dollar, in which money is counted: no two budgets have one name. */
function dollarsText(usd: number): string {
  if (Number.isInteger(usd) || !Number.isFinite(usd)) return String(usd)
  return usd.toFixed(9).replace(/0{1,7}$/, '')
}
