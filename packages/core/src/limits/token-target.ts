import { tokenTargetReminder } from './guard-texts.ts'

// Spec R-GATE-2, R-GATE-3.
/** What the check of the token target remembers between two answers. */
export type BudgetTracker = {
  /** Continuation nudges so far. */
  readonly continuationCount: number
  /** Tokens gained between the last two checks. */
  readonly lastDeltaTokens: number
  /** Total tokens of the run at the last check. */
  readonly lastGlobalTurnTokens: number
  /** When the window began, in milliseconds of the run's clock. */
  readonly startedAt: number
}

/** How the token target ended, in the `token_budget` event. Told where the model was sent back at least once. */
export type BudgetCompletionEvent = {
  /** How often the model was sent back for more. */
  readonly continuationCount: number
  /** Share of the target that was used up, in percent. */
  readonly pct: number
  /** Output tokens of the run. */
  readonly turnTokens: number
  /** The target, in output tokens. */
  readonly budget: number
  /** Too little came of the last continuations. */
  readonly diminishingReturns: boolean
  /** Active milliseconds of the run. */
  readonly durationMs: number
}

export type TokenBudgetDecision =
  | {
      readonly action: 'continue'
      readonly nudgeMessage: string
      readonly continuationCount: number
      readonly pct: number
      readonly turnTokens: number
      readonly budget: number
    }
  | { readonly action: 'stop'; readonly completionEvent: BudgetCompletionEvent | null }

export interface TokenBudgetCheck {
  readonly tracker: BudgetTracker
  /** Set for a subagent: a target does not apply to one. */
  readonly agentId?: string | undefined
  /** The target: output tokens to use up. Null, or not above 0, for none. */
  readonly budget: number | null
  /** Output tokens of the run so far. */
  readonly globalTurnTokens: number
  /** Milliseconds on the clock that `startedAt` was read from. */
  readonly now: number
}

const completionThreshold = 0.9
/** A gain of fewer tokens than this is no progress. */
export const diminishingThreshold = 500
const freeContinuations = 3

export function freshTracker(startedAt: number): BudgetTracker {
  return { continuationCount: 0, lastDeltaTokens: 0, lastGlobalTurnTokens: 0, startedAt }
}

/** Decides whether a finished answer is sent back for more. Pure: the next tracker is part of the answer. */
export function checkTokenBudget(check: TokenBudgetCheck): {
  readonly decision: TokenBudgetDecision
  readonly tracker: BudgetTracker
} {
  const { tracker, budget, globalTurnTokens: turnTokens } = check
  if (check.agentId !== undefined || budget === null || budget <= 0) {
    return { decision: { action: 'stop', completionEvent: null }, tracker }
  }
  const pct = Math.round((turnTokens / budget) * 100)
  const delta = turnTokens - tracker.lastGlobalTurnTokens
  const diminishingReturns =
    tracker.continuationCount >= freeContinuations &&
    delta < diminishingThreshold &&
    tracker.lastDeltaTokens < diminishingThreshold

  if (!diminishingReturns && turnTokens < budget * completionThreshold) {
    const continuationCount = tracker.continuationCount + 1
    return {
      decision: {
        action: 'continue',
        nudgeMessage: tokenTargetReminder(pct, turnTokens, budget),
        continuationCount,
        pct,
        turnTokens,
        budget,
      },
      tracker: {
        continuationCount,
        lastDeltaTokens: delta,
        lastGlobalTurnTokens: turnTokens,
        startedAt: tracker.startedAt,
      },
    }
  }
  if (tracker.continuationCount === 0) return { decision: { action: 'stop', completionEvent: null }, tracker }
  const { continuationCount } = tracker
  const durationMs = check.now - tracker.startedAt
  return {
    decision: {
      action: 'stop',
      completionEvent: { continuationCount, pct, turnTokens, budget, diminishingReturns, durationMs },
    },
    tracker,
  }
}

// Spec R-GATE-5.
/** The most continuations that can be granted: after the first three, one of every two in a row gains 500 tokens, or they end. */
export function tokenTargetBound(budget: number | null | undefined): number {
  if (budget === null || budget === undefined || budget <= 0) return 0
  return freeContinuations + 2 * Math.ceil((completionThreshold * budget) / diminishingThreshold)
}
