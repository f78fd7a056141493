import {
  fieldsOf,
  isFunction,
  isName,
  isNumber,
  optional,
  throwInvalidOption,
  type Validator,
} from '../values/validators.ts'

/** What other sessions use of a budget that has too little left for this session. */
export interface LeaseShortage {
  /** Whether the budget would suffice if other sessions returned all their reservations. */
  readonly mayComeBack: boolean
  /** US dollars of the budget that other sessions have reserved but not spent. */
  readonly reservedUsd: number
  /** Number of sessions that have these reservations. */
  readonly holders: number
}

/** What a session uses of its lease. Each property is computed when it is read. */
export interface LeaseUse {
  /** Spent amount plus the worst case of open requests, in US dollars. Spending that is not on record yet counts at its worst case. */
  readonly usd: number
  /** Spent amount in US dollars. */
  readonly settledUsd: number
  /** The part of `settledUsd` charged at the worst case because the service reported no usage. */
  readonly unknownUsd: number
}

/** The amount that a request wants from a lease, and the least it can use. Both are totals over the session's lifetime, in US dollars. */
export interface LeaseWanted {
  /** The wanted total. */
  readonly usd: number
  /** The least useful total. If the lease offers less, the request is not made. */
  readonly leastUsd: number
}

// Spec R-BUD-17.
/**
 * This session's share of a budget that other sessions use too, possibly on other machines. The session must extend the
 * share before it spends more. It applies in addition to `maxBudgetUsd`, and like that limit it counts everything that
 * the session ever spent.
 */
export interface BudgetLease {
  /** Name of the budget for messages, such as `the budget of acme`. */
  readonly name: string
  /** The current share: what the session may spend in total, in US dollars. */
  readonly usd: number
  /**
   * Asks to raise the share to this total. Resolves once `usd` has the new value, which may be lower than requested.
   * With `leastUsd`, the share is raised to the full amount, or to what would remain if the others returned all their
   * reservations, or not at all. If the new share is too small, the result reports what the others use. It should not
   * reject, because the caller cannot interpret a rejection. An implementation that cannot reach the budget should retry
   * until `signal` is aborted.
   */
  growTo(
    usd: number,
    options: {
      /** Aborted when the run is aborted. */
      readonly signal: AbortSignal
      /** The least useful total. When absent, any increase is useful. */
      readonly leastUsd?: number
      /**
       * Whether the request has reached its maximum waiting time. It is then refused unless reservations were returned
       * since it began to wait. Default: false.
       */
      readonly isOver?: boolean
    },
  ): Promise<LeaseShortage | void>
  // Spec R-FUND-1.
  /**
   * Waits in the queue of the budget, in order of arrival. `wake` is called when a retry makes sense: when the budget
   * has enough, or never will have. Returns a function that leaves the queue. Without this method, a request for which
   * too little is left is refused at once.
   */
  wait?(wanted: LeaseWanted, wake: () => void): () => void
  // Spec R-FUND-2.
  /**
   * Reports that the session uses less than before, so the lease may return the part of the share that exceeds `use`.
   * Called often; must return immediately.
   */
  uses?(use: LeaseUse): void
}

export const isBudgetLease: Validator = (name, value) => {
  const fields = fieldsOf(value) ?? throwInvalidOption(name, 'a lease: { name, usd, growTo }', value)
  isName(`${name}.name`, fields['name'])
  isNumber(`${name}.usd`, fields['usd'])
  isFunction(`${name}.growTo`, fields['growTo'])
  optional(isFunction)(`${name}.wait`, fields['wait'])
  optional(isFunction)(`${name}.uses`, fields['uses'])
}
