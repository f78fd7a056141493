import { turnsBegun } from '../allowance.ts'
import { abortDraft, budgetDraft, loweredTokensDraft, maxTurnsDraft } from './endings.ts'
import { activeMs, committedUsd } from './figures.ts'
import { ends, type Draft, type Outcome } from './outcome.ts'
import type { Run } from './run.ts'

// A limit that a person set below what is spent ends the run at the next checkpoint (spec R-SET-6). Only limits that were set
// are looked at: any other ends the run where it is reached.

/** Before a turn: also one that was granted before the limit on turns was lowered. */
export function loweredLimits(run: Run): Outcome | undefined {
  const draft = loweredLimitDraft(run) ?? loweredTurnsDraft(run)
  return draft === undefined ? undefined : ends(draft)
}

/** Dollars before tokens before time. After the tools the next turn is not paid for when the turns are too few. */
export function loweredLimitDraft(run: Run): Draft | undefined {
  const { spent, context, ports } = run
  const limits = spent.settings?.limits
  if (limits === undefined) return undefined
  const { maxBudgetUsd, maxTokens } = context.settings
  if (limits.maxBudgetUsd !== undefined && ports.spentBeforeUsd + committedUsd(spent) >= maxBudgetUsd)
    return budgetDraft(run)
  if (limits.maxTotalTokens !== undefined && spent.totalTokens >= maxTokens)
    return loweredTokensDraft(run, 'the limit was lowered to what is spent')
  return loweredTimeDraft(run)
}

/** The deadline would abort what comes next. */
export function loweredTimeDraft(run: Run): Draft | undefined {
  const { spent, context } = run
  if (spent.settings?.limits?.maxDurationMs === undefined) return undefined
  return activeMs(spent) < context.settings.maxDurationMs ? undefined : abortDraft(run, 'time', 'streaming')
}

/** A turn that was granted in spite of the limit is not taken back. */
function loweredTurnsDraft(run: Run): Draft | undefined {
  const { spent, context } = run
  if (spent.settings?.limits?.maxTurns === undefined) return undefined
  const done = turnsBegun(spent.laps) - 1
  if (done < context.settings.maxTurns || spent.overridden.includes('limit:max_turns')) return undefined
  return maxTurnsDraft(run, done)
}
