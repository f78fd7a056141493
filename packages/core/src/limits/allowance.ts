// Spec R-LAP-1.
/** Why the loop goes round again: a closed set. */
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
/** How often each may be taken. Turns, tries of a goal and the token target are bounds that options set; the rest are constants. */
interface AllowanceRow {
  /**
   * What pays for the lap. `next_turn` and `user_input` share one allowance. A try of a goal is paid for twice: it is a turn, too; so is what is paid
   * from `ownTurns`, an allowance of its own. `raises`: a person's answer, each pays once.
   */
  readonly paidFrom: 'turns' | 'goalTries' | 'tokenTarget' | 'raises' | 'own' | 'ownTurns'
  /** Laps of an allowance of its own. */
  readonly laps: number
  /** `refill`: full again after a spent turn, or a token continuation that made progress. `run`: never refilled. */
  readonly resets: 'refill' | 'run'
  /** Whether the lap begins a turn, for the figures. Recoveries are further attempts of the same turn. */
  readonly countsAsTurn: boolean
}

/** What pays for each transition, and how often it may be taken. */
export const allowances: { readonly [transition in IterationReason]: AllowanceRow } = {
  next_turn: { paidFrom: 'turns', laps: 0, resets: 'run', countsAsTurn: true },
  user_input: { paidFrom: 'turns', laps: 0, resets: 'run', countsAsTurn: true },
  continuation_requested: { paidFrom: 'own', laps: 8, resets: 'refill', countsAsTurn: true },
  stop_hook_blocking: { paidFrom: 'own', laps: 8, resets: 'refill', countsAsTurn: true },
  goal_unmet: { paidFrom: 'goalTries', laps: 0, resets: 'run', countsAsTurn: true },
  unverified_change: { paidFrom: 'ownTurns', laps: 1, resets: 'run', countsAsTurn: true },
  token_budget_continuation: { paidFrom: 'tokenTarget', laps: 0, resets: 'run', countsAsTurn: true },
  structured_output_retry: { paidFrom: 'own', laps: 5, resets: 'refill', countsAsTurn: true },
  pause_turn: { paidFrom: 'own', laps: 8, resets: 'refill', countsAsTurn: false },
  max_output_tokens_recovery: { paidFrom: 'own', laps: 3, resets: 'refill', countsAsTurn: false },
  max_output_tokens_escalate: { paidFrom: 'own', laps: 1, resets: 'run', countsAsTurn: false },
  model_fallback: { paidFrom: 'own', laps: 1, resets: 'run', countsAsTurn: false },
  media_recovery: { paidFrom: 'own', laps: 1, resets: 'refill', countsAsTurn: false },
  reactive_compact_retry: { paidFrom: 'own', laps: 1, resets: 'refill', countsAsTurn: false },
  collapse_drain_retry: { paidFrom: 'own', laps: 1, resets: 'refill', countsAsTurn: false },
  no_progress_nudge: { paidFrom: 'ownTurns', laps: 2, resets: 'run', countsAsTurn: true },
  wrap_up: { paidFrom: 'own', laps: 1, resets: 'run', countsAsTurn: true },
  limit_raised: { paidFrom: 'raises', laps: 0, resets: 'run', countsAsTurn: false },
}

/** Whether the lap is a further turn that counts against `maxTurns`, and no recovery. */
export function spendsTurn(transition: IterationReason): boolean {
  const { paidFrom } = allowances[transition]
  return paidFrom === 'turns' || paidFrom === 'goalTries' || paidFrom === 'ownTurns'
}

/** `Object.keys` of a record over the union gives the union. */
export const transitions: readonly IterationReason[] = Object.freeze(Object.keys(allowances) as IterationReason[])

type LapCounts = { readonly [transition in IterationReason]?: number }

/** What was spent of the allowances; what is left follows from the limits, which are not state. */
export type SpentIterations = {
  /** Laps since the last refill. */
  readonly sinceRefill: LapCounts
  /** Laps of the whole run. */
  readonly inRun: LapCounts
  /** Of the laps `goal_unmet` those for goals that others have taken the place of: the tries of these begin anew. */
  readonly triesBefore?: number
  /** Limits that a person raised while the run paused at them, in the middle of a turn: each pays for one lap `limit_raised`. 0 when absent. */
  readonly raises?: number
}

export const noLaps: SpentIterations = Object.freeze({ sinceRefill: Object.freeze({}), inRun: Object.freeze({}) })

export interface RetryLimits {
  /** Turns that may happen; at least 1. */
  readonly maxTurns: number
  /** How often an answer may be sent back because a goal is not met; 0 when absent. */
  readonly goalTries?: number
  /** Laps that the token target allows (`tokenTargetBound`); 0 without one. */
  readonly tokenTargetLaps: number
}

const count = (counts: LapCounts, transition: IterationReason): number => counts[transition] ?? 0

/** Turns that were begun and count against `maxTurns`. The first is not a lap. */
export function turnsBegun({ inRun }: SpentIterations): number {
  // Written out, since every turn asks several times: those of which `spendsTurn` is true.
  const turns = (inRun.next_turn ?? 0) + (inRun.user_input ?? 0)
  return 1 + turns + (inRun.goal_unmet ?? 0) + (inRun.unverified_change ?? 0) + (inRun.no_progress_nudge ?? 0)
}

/** Tries that are left of the goals that are in force; below 0 where the limit was lowered since. */
function triesLeft({ inRun, triesBefore = 0 }: SpentIterations, { goalTries = 0 }: RetryLimits): number {
  return goalTries + triesBefore - count(inRun, 'goal_unmet')
}

/** Answers of a person that no lap was made for yet. */
function raisesLeft({ inRun, raises = 0 }: SpentIterations): number {
  return Math.max(0, raises - count(inRun, 'limit_raised'))
}

/** How often the loop may still go round for this reason; never below 0, also where a limit was lowered below what is spent. */
export function lapsLeft(transition: IterationReason, spent: SpentIterations, limits: RetryLimits): number {
  const row = allowances[transition]
  switch (row.paidFrom) {
    case 'turns':
      return Math.max(0, limits.maxTurns - turnsBegun(spent))
    case 'goalTries':
      return Math.max(0, Math.min(triesLeft(spent, limits), limits.maxTurns - turnsBegun(spent)))
    case 'tokenTarget':
      return Math.max(0, limits.tokenTargetLaps - count(spent.inRun, 'token_budget_continuation'))
    case 'raises':
      return raisesLeft(spent)
    case 'ownTurns':
      return Math.max(0, Math.min(row.laps - count(spent.inRun, transition), limits.maxTurns - turnsBegun(spent)))
    case 'own':
      return row.laps - count(row.resets === 'run' ? spent.inRun : spent.sinceRefill, transition)
  }
}

// Spec R-LAP-3.
/** Pays for one lap. `refills`: a turn always does, a token continuation when it made progress. */
export function spendLap(transition: IterationReason, spent: SpentIterations, madeProgress: boolean): SpentIterations {
  const row = allowances[transition]
  const inRun = { ...spent.inRun, [transition]: count(spent.inRun, transition) + 1 }
  if (row.paidFrom === 'turns' || (row.paidFrom === 'tokenTarget' && madeProgress))
    return { ...spent, sinceRefill: noLaps.sinceRefill, inRun }
  if (row.resets === 'run') return { ...spent, inRun }
  return {
    ...spent,
    sinceRefill: { ...spent.sinceRefill, [transition]: count(spent.sinceRefill, transition) + 1 },
    inRun,
  }
}

/** (turns left, token gate left, sum of the other allowances left): falls lexicographically with every lap, so every run halts. */
export type Ranking = readonly [turns: number, gate: number, others: number]

/** The ranking that every iteration lowers, from what is left of each retry limit. */
export function rankingOf(spent: SpentIterations, limits: RetryLimits): Ranking {
  let others = allOwnLaps + Math.max(0, triesLeft(spent, limits)) + raisesLeft(spent)
  others -= ownLaps(spent.sinceRefill, 'refill') + ownLaps(spent.inRun, 'run')
  return [lapsLeft('next_turn', spent, limits), lapsLeft('token_budget_continuation', spent, limits), others]
}

/** Laps of all allowances that are constants. */
const allOwnLaps: number = transitions.reduce((sum, transition) => sum + allowances[transition].laps, 0)

function isOwn({ paidFrom }: AllowanceRow): boolean {
  return paidFrom === 'own' || paidFrom === 'ownTurns'
}

/** Laps that were paid for out of such allowances that reset alike. Mostly there were none: only what was spent is looked at. */
function ownLaps(counts: LapCounts, resets: AllowanceRow['resets']): number {
  let laps = 0
  for (const key in counts) {
    // The keys of the counts are transitions.
    const transition = key as IterationReason
    const row = allowances[transition]
    if (isOwn(row) && row.resets === resets) laps += count(counts, transition)
  }
  return laps
}

/**
 * How often each transition may still be taken, if the options leave it open at all; null where there is no limit, so that it is JSON.
 * `next_turn` and `user_input` draw on one allowance.
 */
export type RetriesLeft = { readonly [transition in IterationReason]: number | null }

/** Written out, since every lap tells it; what `lapsLeft` says of each. */
export function retriesLeft(spent: SpentIterations, limits: RetryLimits): RetriesLeft {
  const { sinceRefill, inRun } = spent
  const turns = lapsLeft('next_turn', spent, limits)
  const turnsLeft = turns === Infinity ? null : turns
  return {
    next_turn: turnsLeft,
    user_input: turnsLeft,
    continuation_requested: allowances.continuation_requested.laps - (sinceRefill.continuation_requested ?? 0),
    stop_hook_blocking: allowances.stop_hook_blocking.laps - (sinceRefill.stop_hook_blocking ?? 0),
    goal_unmet: lapsLeft('goal_unmet', spent, limits),
    unverified_change: lapsLeft('unverified_change', spent, limits),
    token_budget_continuation: Math.max(0, limits.tokenTargetLaps - (inRun.token_budget_continuation ?? 0)),
    structured_output_retry: allowances.structured_output_retry.laps - (sinceRefill.structured_output_retry ?? 0),
    pause_turn: allowances.pause_turn.laps - (sinceRefill.pause_turn ?? 0),
    max_output_tokens_recovery:
      allowances.max_output_tokens_recovery.laps - (sinceRefill.max_output_tokens_recovery ?? 0),
    max_output_tokens_escalate: allowances.max_output_tokens_escalate.laps - (inRun.max_output_tokens_escalate ?? 0),
    model_fallback: allowances.model_fallback.laps - (inRun.model_fallback ?? 0),
    media_recovery: allowances.media_recovery.laps - (sinceRefill.media_recovery ?? 0),
    reactive_compact_retry: allowances.reactive_compact_retry.laps - (sinceRefill.reactive_compact_retry ?? 0),
    collapse_drain_retry: allowances.collapse_drain_retry.laps - (sinceRefill.collapse_drain_retry ?? 0),
    no_progress_nudge: lapsLeft('no_progress_nudge', spent, limits),
    wrap_up: allowances.wrap_up.laps - (inRun.wrap_up ?? 0),
    limit_raised: raisesLeft(spent),
  }
}

/** True when `after` is lexicographically below `before`, and nothing in it is negative. */
export function ranksBelow(after: Ranking, before: Ranking): boolean {
  if (after.some((part) => part < 0)) return false
  if (after[0] !== before[0]) return after[0] < before[0]
  if (after[1] !== before[1]) return after[1] < before[1]
  return after[2] < before[2]
}

/** The most that may be asked for: without a bound a run would not halt by construction. */
export const mostGoalTries = 1_000
