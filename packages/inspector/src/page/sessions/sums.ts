import type { SessionRow } from '../../view/types.ts'

/** What sessions come to together. */
export interface RowSums {
  readonly sessions: number
  readonly runs: number
  readonly turns: number
  readonly tokens: number
  readonly costUsd: number
  readonly activeMs: number
  readonly calls: number
  readonly failedCalls: number
  /** Models without a price, by name: the dollars leave them out. */
  readonly unpriced: readonly string[]
  readonly sessionsUnpriced: number
  readonly unread: number
}

/** The sums of what is shown. */
export function sumsOf(rows: readonly SessionRow[]): RowSums {
  const sum = (figure: (row: SessionRow) => number): number => rows.reduce((total, row) => total + figure(row), 0)
  return {
    sessions: rows.length,
    runs: sum(({ runs }) => runs),
    turns: sum(({ turns }) => turns),
    tokens: sum(({ tokens }) => tokens),
    // In billionths: the same sum in every order of the rows.
    costUsd: sum(({ costUsd }) => Math.round(costUsd * 1e9)) / 1e9,
    activeMs: sum(({ activeMs }) => activeMs),
    calls: sum(({ calls }) => calls),
    failedCalls: sum(({ failedCalls }) => failedCalls),
    unpriced: [...new Set(rows.flatMap(({ unpriced }) => unpriced))].toSorted(),
    sessionsUnpriced: sum(({ unpriced }) => Number(unpriced.length > 0)),
    unread: sum(({ problem }) => Number(problem !== undefined)),
  }
}
