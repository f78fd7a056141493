import type { Eventually } from '../values/eventually.ts'
import { fieldsOf, isFunction, isListOf, isName, refuse, type Given } from '../values/given.ts'
import { matchesWildcard } from '../values/text.ts'

/** A budget that goes on beyond runs, sessions and processes, such as twenty dollars a day. JSON. */
export type StandingBudget = {
  /** As people read it: `$20 a day`, `$5 a day for claude-opus-*`. */
  readonly name: string
  /** US dollars of one period. */
  readonly limitUsd: number
  /** What was spent of it in this period, in US dollars. */
  readonly settledUsd: number
  /** Of that, what was charged at worst case, since nobody said what it came to. */
  readonly unknownUsd: number
  /** What requests under way have reserved. */
  readonly reservedUsd: number
  /** When its next period begins: ISO 8601, with the offset of the local time zone. */
  readonly resetsAt: string
}

/** What a request wants to take from the standing budgets before it is made. */
export interface StandingRequest {
  /** The model that is asked, by its id. */
  readonly model: string
  /** What it may cost at most, in US dollars. */
  readonly usd: number
  /** The same with the shortest reply that is of use: with less it is not made. */
  readonly leastUsd: number
  /** Whether it waits for what others have reserved; else it is refused at once. */
  readonly mayWait: boolean
}

/** What others have reserved, while a request waits for it. */
export interface StandingWait {
  /** The name of the budget that has too little. */
  readonly budget: string
  /** US dollars that others have reserved. */
  readonly reservedUsd: number
  /** Requests that have reserved it. */
  readonly holders: number
}

/** Taken aside for one request. */
export interface StandingTaken {
  readonly kind: 'taken'
  /** Between `leastUsd` and `usd` of the request. */
  readonly usd: number
  /** The budget that leaves less than was asked for: it is named where a reply is cut at that. */
  readonly short?: StandingBudget
  /**
   * Puts what was really spent in its place: once. `isKnown` is false where nobody said what it came to; then it is the worst case. Does not throw: what
   * cannot be written stays reserved, and is settled at its worst case when the process has ended.
   */
  settle(usd: number, isKnown: boolean): void
}

/** There is too little, also when all that is reserved came back. */
export interface StandingRefused {
  readonly kind: 'refused'
  /** The budget with the least left. */
  readonly budget: StandingBudget
}

// Spec R-STAND-1.
/**
 * Budgets that all processes of a person share: each request takes its worst case from them before it is made, and gives back what it did not
 * need. A request takes from all budgets that its model counts for, or from none.
 */
export interface StandingBudgets {
  /** Names of all of them, for the certificate. */
  readonly names: readonly string[]
  /** Whether any of them counts for this model: then it needs a price, and each of its requests takes from them. */
  countsFor(model: string): boolean
  /**
   * Waits, in order of arrival, where what others have reserved is what is missing, and says so by `onWait`. Only settled money refuses. Rejects when `signal`
   * is aborted, with nothing taken. @throws HaltingError where nobody can say what was spent: then no request is made.
   */
  take(
    request: StandingRequest,
    options: {
      /** Aborted when the run is. */
      readonly signal: AbortSignal
      /** Called when the request has to wait, with what it waits for. */
      readonly onWait: (wait: StandingWait) => void
    },
  ): Eventually<StandingTaken | StandingRefused>
}

export const isStandingBudgets: Given = (name, value) => {
  const fields = fieldsOf(value) ?? refuse(name, 'standing budgets: { names, countsFor, take }', value)
  isListOf(isName)(`${name}.names`, fields['names'])
  isFunction(`${name}.countsFor`, fields['countsFor'])
  isFunction(`${name}.take`, fields['take'])
}

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
