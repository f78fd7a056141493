import type { EndingReason } from '@halting/core'
import type { RunFacts } from './run-facts.ts'
import type { LimitRow, RunName, BudgetRow } from './report-model.ts'
import type { SharedBudgetEnd } from '@halting/core/adapters'
import type { Account } from '../account/account.ts'

interface LimitTally {
  runs: number
  nanos: number
  wentOn: number
  answered: number
  leftUsd: number
  readonly lost: RunName[]
}

/** The exit code of runs that a limit ended. */
const limitExitCode = 3

/** Sums up runs that a limit ended: their cost, and the work that was lost. */
export class LimitSums {
  readonly #rows = new Map<EndingReason, LimitTally>()

  add({ reason, exitCode, hasAnswer, changes, account }: RunFacts, name: RunName, wentOn: boolean): void {
    if (reason === null || exitCode !== limitExitCode) return
    const row = this.#rows.get(reason) ?? { runs: 0, nanos: 0, wentOn: 0, answered: 0, leftUsd: 0, lost: [] }
    this.#rows.set(reason, row)
    row.runs++
    row.nanos += Math.round(name.costUsd * 1e9)
    if (wentOn) row.wentOn++
    if (hasAnswer) row.answered++
    if (changes > 0 && !hasAnswer && !wentOn) row.lost.push(name)
    const budget = account.limits.find(({ limit }) => limit === 'maxBudgetUsd')
    if (budget !== undefined && budget.max !== null && !budget.isReached)
      row.leftUsd += Math.max(0, budget.max - budget.used)
  }

  /** Rows of the most frequent endings first. */
  get rows(): readonly LimitRow[] {
    return [...this.#rows]
      .map(([reason, { nanos, lost, ...row }]) => {
        const lostNanos = lost.reduce((sum, { costUsd }) => sum + Math.round(costUsd * 1e9), 0)
        return { reason, ...row, costUsd: nanos / 1e9, lost, lostUsd: lostNanos / 1e9 }
      })
      .toSorted((a, b) => b.runs - a.runs || b.costUsd - a.costUsd)
  }
}

interface BudgetTally {
  runs: number
  nanos: number
  wentOn: number
  waited: number
  waitedMs: number
  kind: SharedBudgetEnd['kind']
  last: SharedBudgetEnd | undefined
  lastAt: number
}

/** Sums up shared budgets: the runs that each ended, and the requests that waited for it. */
export class BudgetSums {
  readonly #rows = new Map<string, BudgetTally>()

  /** `at`: when the run began, in milliseconds since 1970; null if unknown. */
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

  #of(budget: string, kind: BudgetTally['kind']): BudgetTally {
    const known = this.#rows.get(budget)
    if (known !== undefined) return known
    const row = { runs: 0, nanos: 0, wentOn: 0, waited: 0, waitedMs: 0, kind, last: undefined, lastAt: 0 }
    this.#rows.set(budget, row)
    return row
  }

  /** Rows of the budgets that ended most runs first. */
  get rows(): readonly BudgetRow[] {
    return [...this.#rows]
      .map(([budget, { kind, runs, nanos, wentOn, waited, waitedMs, last }]) => {
        const { usedUsd = null, limitUsd = null, resetsAt = null } = last ?? {}
        return { budget, kind, runs, costUsd: nanos / 1e9, wentOn, usedUsd, limitUsd, resetsAt, waited, waitedMs }
      })
      .toSorted((a, b) => b.runs - a.runs || b.waitedMs - a.waitedMs || a.budget.localeCompare(b.budget))
  }
}
