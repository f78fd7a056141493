import type { EndingReason } from '@halting/core'
import type { RunFacts } from './run-facts.ts'
import type { LimitRow, RunName } from './report-model.ts'

interface Row {
  runs: number
  nanos: number
  wentOn: number
  answered: number
  leftUsd: number
  readonly lost: RunName[]
}

/** The exit code of runs that a limit ended. */
const limitExit = 3

/** Runs that a limit ended: what that cost, and what of their work is lost. */
export class LimitSums {
  readonly #rows = new Map<EndingReason, Row>()

  add({ reason, exitCode, hasAnswer, changes, account }: RunFacts, name: RunName, wentOn: boolean): void {
    if (reason === null || exitCode !== limitExit) return
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

  /** What ended most comes first. */
  get rows(): readonly LimitRow[] {
    return [...this.#rows]
      .map(([reason, { nanos, lost, ...row }]) => {
        const lostNanos = lost.reduce((sum, { costUsd }) => sum + Math.round(costUsd * 1e9), 0)
        return { reason, ...row, costUsd: nanos / 1e9, lost, lostUsd: lostNanos / 1e9 }
      })
      .toSorted((a, b) => b.runs - a.runs || b.costUsd - a.costUsd)
  }
}
