import { turnsBegun } from '../limits/allowance.ts'
import { abortDraft, budgetDraft, loweredTokensDraft, maxTurnsDraft } from '../run/pending-endings.ts'
import { activeMs, committedUsd, isAsked, type Run } from '../run/run.ts'
import { ends, type Draft, type Outcome } from '../run/outcome.ts'
import { limitLowered } from '../endings/ending-texts.ts'

// A limit that was lowered below what is spent ends the run at the next cancellation point (spec R-SET-6). Only changed
// limits are checked here: any other limit ends the run where it is reached. A run that continues an earlier one is the
// exception: it may have no turn left (spec R-LAP-8).

/** Before a turn. The turn may have been granted before the limit on turns was lowered. */
export function loweredLimits(run: Run): Outcome | undefined {
  const draft = loweredLimitDraft(run) ?? loweredTurnsDraft(run)
  return draft === undefined ? undefined : ends(draft)
}

/**
 * Checks dollars of the session and the run, then tokens, then time. Turns need no check after the tools: `decide`
 * refuses the next iteration when they are used up.
 */
export function loweredLimitDraft(run: Run): Draft | undefined {
  const { spent, context, ports } = run
  const limits = spent.settings?.limits
  if (limits === undefined) return undefined
  const { maxBudgetUsd, maxTotalTokens } = context.settings
  if (limits.maxBudgetUsd !== undefined && ports.spentBeforeUsd + committedUsd(spent) >= maxBudgetUsd)
    return budgetDraft(run)
  if (limits.maxRunUsd !== undefined && committedUsd(spent) >= context.settings.maxRunUsd) return budgetDraft(run)
  if (limits.maxTotalTokens !== undefined && spent.totalTokens >= maxTotalTokens)
    return loweredTokensDraft(run, limitLowered)
  return loweredTimeDraft(run)
}

/** The time is used up: the deadline would abort the next step. */
export function loweredTimeDraft(run: Run): Draft | undefined {
  const { spent, context } = run
  if (spent.settings?.limits?.maxDurationMs === undefined) return undefined
  return activeMs(spent) < context.settings.maxDurationMs ? undefined : abortDraft(run, 'time', 'streaming')
}

/** Does not revoke a turn that was granted in spite of the limit, nor one whose request is recorded. */
function loweredTurnsDraft(run: Run): Draft | undefined {
  const { spent, context } = run
  const mayHaveNone = spent.settings?.limits?.maxTurns !== undefined || isCarriedOn(run)
  if (!mayHaveNone) return undefined
  const done = turnsBegun(spent.laps) - 1
  if (done < context.settings.maxTurns || spent.overridden.includes('limit:max_turns')) return undefined
  return maxTurnsDraft(run, done)
}

/** Before the first request of a run with the counters of an earlier run: no iteration has checked the limit yet. */
function isCarriedOn(run: Run): boolean {
  return run.spent.request === 1 && run.spent.turns > 0 && !isAsked(run)
}
