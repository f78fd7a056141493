import { fieldsOf, isFunction, isName, isNumber, optional, refuse, type Given } from '../values/given.ts'

/** What others have of a budget, where it gives a session too little. */
export interface LeaseShortage {
  /** Whether it would be enough if all that others have reserved came back. */
  readonly mayComeBack: boolean
  /** What other sessions have reserved of the budget and not spent, in US dollars. */
  readonly reservedUsd: number
  /** In how many sessions that is. */
  readonly holders: number
}

/** What the session of a lease uses of it. The figures are those of the moment at which they are read. */
export interface LeaseUse {
  /** What is spent, and what open requests may cost at most, in US dollars. It counts at its worst case what is not on record yet. */
  readonly usd: number
  /** What is spent, in US dollars. */
  readonly settledUsd: number
  /** Of that, charged at worst case: the service did not say. */
  readonly unknownUsd: number
}

/** An amount that a request would have of a lease, and the least that it can use. In US dollars, of all that the session ever spends. */
export interface LeaseWanted {
  /** What it would have. */
  readonly usd: number
  /** With less than this there is no request. */
  readonly leastUsd: number
}

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
   * Asks for so much in all. Resolves when `usd` says what there is now, which may be less: with `leastUsd` all of it, or as much as there would be if all that
   * others have reserved came back, or nothing more. Where that is too little it says what others have. Nobody could tell what a rejection means: whoever cannot
   * ask tries again until `signal` is aborted.
   */
  growTo(
    usd: number,
    options: {
      /** Aborted when the run is. */
      readonly signal: AbortSignal
      /** The least that is of use. Absent: whatever there is. */
      readonly leastUsd?: number
      /** The request has waited for as long as it may: it is refused where nothing came back since it began to. Default: false. */
      readonly isOver?: boolean
    },
  ): Promise<LeaseShortage | void>
  // Spec R-FUND-1.
  /**
   * Waits in the queue of the budget, first come, first served. `wake` is called when it is worth asking again: when there is enough, or never will be. Returns how
   * to leave the queue. Without it, a request with too little is refused at once.
   */
  wait?(wanted: LeaseWanted, wake: () => void): () => void
  // Spec R-FUND-2.
  /** The session uses less than it did: what it holds beyond `use` it may give back. Called often; it returns at once. */
  uses?(use: LeaseUse): void
}

export const isBudgetLease: Given = (name, value) => {
  const fields = fieldsOf(value) ?? refuse(name, 'a lease: { name, usd, growTo }', value)
  isName(`${name}.name`, fields['name'])
  isNumber(`${name}.usd`, fields['usd'])
  isFunction(`${name}.growTo`, fields['growTo'])
  optional(isFunction)(`${name}.wait`, fields['wait'])
  optional(isFunction)(`${name}.uses`, fields['uses'])
}
