import { nanosOf, usdOf } from '../model/prices.ts'
import type { SharedLimit } from '../limits/run-budget.ts'
import type { StandingBudget } from '../limits/standing-budgets.ts'
import { costLimitSignal } from '../limits/limit-guards.ts'
import { StopSignal } from '../endings/signal.ts'
import { budgetSignal } from '../run/pending-endings.ts'
import { committedUsd, type Run } from '../run/run.ts'
import { pendingEndingOf, type PendingEnding } from '../run/outcome.ts'
import type { Grant, OtherReservations, OverBudget } from '../request/grant.ts'
import {
  limitName,
  mayCost,
  nothingFits,
  cutAtStanding,
  leaseUsedUp,
  nextDoesNotFit,
  nextTokensDoNotFit,
  sharedBudget,
  sharedUsedUp,
  someStandingBudget,
  standingUsedUp,
} from '../endings/ending-texts.ts'

// Spec R-BUD-3a.
/** The ending when the budget has no room for the request. The run stops before the call, and reports the limit that the request would need. */
export function overBudgetEnding(run: Run, overBudget: OverBudget): PendingEnding {
  const { currency, needed, available, isOfLease, leaseOthers, shared, of, standing } = overBudget
  if (standing !== undefined) return standingBudgetEnding(standing, usdOf(needed))
  if (shared !== undefined) return sharedBudgetEnding(shared, currency, { needed, available: Math.max(0, available) })
  if (isOfLease === true)
    return leaseEnding(run, { neededUsd: usdOf(needed), availableUsd: usdOf(available) }, leaseOthers)
  if (currency === 'tokens') return tokensEnding(run, needed, available, of)
  return dollarsEnding(
    run,
    usdOf(needed),
    usdOf(available),
    of && { limit: usdOf(of.limit), settled: usdOf(of.settled) },
  )
}

/** A limit, and the amount that all of its users have settled against it. */
type SettledLimit = OverBudget['of']

// Spec R-BUD-17a.
/** The ending when the lease is exhausted: other sessions have spent or reserved the rest of its budget. */
export function leaseEnding(
  run: Run,
  figures: { readonly neededUsd?: number; readonly availableUsd?: number } = {},
  others?: OtherReservations,
): PendingEnding {
  const { lease } = run.context.settings
  const budget = lease?.name ?? sharedBudget
  const usedUsd = usdOf(nanosOf(run.ports.spentBeforeUsd) + nanosOf(committedUsd(run.spent)))
  const { neededUsd } = figures
  const reserved =
    others && others.holders > 0 ? { usd: dollars(others.reservedUsd), holders: others.holders } : undefined
  const needed = neededUsd === undefined ? undefined : dollars(neededUsd)
  const message = leaseUsedUp(budget, dollars(usedUsd), needed, reserved)
  const context = { usedUsd, budget, ...figures, ...others }
  return pendingEndingOf('max_budget_usd', new StopSignal({ reason: 'cost_limit', message, context, source: 'lease' }))
}

// Spec R-BUD-20b.
/**
 * The ending when a budget shared by several runs has too little left, even if every reservation were returned. @param
 * next What the next request may need; absent if a reply was truncated because the budget had no more left.
 */
export function sharedBudgetEnding(
  { name, limit, settled }: SharedLimit,
  currency: 'usd' | 'tokens',
  next?: { readonly needed: number; readonly available: number },
): PendingEnding {
  if (currency === 'tokens') {
    const message = sharedUsedUp(name, `${settled} of ${limit} tokens`, next && `need ${next.needed}`)
    const context = { used: settled, limit, budget: name, ...next }
    return pendingEndingOf(
      'token_limit',
      new StopSignal({ reason: 'token_limit', message, context, source: 'shared_budget' }),
    )
  }
  const [usedUsd, limitUsd] = [usdOf(settled), usdOf(limit)]
  const used = `${dollars(usedUsd)} of $${limitUsd}`
  const message = sharedUsedUp(name, used, next && mayCost(dollars(usdOf(next.needed))))
  const figures = next && { neededUsd: usdOf(next.needed), availableUsd: usdOf(next.available) }
  const context = { used: usedUsd, usedUsd, limit: limitUsd, limitUsd, budget: name, ...figures }
  return pendingEndingOf(
    'max_budget_usd',
    new StopSignal({ reason: 'cost_limit', message, context, source: 'shared_budget' }),
  )
}

// Spec R-STAND-4.
/** The ending when a budget that outlasts the run has too little left, even if every reservation were returned. */
function standingBudgetEnding(budget: StandingBudget, neededUsd: number): PendingEnding {
  const { name, limitUsd, settledUsd, resetsAt } = budget
  const message = standingUsedUp(name, dollars(settledUsd), dollars(neededUsd), resetsAt)
  const context = {
    usedUsd: settledUsd,
    limitUsd,
    used: settledUsd,
    limit: limitUsd,
    budget: name,
    resetsAt,
    neededUsd,
    availableUsd: Math.max(0, limitUsd - settledUsd),
  }
  return pendingEndingOf(
    'max_budget_usd',
    new StopSignal({ reason: 'cost_limit', message, context, source: 'standing' }),
  )
}

// Spec R-STAND-4a.
/** The ending when a reply was truncated because a standing budget had no more left. The budget is unknown if its name was not reported. */
export function standingCutEnding(run: Run, budget: Grant['standing']): PendingEnding {
  const { standing } = run.context.settings
  const name = budget?.name ?? standing?.names.join(', ') ?? someStandingBudget
  const message = cutAtStanding(name, budget?.resetsAt)
  const context = { budget: name, ...(budget !== undefined && { resetsAt: budget.resetsAt }) }
  return pendingEndingOf(
    'max_budget_usd',
    new StopSignal({ reason: 'cost_limit', message, context, source: 'standing' }),
  )
}

function dollarsEnding(run: Run, neededUsd: number, availableUsd: number, of: SettledLimit): PendingEnding {
  const budget = of === undefined ? budgetSignal(run, 'ledger') : costLimitSignal(of.settled, of.limit, 'ledger')
  const used = Number(budget.context['usedUsd'])
  const limit = Number(budget.context['limitUsd'])
  const message =
    used === 0
      ? nothingFits(
          limitName(budget.context['of'] === 'run', limit),
          mayCost(dollars(neededUsd)),
          reservesLastAnswer(run),
        )
      : nextDoesNotFit(budget.message, dollars(used), dollars(neededUsd))
  const figures = {
    neededUsd,
    availableUsd: Math.max(0, availableUsd),
    limitNeededUsd: limit + neededUsd - availableUsd,
  }
  const context = { ...budget.context, ...figures }
  return pendingEndingOf('max_budget_usd', new StopSignal({ ...budget.toJSON(), message, context }), {
    isOwnLimit: true,
  })
}

function tokensEnding(run: Run, needed: number, available: number, of: SettledLimit): PendingEnding {
  const used = of?.settled ?? run.spent.totalTokens
  const limit = of?.limit ?? run.context.settings.maxTotalTokens
  const message =
    used === 0
      ? nothingFits(`a limit of ${limit} tokens`, `need ${needed}`, reservesLastAnswer(run))
      : nextTokensDoNotFit(used, limit, needed)
  const figures = { needed, available: Math.max(0, available), limitNeeded: limit + needed - available }
  const context = { used, limit, ...figures }
  const signal = new StopSignal({ reason: 'token_limit', message, context, source: 'ledger' })
  return pendingEndingOf('token_limit', signal, { raisedBy: ['limit:tokens'], isOwnLimit: true })
}

/** Whether a reserve for the last answer is part of the needed amount. If so, the request may fit alone, but not together with the reserve. */
function reservesLastAnswer({ context, spent }: Run): boolean {
  return context.settings.wrapUp && spent.closing === null
}

/** The amount in dollars, rounded up because it is an upper bound. */
function dollars(usd: number): string {
  const unit = usd < 1 ? 10_000 : 100
  // The tolerance is for floating-point values such as 0.1.
  return `$${Math.ceil(usd * unit - 1e-6) / unit}`
}
