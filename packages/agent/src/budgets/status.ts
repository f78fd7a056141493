import { existsSync } from 'node:fs'
import { ConfigurationError } from '@halting/core'
import { digestOf, mostBudgetUsd, type BudgetPer, type BudgetTerms } from '@halting/core/adapters'
import { nanosOf } from './budget-rule.ts'
import { periodOf } from './calendar.ts'
import { LedgerProblem } from './ledger-file.ts'
import { correct, correctPeriod, perOfScope, settleDead, sumFrom } from './ledger-state.ts'
import type { Correctable, LedgerState, PeriodPlace } from './ledger-state.ts'
import { budgetRules, ledgerFileOf, type LedgerOwner } from './open.ts'
import { isDead, standingBudget } from './standing-ledger.ts'

/** A standing budget as it is at this moment. */
export interface BudgetReport {
  /** As people read it: `$20 a day`. */
  readonly name: string
  /** Length of the period. */
  readonly per: BudgetPer
  /** US dollars of one period. */
  readonly limitUsd: number
  /** Models that it counts; absent for all. */
  readonly model?: string
  /** Folder that it counts; absent for everywhere. */
  readonly folder?: string
  /** The settings file that it stands in. */
  readonly from: string
  /** The day or month, such as `2026-11-29`. */
  readonly period: string
  /** What was spent in it. */
  readonly settledUsd: number
  /** Of that, charged at worst case: nobody knows what it came to. */
  readonly unknownUsd: number
  /** US dollars that requests under way have reserved. */
  readonly reservedUsd: number
  /** Requests under way that have reserved it. */
  readonly holders: number
  /** US dollars that can still be spent. */
  readonly leftUsd: number
  /** When the next period begins: ISO 8601, with the offset of the local time zone. */
  readonly resetsAt: string
}

/** An entry of the ledger that can be corrected. */
export interface CorrectableReport {
  /** Id of the entry. */
  readonly id: string
  /** Why it is not known; `later period` is what a wrong clock wrote, and `corrected` was corrected by a person. */
  readonly why: Correctable['why'] | 'later period'
  /** US dollars that were charged. */
  readonly usd: number
  /** When it was reserved (ISO 8601), or the period in which it counts. */
  readonly at: string
  /** Id of the model; absent where it is not known. */
  readonly model?: string
  /** Id of the session; absent where it is not known. */
  readonly session?: string
  /** The repository that the session worked in; absent for none. */
  readonly repository?: string
}

/** The standing budgets of a person, and what of them can be corrected. */
export interface LedgerReport {
  /** Where the ledger lies, whether it is there or not. */
  readonly ledger: string
  /** The budgets, in the order of the settings. */
  readonly budgets: readonly BudgetReport[]
  /** Entries that a person can correct. */
  readonly correctable: readonly CorrectableReport[]
}

/** What a correction has changed. */
export interface BudgetCorrection {
  /** Id of the entry. */
  readonly id: string
  /** US dollars before. */
  readonly beforeUsd: number
  /** US dollars now. */
  readonly usd: number
}

/** Reports the budgets. Settles first what dead processes have reserved; makes no file. @throws ConfigurationError for a ledger that cannot be used. */
export async function reportBudgets(
  owner: LedgerOwner,
  budgets: readonly (BudgetTerms & {
    /** The settings file that the budget is in. */
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
      const sum = sumFrom(state, { scope: rule.scope, period })
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

/** Periods that have not begun: a wrong clock wrote them, or one in a time zone further east. */
function laterPeriods(state: LedgerState, now: Date): readonly LaterPeriod[] {
  return Object.entries(state.scopes).flatMap(([scope, periods]) =>
    Object.entries(periods)
      .filter(([period, { spentNanos }]) => period > periodOf(perOfScope(scope), now) && spentNanos > 0)
      .map(([period, { spentNanos }]) => ({ id: idOfPeriod({ scope, period }), scope, period, nanos: spentNanos })),
  )
}

function idOfPeriod({ scope, period }: PeriodPlace): string {
  return `${period}-${digestOf(scope)}`
}

/**
 * Says what an entry really came to: the truth counts, also where it is more than was reserved.
 * @throws ConfigurationError for an id that there is not, a request that is under way, and a ledger that cannot be used.
 */
export async function correctBudget(
  owner: LedgerOwner,
  {
    id,
    usd,
  }: {
    /** Id of the entry. */
    readonly id: string
    /** What it really came to, in US dollars. */
    readonly usd: number
  },
  now: Date = new Date(),
): Promise<BudgetCorrection> {
  if (!(usd >= 0 && usd <= mostBudgetUsd))
    throw new ConfigurationError(`What was spent is from 0 to ${mostBudgetUsd} US dollars.`)
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

/** Where the ledger lies, and why it cannot be used; undefined where it can, and where there is none yet. */
export function ledgerTrouble(owner: LedgerOwner): {
  /** Path of the ledger. */
  readonly path: string
  /** Why it cannot be used; undefined where it can. */
  readonly trouble: string | undefined
} {
  const file = ledgerFileOf(owner)
  const { path } = file
  if (!existsSync(file.folder)) return { path, trouble: undefined }
  try {
    file.checkFolder()
    // Written also where nothing changes: only so is it known that it can be.
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
