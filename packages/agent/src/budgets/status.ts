import { existsSync } from 'node:fs'
import { ConfigurationError } from '@halting/core'
import { digestOf, largestBudgetUsd, type BudgetPer, type BudgetTerms } from '@halting/core/adapters'
import { nanosOf } from './budget-rule.ts'
import { periodOf } from './calendar.ts'
import { LedgerProblem } from './ledger-file.ts'
import { correct, correctPeriod, periodLengthOf, settleDead, totalSince } from './ledger-state.ts'
import type { Correctable, LedgerState, PeriodPlace } from './ledger-state.ts'
import { budgetRules, ledgerFileOf, type LedgerOwner } from './open.ts'
import { isDead, standingBudget } from './standing-ledger.ts'

/** The current state of a standing budget. */
export interface BudgetReport {
  /** Name of the budget for users: `$20 a day`. */
  readonly name: string
  /** Length of the period. */
  readonly per: BudgetPer
  /** Limit of one period, in US dollars. */
  readonly limitUsd: number
  /** Model that the budget applies to; absent for all models. */
  readonly model?: string
  /** Folder that the budget applies to; absent for all folders. */
  readonly folder?: string
  /** The settings file that defines it. */
  readonly from: string
  /** The day or month, such as `2026-11-29`. */
  readonly period: string
  /** US dollars spent in the period. */
  readonly settledUsd: number
  /** The part of `settledUsd` that was charged at worst case because the actual cost is unknown. */
  readonly unknownUsd: number
  /** US dollars that requests in flight have reserved. */
  readonly reservedUsd: number
  /** Number of requests in flight with a reservation. */
  readonly holders: number
  /** US dollars that can still be spent. */
  readonly leftUsd: number
  /** Start of the next period: ISO 8601, with the offset of the local time zone. */
  readonly resetsAt: string
}

/** An entry of the ledger that can be corrected. */
export interface CorrectableReport {
  /** Id of the entry. */
  readonly id: string
  /** Why its cost is unknown. `later period`: a wrong clock wrote it. `corrected`: a user corrected it. */
  readonly why: Correctable['why'] | 'later period'
  /** US dollars that were charged. */
  readonly usd: number
  /** Time of the reservation (ISO 8601), or the period in which the entry counts. */
  readonly at: string
  /** Id of the model; absent if unknown. */
  readonly model?: string
  /** Id of the session; absent if unknown. */
  readonly session?: string
  /** The repository of the session; absent if there was none. */
  readonly repository?: string
}

/** The standing budgets of a user, and the entries that can be corrected. */
export interface LedgerReport {
  /** Path of the ledger, which may not exist yet. */
  readonly ledger: string
  /** The budgets, in the order of the settings. */
  readonly budgets: readonly BudgetReport[]
  /** Entries that can be corrected. */
  readonly correctable: readonly CorrectableReport[]
}

/** The result of a correction. */
export interface BudgetCorrection {
  /** Id of the entry. */
  readonly id: string
  /** US dollars before. */
  readonly beforeUsd: number
  /** US dollars now. */
  readonly usd: number
}

/**
 * Reports the budgets, after settling reservations of dead processes. Creates no file.
 * @throws ConfigurationError if the ledger cannot be used.
 */
export async function reportBudgets(
  owner: LedgerOwner,
  budgets: readonly (BudgetTerms & {
    /** The settings file that defines the budget. */
    readonly from: string
  })[],
  now: Date = new Date(),
): Promise<LedgerReport> {
  const file = ledgerFileOf(owner)
  const state = await usingLedger(async () => {
    if (!existsSync(file.folder)) return file.read()
    file.checkFolder()
    await file.change((before) => ({ state: settleDead(before, isDead(now)), result: undefined }))
    return file.read()
  })
  const rules = budgetRules(budgets, owner)
  return {
    ledger: file.path,
    budgets: budgets.flatMap((budget, index) => {
      const rule = rules[index]?.rule
      if (rule === undefined) return []
      const period = periodOf(rule.per, now)
      const sum = totalSince(state, { scope: rule.scope, period })
      const { settledUsd, unknownUsd, reservedUsd, limitUsd, resetsAt, name } = standingBudget(rule, sum, now)
      const { model, folder, from } = budget
      return [
        {
          name,
          per: rule.per,
          limitUsd,
          ...(model !== undefined && { model }),
          ...(folder !== undefined && { folder }),
          from,
          period,
          settledUsd,
          unknownUsd,
          reservedUsd,
          holders: sum.holders,
          leftUsd: Math.max(0, rule.limitNanos - sum.leasedNanos) / 1e9,
          resetsAt,
        },
      ]
    }),
    correctable: [...state.correctable.map(reportOf), ...laterPeriods(state, now).map(reportOfPeriod)],
  }
}

function reportOf({ id, why, nanos, since, model, session, repository }: Correctable): CorrectableReport {
  return { id, why, usd: nanos / 1e9, at: new Date(since).toISOString(), model, session, repository }
}

function reportOfPeriod({ id, period, nanos }: LaterPeriod): CorrectableReport {
  return { id, why: 'later period', usd: nanos / 1e9, at: period }
}

interface LaterPeriod extends PeriodPlace {
  readonly id: string
  readonly nanos: number
}

/** Periods that have not begun in this time zone: written by a wrong clock, or in a time zone further east. */
function laterPeriods(state: LedgerState, now: Date): readonly LaterPeriod[] {
  return Object.entries(state.scopes).flatMap(([scope, periods]) =>
    Object.entries(periods)
      .filter(([period, { spentNanos }]) => period > periodOf(periodLengthOf(scope), now) && spentNanos > 0)
      .map(([period, { spentNanos }]) => ({ id: idOfPeriod({ scope, period }), scope, period, nanos: spentNanos })),
  )
}

function idOfPeriod({ scope, period }: PeriodPlace): string {
  return `${period}-${digestOf(scope)}`
}

/**
 * Sets the actual cost of an entry, which may be more than was reserved.
 * @throws ConfigurationError for an unknown id, a request in flight, or a ledger that cannot be used.
 */
export async function correctBudget(
  owner: LedgerOwner,
  {
    id,
    usd,
  }: {
    /** Id of the entry. */
    readonly id: string
    /** Actual cost of the request, in US dollars. */
    readonly usd: number
  },
  now: Date = new Date(),
): Promise<BudgetCorrection> {
  if (!(usd >= 0 && usd <= largestBudgetUsd))
    throw new ConfigurationError(`What was spent is from 0 to ${largestBudgetUsd} US dollars.`)
  const file = ledgerFileOf(owner)
  const unknown = `${file.path} has no entry ${id} that can be corrected. halting budget lists them.`
  if (!existsSync(file.path)) throw new ConfigurationError(unknown)
  return usingLedger(async () => {
    file.checkFolder()
    return file.change((before) => {
      const state = settleDead(before, isDead(now))
      const entry = state.correctable.find((each) => each.id === id)
      if (entry !== undefined)
        return { state: correct(state, id, nanosOf(usd)), result: { id, beforeUsd: entry.nanos / 1e9, usd } }
      const later = laterPeriods(state, now).find((each) => each.id === id)
      if (later !== undefined)
        return { state: correctPeriod(state, later, nanosOf(usd)), result: { id, beforeUsd: later.nanos / 1e9, usd } }
      if (state.reservations.some((each) => each.id === id))
        throw new ConfigurationError(`${id} is a request under way: it is settled when it ends.`)
      throw new ConfigurationError(unknown)
    })
  })
}

/**
 * Returns the path of the ledger, and why the ledger cannot be used; undefined if the ledger is usable or does not
 * exist yet.
 */
export function ledgerTrouble(owner: LedgerOwner): {
  /** Path of the ledger. */
  readonly path: string
  /** Why the ledger cannot be used; undefined if it is usable. */
  readonly trouble: string | undefined
} {
  const file = ledgerFileOf(owner)
  const { path } = file
  if (!existsSync(file.folder)) return { path, trouble: undefined }
  try {
    file.checkFolder()
    // Writes even an unchanged state: only a write shows that the ledger is writable.
    file.attempt((state) => ({ state: { ...state }, result: undefined }))
    return { path, trouble: undefined }
  } catch (thrown) {
    if (thrown instanceof LedgerProblem) return { path, trouble: thrown.message }
    throw thrown
  }
}

async function usingLedger<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (thrown) {
    throw thrown instanceof LedgerProblem ? new ConfigurationError(thrown.message) : thrown
  }
}
