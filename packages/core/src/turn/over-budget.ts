import { usdOf } from '../budget/prices.ts'
import { StopSignal } from '../stop/signal.ts'
import { budgetSignal } from './endings.ts'
import { draftOf, type Draft } from './outcome.ts'
import type { OverBudget } from './request/grant.ts'
import type { Run } from './run.ts'

/** The budget has no room for the request: the run stops before the call, and says what would have made it fit (spec R-BUD-3a). */
export function overBudgetDraft(run: Run, { currency, needed, available }: OverBudget): Draft {
  return currency === 'usd' ? dollarsDraft(run, usdOf(needed), usdOf(available)) : tokensDraft(run, needed, available)
}

function dollarsDraft(run: Run, neededUsd: number, availableUsd: number): Draft {
  const budget = budgetSignal(run, 'ledger')
  const used = Number(budget.context['usedUsd'])
  const limit = Number(budget.context['limitUsd'])
  const need = `may cost up to ${dollars(neededUsd)}`
  const message =
    used === 0
      ? `No request fits a budget of $${limit}: the first one ${need}`
      : `Reached maximum budget ($${limit}): ${dollars(used)} is used, and the next request ${need}`
  const figures = {
    neededUsd,
    availableUsd: Math.max(0, availableUsd),
    limitNeededUsd: limit + neededUsd - availableUsd,
  }
  const context = { ...budget.context, ...figures }
  return draftOf('max_budget_usd', new StopSignal({ ...budget.toJSON(), message, context }))
}

function tokensDraft({ spent, context: { settings } }: Run, needed: number, available: number): Draft {
  const used = spent.totalTokens
  const limit = settings.maxTokens
  const message =
    used === 0
      ? `No request fits a limit of ${limit} tokens: the first one may need ${needed}`
      : `Token limit reached: ${used}/${limit} used, and the next request may need ${needed}`
  const figures = { needed, available: Math.max(0, available), limitNeeded: limit + needed - available }
  const context = { used, limit, ...figures }
  const signal = new StopSignal({ reason: 'token_limit', message, context, source: 'ledger' })
  return draftOf('token_limit', signal, { raisedBy: ['limit:tokens'] })
}

/** Rounded up: what is not exceeded. */
function dollars(usd: number): string {
  const unit = usd < 1 ? 10_000 : 100
  // A little less: 0.1 is not quite a tenth.
  return `$${Math.ceil(usd * unit - 1e-6) / unit}`
}
