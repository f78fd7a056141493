import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isName, isNumber, throwInvalidOption, type Validator } from '../values/validators.ts'
import { Ledger } from './ledger.ts'
import { nanosOf, usdOf } from '../model/prices.ts'

/** Limits of `sharedBudget`: at least one of dollars and tokens. */
export interface SharedBudgetLimits {
  /** US dollars that all runs together may spend. */
  readonly usd?: number
  /** Tokens that all runs together may use, input and output. */
  readonly tokens?: number
  /** Name of the budget, which the message of a run that it ends contains (default: `the shared budget`). */
  readonly name?: string
}

/** One budget for several runs of a program (`sharedBudget`). Pass it to them as the option `budget`. Each property is computed when it is read. */
export interface SharedRunBudget {
  /** The name used in messages. */
  readonly name: string
  /** The limit in US dollars; Infinity for none. */
  readonly usd: number
  /** The limit in tokens; Infinity for none. */
  readonly tokens: number
  /** US dollars that its runs have spent, including the worst case of requests with an unknown outcome. */
  readonly spentUsd: number
  /** US dollars that requests in progress may still cost. */
  readonly reservedUsd: number
  /** US dollars that a request could still reserve; Infinity without a limit. */
  readonly leftUsd: number
  /** Tokens that its runs have used. */
  readonly spentTokens: number
  /** Tokens that requests in progress may still use. */
  readonly reservedTokens: number
  /** Tokens that a request could still reserve; Infinity without a limit. */
  readonly leftTokens: number
}

/**
 * A budget that several runs of this process share: pass the same object to each of them as `budget`. Every request
 * reserves its worst case first, so parallel runs together never exceed it, unless a service bills more than allowed. It
 * counts what its runs spend in this process. Other limits of the runs apply as well.
 * @throws ConfigurationError for limits that are not above 0, and without a limit.
 */
export function sharedBudget(limits: SharedBudgetLimits): SharedRunBudget {
  const { usd = Infinity, tokens = Infinity, name = 'the shared budget' } = checkedLimits(limits)
  const ledger = Ledger.create({ nanos: nanosOf(usd), tokens }, { isShared: true })
  const budget = Object.freeze<SharedRunBudget>({
    name,
    usd,
    tokens,
    get spentUsd() {
      return usdOf(ledger.figures().settled.nanos)
    },
    get reservedUsd() {
      return usdOf(ledger.figures().reserved.nanos)
    },
    get leftUsd() {
      return Math.max(0, usdOf(ledger.available().nanos))
    },
    get spentTokens() {
      return ledger.figures().settled.tokens
    },
    get reservedTokens() {
      return ledger.figures().reserved.tokens
    },
    get leftTokens() {
      return Math.max(0, ledger.available().tokens)
    },
  })
  ledgers.set(budget, ledger)
  return budget
}

const ledgers = new WeakMap<object, Ledger>()

/** The ledger behind a budget. @throws ConfigurationError for an object that `sharedBudget` did not create. */
export function ledgerOfBudget(budget: SharedRunBudget): Ledger {
  return ledgers.get(budget) ?? throwInvalidOption('budget', expectedBudget, budget)
}

const expectedBudget = 'one that sharedBudget({ usd }) made, the same object for each run'

export const isSharedBudget: Validator = (name, value) => {
  if (typeof value !== 'object' || value === null || !ledgers.has(value))
    throwInvalidOption(name, expectedBudget, value)
}

const limitValidators: { readonly [name in keyof SharedBudgetLimits]-?: Validator } = {
  usd: isNumber,
  tokens: isNumber,
  name: isName,
}

function checkedLimits(unchecked: SharedBudgetLimits): SharedBudgetLimits {
  const fields =
    fieldsOf(unchecked) ?? throwInvalidOption('sharedBudget', 'called with limits, such as { usd: 5 }', unchecked)
  for (const [name, value] of Object.entries(fields)) {
    const check = Object.hasOwn(limitValidators, name) ? limitValidators[name as keyof SharedBudgetLimits] : undefined
    if (check === undefined)
      throw new ConfigurationError(`sharedBudget has no limit ${name}. Use usd, tokens and name.`)
    if (value !== undefined) check(name, value)
  }
  const { usd = Infinity, tokens = Infinity } = unchecked
  for (const [name, limit] of Object.entries({ usd, tokens }))
    if (!(limit > 0)) throw new ConfigurationError(`${name} of a shared budget must be above 0, but it is ${limit}.`)
  if (usd === Infinity && tokens === Infinity)
    throw new ConfigurationError('A shared budget needs a limit: sharedBudget({ usd: 5 }), or tokens.')
  return unchecked
}

/** A shared budget that ended a run or truncated its reply: its limit and the spending of all runs, in the currency that had too little left. JSON. */
export type SharedLimit = { readonly name: string; readonly limit: number; readonly settled: number }

export function sharedLimitOf(budget: SharedRunBudget, currency: 'usd' | 'tokens'): SharedLimit {
  const ledger = ledgerOfBudget(budget)
  const unit = currency === 'usd' ? 'nanos' : 'tokens'
  return { name: budget.name, limit: ledger.limits[unit], settled: ledger.figures().settled[unit] }
}
