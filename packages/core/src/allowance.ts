/** Why the loop goes round again (spec R-LAP-1): a closed set. */
export type Transition =
  | 'next_turn'
  | 'user_input'
  | 'continuation_requested'
  | 'stop_hook_blocking'
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

/** How often each may be taken. `turns` and `gate` are bounds of a run and set by its options; the rest are constants (spec R-LAP-2). */
interface AllowanceRow {
  /** What pays for the lap. `next_turn` and `user_input` share one purse. */
  readonly purse: 'turns' | 'gate' | 'own'
  /** Laps of an own purse. */
  readonly laps: number
  /** `refill`: full again after a spent turn, or a token continuation that gained. `run`: never refilled. */
  readonly period: 'refill' | 'run'
  /** Whether the lap begins a turn, for the figures. Recoveries are further attempts of the same turn. */
  readonly countsAsTurn: boolean
}

export const allowances: { readonly [transition in Transition]: AllowanceRow } = {
  next_turn: { purse: 'turns', laps: 0, period: 'run', countsAsTurn: true },
  user_input: { purse: 'turns', laps: 0, period: 'run', countsAsTurn: true },
  continuation_requested: { purse: 'own', laps: 8, period: 'refill', countsAsTurn: true },
  stop_hook_blocking: { purse: 'own', laps: 8, period: 'refill', countsAsTurn: true },
  token_budget_continuation: { purse: 'gate', laps: 0, period: 'run', countsAsTurn: true },
  structured_output_retry: { purse: 'own', laps: 5, period: 'refill', countsAsTurn: true },
  pause_turn: { purse: 'own', laps: 8, period: 'refill', countsAsTurn: false },
  max_output_tokens_recovery: { purse: 'own', laps: 3, period: 'refill', countsAsTurn: false },
  max_output_tokens_escalate: { purse: 'own', laps: 1, period: 'run', countsAsTurn: false },
  model_fallback: { purse: 'own', laps: 1, period: 'run', countsAsTurn: false },
  media_recovery: { purse: 'own', laps: 1, period: 'refill', countsAsTurn: false },
  reactive_compact_retry: { purse: 'own', laps: 1, period: 'refill', countsAsTurn: false },
  collapse_drain_retry: { purse: 'own', laps: 1, period: 'refill', countsAsTurn: false },
  no_progress_nudge: { purse: 'own', laps: 1, period: 'run', countsAsTurn: true },
  wrap_up: { purse: 'own', laps: 1, period: 'run', countsAsTurn: true },
}

/** `Object.keys` of a record over the union gives the union. */
export const transitions: readonly Transition[] = Object.freeze(Object.keys(allowances) as Transition[])

type LapCounts = { readonly [transition in Transition]?: number }

/** What was spent of the allowances; what is left follows from the limits, which are not state. */
export type SpentLaps = {
  /** Laps since the last refill. */
  readonly sinceRefill: LapCounts
  /** Laps of the whole run. */
  readonly inRun: LapCounts
}

export const noLaps: SpentLaps = Object.freeze({ sinceRefill: Object.freeze({}), inRun: Object.freeze({}) })

export interface AllowanceLimits {
  /** Turns that may happen; at least 1. */
  readonly maxTurns: number
  /** Laps that the token target allows (`tokenGateBound`); 0 without one. */
  readonly gateLaps: number
}

const count = (counts: LapCounts, transition: Transition): number => counts[transition] ?? 0

/** Turns that were begun and count against `maxTurns`. The first is not a lap. */
export function turnsBegun({ inRun }: SpentLaps): number {
  return 1 + count(inRun, 'next_turn') + count(inRun, 'user_input')
}

/** How often the loop may still go round for this reason; never below 0, also where a limit was lowered below what is spent. */
export function lapsLeft(transition: Transition, spent: SpentLaps, limits: AllowanceLimits): number {
  const row = allowances[transition]
  switch (row.purse) {
    case 'turns':
      return Math.max(0, limits.maxTurns - turnsBegun(spent))
    case 'gate':
      return limits.gateLaps - count(spent.inRun, 'token_budget_continuation')
    case 'own':
      return row.laps - count(row.period === 'run' ? spent.inRun : spent.sinceRefill, transition)
  }
}

/** Pays for one lap. `refills`: a turn always does, a token continuation when it gained (spec R-LAP-3). */
export function spendLap(transition: Transition, spent: SpentLaps, gained: boolean): SpentLaps {
  const row = allowances[transition]
  const inRun = { ...spent.inRun, [transition]: count(spent.inRun, transition) + 1 }
  if (row.purse === 'turns' || (row.purse === 'gate' && gained)) return { sinceRefill: noLaps.sinceRefill, inRun }
  if (row.period === 'run') return { sinceRefill: spent.sinceRefill, inRun }
  return { sinceRefill: { ...spent.sinceRefill, [transition]: count(spent.sinceRefill, transition) + 1 }, inRun }
}

/** (turns left, token gate left, sum of the other allowances left): falls lexicographically with every lap, so every run halts. */
export type Ranking = readonly [turns: number, gate: number, others: number]

export function rankingOf(spent: SpentLaps, limits: AllowanceLimits): Ranking {
  let others = allOwnLaps
  others -= ownLaps(spent.sinceRefill, 'refill') + ownLaps(spent.inRun, 'run')
  return [lapsLeft('next_turn', spent, limits), lapsLeft('token_budget_continuation', spent, limits), others]
}

/** Laps of all allowances that are constants. */
const allOwnLaps: number = transitions.reduce((sum, transition) => sum + allowances[transition].laps, 0)

/** Laps that were paid for out of such allowances of one period. Mostly there were none: only what was spent is looked at. */
function ownLaps(counts: LapCounts, period: AllowanceRow['period']): number {
  let laps = 0
  for (const key in counts) {
    // The keys of the counts are transitions.
    const transition = key as Transition
    const row = allowances[transition]
    if (row.purse === 'own' && row.period === period) laps += count(counts, transition)
  }
  return laps
}

/**
 * How often each transition may still be taken, if the options leave it open at all; null where there is no limit, so that it is JSON.
 * `next_turn` and `user_input` draw on one purse.
 */
export type AllowancesLeft = { readonly [transition in Transition]: number | null }

/** Written out, since every lap tells it; what `lapsLeft` says of each. */
export function allowancesLeft(spent: SpentLaps, limits: AllowanceLimits): AllowancesLeft {
  const { sinceRefill, inRun } = spent
  const turns = lapsLeft('next_turn', spent, limits)
  const turnsLeft = turns === Infinity ? null : turns
  return {
    next_turn: turnsLeft,
    user_input: turnsLeft,
    continuation_requested: allowances.continuation_requested.laps - (sinceRefill.continuation_requested ?? 0),
    stop_hook_blocking: allowances.stop_hook_blocking.laps - (sinceRefill.stop_hook_blocking ?? 0),
    token_budget_continuation: limits.gateLaps - (inRun.token_budget_continuation ?? 0),
    structured_output_retry: allowances.structured_output_retry.laps - (sinceRefill.structured_output_retry ?? 0),
    pause_turn: allowances.pause_turn.laps - (sinceRefill.pause_turn ?? 0),
    max_output_tokens_recovery:
      allowances.max_output_tokens_recovery.laps - (sinceRefill.max_output_tokens_recovery ?? 0),
    max_output_tokens_escalate: allowances.max_output_tokens_escalate.laps - (inRun.max_output_tokens_escalate ?? 0),
    model_fallback: allowances.model_fallback.laps - (inRun.model_fallback ?? 0),
    media_recovery: allowances.media_recovery.laps - (sinceRefill.media_recovery ?? 0),
    reactive_compact_retry: allowances.reactive_compact_retry.laps - (sinceRefill.reactive_compact_retry ?? 0),
    collapse_drain_retry: allowances.collapse_drain_retry.laps - (sinceRefill.collapse_drain_retry ?? 0),
    no_progress_nudge: allowances.no_progress_nudge.laps - (inRun.no_progress_nudge ?? 0),
    wrap_up: allowances.wrap_up.laps - (inRun.wrap_up ?? 0),
  }
}

/** True when `after` is lexicographically below `before`, and nothing in it is negative. */
export function ranksBelow(after: Ranking, before: Ranking): boolean {
  if (after.some((part) => part < 0)) return false
  if (after[0] !== before[0]) return after[0] < before[0]
  if (after[1] !== before[1]) return after[1] < before[1]
  return after[2] < before[2]
}
