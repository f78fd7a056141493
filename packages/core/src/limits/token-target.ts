import { tokenTargetReminder } from './guard-texts.ts'

// Spec R-GATE-2, R-GATE-3.
/** State of the token target check between two answers. */
export type BudgetTracker = {
  /** Continuation nudges so far. */
  readonly continuationCount: number
  /** Tokens gained between the last two checks. */
  readonly lastDeltaTokens: number
  /** Total tokens of the run at the last check. */
  readonly lastGlobalTurnTokens: number
  /** Start of the window, in milliseconds of the run's clock. */
  readonly startedAt: number
}

/** How the token target ended, for the `token_budget` event. Emitted if the model was sent back at least once. */
export type BudgetCompletionEvent = {
  /** How often the model was sent back for more. */
  readonly continuationCount: number
  /** Used share of the target, in percent. */
  readonly pct: number
  /** Output tokens of the run. */
  readonly turnTokens: number
  /** The target, in output tokens. */
  readonly budget: number
  /** Whether the last continuations gained too little. */
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
/** A gain of fewer tokens than this is not progress. */
export const diminishingThreshold = 500
const freeContinuations = 3

export function freshTracker(startedAt: number): BudgetTracker {
  return { continuationCount: 0, lastDeltaTokens: 0, lastGlobalTurnTokens: 0, startedAt }
}

/** Decides whether a finished answer is sent back for more. Pure: returns the next tracker. */
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
/** The maximum number of continuations. After the first three, at least one of two consecutive continuations must gain 500 tokens; otherwise they end. */
export function tokenTargetBound(budget: number | null | undefined): number {
  if (budget === null || budget === undefined || budget <= 0) return 0
  return freeContinuations + 2 * Math.ceil((completionThreshold * budget) / diminishingThreshold)
}
