// Spec R-LAP-1.
/** Why the loop starts another iteration: a closed set. */
export type IterationReason =
  | 'next_turn'
  | 'user_input'
  | 'continuation_requested'
  | 'stop_hook_blocking'
  | 'goal_unmet'
  | 'unverified_change'
  | 'token_budget_continuation'
  | 'structured_output_retry'
  | 'pause_turn'
  | 'max_output_tokens_recovery'
  | 'max_output_tokens_escalate'
  | 'model_fallback'
  | 'media_recovery'
  | 'reactive_compact_retry'
  | 'collapse_drain_retry'
  | 'no_progress_nudge'
  | 'wrap_up'
  | 'limit_raised'

// Spec R-LAP-2.
/** The retry limit of each transition. Options set the bounds for turns, goal tries and the token target. The others are constants. */
interface TransitionRule {
  /**
   * The retry limit that the iteration is charged to. `next_turn` and `user_input` share one. A goal try, and an
   * iteration charged to `ownTurns`, also count as a turn. `raises`: each limit that a person raised pays for one
   * iteration.
   */
  readonly chargedTo: 'turns' | 'goalTries' | 'tokenTarget' | 'raises' | 'own' | 'ownTurns'
  /** Number of iterations of the transition's own retry limit. */
  readonly iterations: number
  /** `refill`: refilled after a turn, or after a token continuation that made progress. `run`: never refilled. */
  readonly resets: 'refill' | 'run'
  /** Whether the iteration begins a turn in the figures. Recoveries are further attempts at the same turn. */
  readonly countsAsTurn: boolean
}

/** For each transition: which retry limit it is charged to, and how often it may be taken. */
export const transitionRules: { readonly [transition in IterationReason]: TransitionRule } = {
  next_turn: { chargedTo: 'turns', iterations: 0, resets: 'run', countsAsTurn: true },
  user_input: { chargedTo: 'turns', iterations: 0, resets: 'run', countsAsTurn: true },
  continuation_requested: { chargedTo: 'own', iterations: 8, resets: 'refill', countsAsTurn: true },
  stop_hook_blocking: { chargedTo: 'own', iterations: 8, resets: 'refill', countsAsTurn: true },
  goal_unmet: { chargedTo: 'goalTries', iterations: 0, resets: 'run', countsAsTurn: true },
  unverified_change: { chargedTo: 'ownTurns', iterations: 1, resets: 'run', countsAsTurn: true },
  token_budget_continuation: { chargedTo: 'tokenTarget', iterations: 0, resets: 'run', countsAsTurn: true },
  structured_output_retry: { chargedTo: 'own', iterations: 5, resets: 'refill', countsAsTurn: true },
  pause_turn: { chargedTo: 'own', iterations: 8, resets: 'refill', countsAsTurn: false },
  max_output_tokens_recovery: { chargedTo: 'own', iterations: 3, resets: 'refill', countsAsTurn: false },
  max_output_tokens_escalate: { chargedTo: 'own', iterations: 1, resets: 'run', countsAsTurn: false },
  model_fallback: { chargedTo: 'own', iterations: 1, resets: 'run', countsAsTurn: false },
  media_recovery: { chargedTo: 'own', iterations: 1, resets: 'refill', countsAsTurn: false },
  reactive_compact_retry: { chargedTo: 'own', iterations: 1, resets: 'refill', countsAsTurn: false },
  collapse_drain_retry: { chargedTo: 'own', iterations: 1, resets: 'refill', countsAsTurn: false },
  no_progress_nudge: { chargedTo: 'ownTurns', iterations: 2, resets: 'run', countsAsTurn: true },
  wrap_up: { chargedTo: 'own', iterations: 1, resets: 'run', countsAsTurn: true },
  limit_raised: { chargedTo: 'raises', iterations: 0, resets: 'run', countsAsTurn: false },
}

/** Whether the iteration is a further turn that counts against `maxTurns`, not a recovery. */
export function spendsTurn(transition: IterationReason): boolean {
  const { chargedTo } = transitionRules[transition]
  return chargedTo === 'turns' || chargedTo === 'goalTries' || chargedTo === 'ownTurns'
}

/** `Object.keys` of a record over the union returns the members of the union. */
export const transitions: readonly IterationReason[] = Object.freeze(Object.keys(transitionRules) as IterationReason[])

type IterationCounts = { readonly [transition in IterationReason]?: number }

/** Iterations spent per transition. The remaining iterations follow from the limits, which are not part of the state. */
export type SpentIterations = {
  /** Iterations since the last refill. */
  readonly sinceRefill: IterationCounts
  /** Iterations of the whole run. */
  readonly inRun: IterationCounts
  /** The `goal_unmet` iterations that were spent on goals which have been replaced. The new goals start with all their tries. */
  readonly triesBefore?: number
  /** How often a person raised a limit at which the run paused in the middle of a turn. Each pays for one `limit_raised` iteration. 0 when absent. */
  readonly raises?: number
}

export const noIterations: SpentIterations = Object.freeze({ sinceRefill: Object.freeze({}), inRun: Object.freeze({}) })

export interface RetryLimits {
  /** Maximum number of turns; at least 1. */
  readonly maxTurns: number
  /** How often an answer may be sent back because a goal is not met; 0 when absent. */
  readonly goalTries?: number
  /** Iterations that the token target allows (`tokenTargetBound`); 0 without a target. */
  readonly tokenTargetIterations: number
}

const count = (counts: IterationCounts, transition: IterationReason): number => counts[transition] ?? 0

/** Turns that have begun and count against `maxTurns`. The first turn needs no transition. */
export function turnsBegun({ inRun }: SpentIterations): number {
  // The sum of the transitions for which `spendsTurn` is true, written out because every turn calls this several times.
  const turns = (inRun.next_turn ?? 0) + (inRun.user_input ?? 0)
  return 1 + turns + (inRun.goal_unmet ?? 0) + (inRun.unverified_change ?? 0) + (inRun.no_progress_nudge ?? 0)
}

/** Remaining tries of the current goals. Negative if the limit has been lowered below what is spent. */
function triesLeft({ inRun, triesBefore = 0 }: SpentIterations, { goalTries = 0 }: RetryLimits): number {
  return goalTries + triesBefore - count(inRun, 'goal_unmet')
}

/** Raised limits for which no iteration has been made yet. */
function raisesLeft({ inRun, raises = 0 }: SpentIterations): number {
  return Math.max(0, raises - count(inRun, 'limit_raised'))
}

/** How many more iterations this transition allows. Never negative, even if a limit was lowered below what is spent. */
export function iterationsLeft(transition: IterationReason, spent: SpentIterations, limits: RetryLimits): number {
  const row = transitionRules[transition]
  switch (row.chargedTo) {
    case 'turns':
      return Math.max(0, limits.maxTurns - turnsBegun(spent))
    case 'goalTries':
      return Math.max(0, Math.min(triesLeft(spent, limits), limits.maxTurns - turnsBegun(spent)))
    case 'tokenTarget':
      return Math.max(0, limits.tokenTargetIterations - count(spent.inRun, 'token_budget_continuation'))
    case 'raises':
      return raisesLeft(spent)
    case 'ownTurns':
      return Math.max(0, Math.min(row.iterations - count(spent.inRun, transition), limits.maxTurns - turnsBegun(spent)))
    case 'own':
      return row.iterations - count(row.resets === 'run' ? spent.inRun : spent.sinceRefill, transition)
  }
}

// Spec R-LAP-3.
/** Charges one iteration. `refills`: a turn always refills retry limits; a token continuation refills them when it made progress. */
export function chargeIteration(
  transition: IterationReason,
  spent: SpentIterations,
  madeProgress: boolean,
): SpentIterations {
  const row = transitionRules[transition]
  const inRun = { ...spent.inRun, [transition]: count(spent.inRun, transition) + 1 }
  if (row.chargedTo === 'turns' || (row.chargedTo === 'tokenTarget' && madeProgress))
    return { ...spent, sinceRefill: noIterations.sinceRefill, inRun }
  if (row.resets === 'run') return { ...spent, inRun }
  return {
    ...spent,
    sinceRefill: { ...spent.sinceRefill, [transition]: count(spent.sinceRefill, transition) + 1 },
    inRun,
  }
}

/**
 * Turns left, token continuations left, and the sum of the other retry limits. It decreases lexicographically with every
 * iteration, so every run halts.
 */
export type Ranking = readonly [turns: number, gate: number, others: number]

/** The ranking that every iteration lowers, computed from the remaining part of each retry limit. */
export function rankingOf(spent: SpentIterations, limits: RetryLimits): Ranking {
  let others = constantIterations + Math.max(0, triesLeft(spent, limits)) + raisesLeft(spent)
  others -= spentConstantIterations(spent.sinceRefill, 'refill') + spentConstantIterations(spent.inRun, 'run')
  return [
    iterationsLeft('next_turn', spent, limits),
    iterationsLeft('token_budget_continuation', spent, limits),
    others,
  ]
}

/** Sum of all retry limits that are constants. */
const constantIterations: number = transitions.reduce(
  (sum, transition) => sum + transitionRules[transition].iterations,
  0,
)

function isConstant({ chargedTo }: TransitionRule): boolean {
  return chargedTo === 'own' || chargedTo === 'ownTurns'
}

/** Iterations charged to the constant retry limits with this reset rule. In most cases there are none, so only the transitions in `counts` are visited. */
function spentConstantIterations(counts: IterationCounts, resets: TransitionRule['resets']): number {
  let iterations = 0
  for (const key in counts) {
    // The keys of the counts are transitions.
    const transition = key as IterationReason
    const row = transitionRules[transition]
    if (isConstant(row) && row.resets === resets) iterations += count(counts, transition)
  }
  return iterations
}

/**
 * How often each transition may still be taken, if the options enable it at all. Null means no limit, so that the value
 * is JSON. `next_turn` and `user_input` share one retry limit.
 */
export type RetriesLeft = { readonly [transition in IterationReason]: number | null }

/** Each value equals `iterationsLeft` of that transition. Written out because every iteration reports it. */
export function retriesLeft(spent: SpentIterations, limits: RetryLimits): RetriesLeft {
  const { sinceRefill, inRun } = spent
  const turns = iterationsLeft('next_turn', spent, limits)
  const turnsLeft = turns === Infinity ? null : turns
  return {
    next_turn: turnsLeft,
    user_input: turnsLeft,
    continuation_requested:
      transitionRules.continuation_requested.iterations - (sinceRefill.continuation_requested ?? 0),
    stop_hook_blocking: transitionRules.stop_hook_blocking.iterations - (sinceRefill.stop_hook_blocking ?? 0),
    goal_unmet: iterationsLeft('goal_unmet', spent, limits),
    unverified_change: iterationsLeft('unverified_change', spent, limits),
    token_budget_continuation: Math.max(0, limits.tokenTargetIterations - (inRun.token_budget_continuation ?? 0)),
    structured_output_retry:
      transitionRules.structured_output_retry.iterations - (sinceRefill.structured_output_retry ?? 0),
    pause_turn: transitionRules.pause_turn.iterations - (sinceRefill.pause_turn ?? 0),
    max_output_tokens_recovery:
      transitionRules.max_output_tokens_recovery.iterations - (sinceRefill.max_output_tokens_recovery ?? 0),
    max_output_tokens_escalate:
      transitionRules.max_output_tokens_escalate.iterations - (inRun.max_output_tokens_escalate ?? 0),
    model_fallback: transitionRules.model_fallback.iterations - (inRun.model_fallback ?? 0),
    media_recovery: transitionRules.media_recovery.iterations - (sinceRefill.media_recovery ?? 0),
    reactive_compact_retry:
      transitionRules.reactive_compact_retry.iterations - (sinceRefill.reactive_compact_retry ?? 0),
    collapse_drain_retry: transitionRules.collapse_drain_retry.iterations - (sinceRefill.collapse_drain_retry ?? 0),
    no_progress_nudge: iterationsLeft('no_progress_nudge', spent, limits),
    wrap_up: transitionRules.wrap_up.iterations - (inRun.wrap_up ?? 0),
    limit_raised: raisesLeft(spent),
  }
}

/** True when `after` is lexicographically below `before` and has no negative part. */
export function ranksBelow(after: Ranking, before: Ranking): boolean {
  if (after.some((part) => part < 0)) return false
  if (after[0] !== before[0]) return after[0] < before[0]
  if (after[1] !== before[1]) return after[1] < before[1]
  return after[2] < before[2]
}

/** The highest accepted number of goal tries. Without this bound, the loop would not be guaranteed to halt. */
export const maxGoalTriesAllowed = 1_000
