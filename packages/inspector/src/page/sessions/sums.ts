import { counted, elapsed, many, money, visible, copiesLeftOut } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { shownOf } from './figure-text.ts'
import { ownRuns } from './row-kinds.ts'

/** Sums over sessions. */
export interface RowSums {
  readonly sessions: number
  readonly runs: number
  /** Runs that are copies: no figure includes them. */
  readonly copiedRuns: number
  readonly turns: number
  readonly tokens: number
  readonly costUsd: number
  readonly activeMs: number
  readonly calls: number
  readonly failedCalls: number
  /** Models without a price: the dollars do not include them. */
  readonly unpriced: readonly string[]
  readonly sessionsUnpriced: number
  /** Sessions that could not be read, with the reason: no figure includes them. */
  readonly unread: readonly string[]
}

/** Sums over these rows. */
export function sumsOf(rows: readonly SessionRow[]): RowSums {
  const sum = (figure: (row: SessionRow) => number): number => rows.reduce((total, row) => total + figure(row), 0)
  return {
    sessions: rows.length,
    runs: sum(ownRuns),
    copiedRuns: sum(({ copiedRuns }) => copiedRuns),
    turns: sum(({ turns }) => turns),
    tokens: sum(({ tokens }) => tokens),
    // Summed in billionths, so that the result does not depend on the order.
    costUsd: sum(({ costUsd }) => Math.round(costUsd * 1e9)) / 1e9,
    activeMs: sum(({ activeMs }) => activeMs),
    calls: sum(({ calls }) => calls),
    failedCalls: sum(({ failedCalls }) => failedCalls),
    unpriced: [...new Set(rows.flatMap(({ unpriced }) => unpriced))].toSorted(),
    sessionsUnpriced: sum(({ unpriced }) => Number(unpriced.length > 0)),
    unread: rows
      .flatMap(({ sessionId, problem }) => (problem === undefined ? [] : [`${sessionId}: ${problem}`]))
      .toSorted(),
  }
}

/** Sums in words; '' for a part without content. */
export interface SumTexts {
  /** Listed and total number of sessions. */
  readonly shown: string
  readonly figures: string
  readonly copies: string
  readonly unpriced: string
  readonly unread: string
}

/** The sums in words; `all`: total number of sessions. */
export function sumTexts(sums: RowSums, all: number): SumTexts {
  const { unpriced, sessionsUnpriced, unread } = sums
  const names = unpriced.map((model) => visible(model)).join(', ')
  const verb = unpriced.length === 1 ? 'has' : 'have'
  return {
    shown: shownOf(sums.sessions, all),
    figures: [
      money(sums.costUsd),
      `${counted(sums.tokens)} tokens`,
      many(sums.turns, 'turn'),
      elapsed(sums.activeMs),
      many(sums.runs, 'run'),
      `${many(sums.calls, 'call')}, ${counted(sums.failedCalls)} failed`,
    ].join(' · '),
    copies: copiesLeftOut(sums.copiedRuns),
    unpriced:
      sessionsUnpriced === 0
        ? ''
        : `the dollars do not include ${names}, which ${verb} no known price (${many(sessionsUnpriced, 'session')})`,
    unread:
      unread.length === 0
        ? ''
        : `${many(unread.length, 'session')} could not be read and ${unread.length === 1 ? 'is' : 'are'} in none of these figures: ${unread.map((each) => visible(each)).join(' ')}`,
  }
}
