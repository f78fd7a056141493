import type { SharedBudgetEnd } from '@halting/core/adapters'
import type { Account } from '../account/account.ts'
import type { BudgetRow } from './report-model.ts'

interface Row {
  runs: number
  nanos: number
  wentOn: number
  waited: number
  waitedMs: number
  kind: SharedBudgetEnd['kind']
  last: SharedBudgetEnd | undefined
  lastAt: number
}

/** Budgets that runs shared with others: which runs each ended, and which requests waited for it. */
export class BudgetSums {
  readonly #rows = new Map<string, Row>()

  /** `at`: when the run began, in milliseconds since 1970; null where it is not known. */
  add({ ending, standingWaits = [] }: Account, costUsd: number, wentOn: boolean, at: number | null): void {
    for (const { budget, requests, ms } of standingWaits) {
      const row = this.#of(budget, 'standing')
      row.waited += requests
      row.waitedMs += ms
    }
    const shared = ending?.sharedBudget
    if (shared === undefined) return
    const row = this.#of(shared.budget, shared.kind)
    row.runs++
    row.nanos += Math.round(costUsd * 1e9)
    if (wentOn) row.wentOn++
    if (row.last !== undefined && (at ?? 0) < row.lastAt) return
    row.last = shared
    row.lastAt = at ?? 0
  }

  #of(budget: string, kind: Row['kind']): Row {
    const known = this.#rows.get(budget)
    if (known !== undefined) return known
    const row = { runs: 0, nanos: 0, wentOn: 0, waited: 0, waitedMs: 0, kind, last: undefined, lastAt: 0 }
    this.#rows.set(budget, row)
    return row
  }

  /** What ended most comes first. */
  get rows(): readonly BudgetRow[] {
    return [...this.#rows]
      .map(([budget, { kind, runs, nanos, wentOn, waited, waitedMs, last }]) => {
        const { usedUsd = null, limitUsd = null, resetsAt = null } = last ?? {}
        return { budget, kind, runs, costUsd: nanos / 1e9, wentOn, usedUsd, limitUsd, resetsAt, waited, waitedMs }
      })
      .toSorted((a, b) => b.runs - a.runs || b.waitedMs - a.waitedMs || a.budget.localeCompare(b.budget))
  }
}
