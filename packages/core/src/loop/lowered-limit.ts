import { turnsBegun } from '../limits/transition-rules.ts'
import { abortEnding, budgetEnding, tokenLimitEnding, maxTurnsEnding } from '../run/pending-endings.ts'
import { activeMs, committedUsd, isRequestRecorded, type Run } from '../run/run.ts'
import { endWith, type PendingEnding, type Outcome } from '../run/outcome.ts'
import { limitLowered } from '../endings/ending-texts.ts'

// A limit that was lowered below what is spent ends the run at the next cancellation point (spec R-SET-6). Only changed
// limits are checked here: the code that reaches any other limit ends the run. A run that continues an earlier one is
// the exception: it may have no turn left (spec R-LAP-8).

/** The check before a turn. The turn may have been granted before the limit on turns was lowered. */
export function loweredLimits(run: Run): Outcome | undefined {
  const pendingEnding = loweredLimitEnding(run) ?? loweredTurnsEnding(run)
  return pendingEnding === undefined ? undefined : endWith(pendingEnding)
}

/**
 * Checks dollars of the session and the run, then tokens, then time. Turns need no check after the tools: `decide`
 * refuses the next iteration when they are used up.
 */
export function loweredLimitEnding(run: Run): PendingEnding | undefined {
  const { spent, context, ports } = run
  const limits = spent.settings?.limits
  if (limits === undefined) return undefined
  const { maxBudgetUsd, maxTotalTokens } = context.settings
  if (limits.maxBudgetUsd !== undefined && ports.spentBeforeUsd + committedUsd(spent) >= maxBudgetUsd)
    return budgetEnding(run)
  if (limits.maxRunUsd !== undefined && committedUsd(spent) >= context.settings.maxRunUsd) return budgetEnding(run)
  if (limits.maxTotalTokens !== undefined && spent.totalTokens >= maxTotalTokens)
    return tokenLimitEnding(run, limitLowered)
  return loweredTimeEnding(run)
}

/** The ending when the time is used up: otherwise the deadline would abort the next step. */
export function loweredTimeEnding(run: Run): PendingEnding | undefined {
  const { spent, context } = run
  if (spent.settings?.limits?.maxDurationMs === undefined) return undefined
  return activeMs(spent) < context.settings.maxDurationMs ? undefined : abortEnding(run, 'time', 'streaming')
}

/** The ending when the limit on turns was lowered. It does not revoke a turn that was granted in spite of the limit, or whose request is recorded. */
function loweredTurnsEnding(run: Run): PendingEnding | undefined {
  const { spent, context } = run
  const mayLackTurns = spent.settings?.limits?.maxTurns !== undefined || isContinuation(run)
  if (!mayLackTurns) return undefined
  const turnsDone = turnsBegun(spent.laps) - 1
  if (turnsDone < context.settings.maxTurns || spent.overridden.includes('limit:max_turns')) return undefined
  return maxTurnsEnding(run, turnsDone)
}

/** Whether this is before the first request of a run with the counters of an earlier run. No iteration has checked the limit yet. */
function isContinuation(run: Run): boolean {
  return run.spent.request === 1 && run.spent.turns > 0 && !isRequestRecorded(run)
}
