import type { MaybePromise } from '../values/maybe-promise.ts'
import { fieldsOf, isFunction, isListOf, isName, throwInvalidOption, type Validator } from '../values/validators.ts'
import { matchesWildcard } from '../values/text.ts'

/** A budget that spans runs, sessions and processes, such as twenty dollars a day. JSON. */
export type StandingBudget = {
  /** The display name: `$20 a day`, `$5 a day for claude-opus-*`. */
  readonly name: string
  /** US dollars per period. */
  readonly limitUsd: number
  /** US dollars spent in this period. */
  readonly settledUsd: number
  /** The part of `settledUsd` charged at the worst case because no usage was reported. */
  readonly unknownUsd: number
  /** US dollars reserved by requests in progress. */
  readonly reservedUsd: number
  /** When the next period begins: ISO 8601, with the offset of the local time zone. */
  readonly resetsAt: string
}

/** What a request needs from the standing budgets before it is made. */
export interface StandingRequest {
  /** The id of the model. */
  readonly model: string
  /** The maximum cost in US dollars. */
  readonly usd: number
  /** The maximum cost with the shortest useful reply. If less is left, the request is not made. */
  readonly leastUsd: number
  /** Whether it waits for reservations of other requests. Otherwise it is refused at once. */
  readonly mayWait: boolean
}

/** What other requests have reserved, while a request waits for it. */
export interface StandingWait {
  /** The name of the budget that has too little left. */
  readonly budget: string
  /** US dollars reserved by other requests. */
  readonly reservedUsd: number
  /** Number of requests that reserved it. */
  readonly holders: number
}

/** The amount reserved for one request. */
export interface StandingReservation {
  readonly kind: 'taken'
  /** Between `leastUsd` and `usd` of the request. */
  readonly usd: number
  /** The budget that reduced the amount. It is reported if a reply is truncated because of it. */
  readonly short?: StandingBudget
  /**
   * Replaces the reservation with the real cost; call it once. `isKnown` is false if no usage was reported: `usd` is the
   * worst case then. Does not throw. An amount that cannot be written stays reserved, and is settled at its worst case
   * after the process has ended.
   */
  settle(usd: number, isKnown: boolean): void
}

/** The budget is too small even if all reservations were returned. */
export interface StandingRefused {
  readonly kind: 'refused'
  /** The budget with the least left. */
  readonly budget: StandingBudget
}

// Spec R-STAND-1.
/**
 * Budgets that all processes of a person share. Each request reserves its worst case from them before it is made, and
 * returns the part that it did not need. A request reserves from all budgets that apply to its model, or from none.
 */
export interface StandingBudgets {
  /** The names of all budgets, for the certificate. */
  readonly names: readonly string[]
  /** Whether any budget applies to this model. If so, the model needs a price, and each of its requests reserves from the budget. */
  countsFor(model: string): boolean
  /**
   * Reserves an amount for a request. Waits, in order of arrival, if the request would fit once other requests return
   * their reservations, and reports the wait by `onWait`. A request is refused only because of settled spending. Rejects
   * when `signal` is aborted, without reserving anything.
   * @throws HaltingError if the spending is unknown: the request is not made then.
   */
  take(
    request: StandingRequest,
    options: {
      /** Aborted when the run is aborted. */
      readonly signal: AbortSignal
      /** Called when the request has to wait, with what it waits for. */
      readonly onWait: (wait: StandingWait) => void
    },
  ): MaybePromise<StandingReservation | StandingRefused>
}

export const isStandingBudgets: Validator = (name, value) => {
  const fields = fieldsOf(value) ?? throwInvalidOption(name, 'standing budgets: { names, countsFor, take }', value)
  isListOf(isName)(`${name}.names`, fields['names'])
  isFunction(`${name}.countsFor`, fields['countsFor'])
  isFunction(`${name}.take`, fields['take'])
}

/** The period of a standing budget, in the local time zone. */
export type BudgetPer = 'day' | 'month'

/** A standing budget as configured: US dollars per day or month. */
export interface BudgetTerms {
  /** Length of the period. */
  readonly per: BudgetPer
  /** US dollars, above 0. */
  readonly usd: number
  /**
   * A pattern for the ids of the models to which it applies; `*` matches any characters. A pattern without a slash also
   * matches the name after the provider. Default: all models.
   */
  readonly model?: string | undefined
  /** A folder: the budget applies to work in the folder, below it, and in all worktrees of its repository. Default: everywhere. */
  readonly folder?: string | undefined
}

/** One million dollars: larger amounts cannot be summed exactly for long. */
export const largestBudgetUsd = 1_000_000

/** The display name: `$20 a day`, `$5 a month for claude-opus-* in ~/work/x`. */
export function budgetName({ per, usd, model, folder }: BudgetTerms): string {
  const forModel = model === undefined ? '' : ` for ${model}`
  const folderText = folder === undefined ? '' : ` in ${folder}`
  return `$${dollarsText(usd)} a ${per}${forModel}${folderText}`
}

// Spec R-STAND-23a.
/** Whether a budget applies to a model: `gpt-*` also matches `openai/gpt-5` and `openrouter/openai/gpt-5`. */
export function countsModel({ model: pattern }: Pick<BudgetTerms, 'model'>, model: string): boolean {
  if (pattern === undefined || matchesWildcard(pattern, model)) return true
  return !pattern.includes('/') && matchesWildcard(pattern, model.slice(model.lastIndexOf('/') + 1))
}

/** Whole dollars without cents, other amounts to the nano-dollar, so that no two budgets have the same name. */
function dollarsText(usd: number): string {
  if (Number.isInteger(usd) || !Number.isFinite(usd)) return String(usd)
  return usd.toFixed(9).replace(/0{1,7}$/, '')
}
