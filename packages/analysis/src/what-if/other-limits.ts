import type { EndingReason } from '@halting/core'

/** Limits to try. An absent limit is unchanged; null removes it. */
export interface OtherLimits {
  /** Turns. */
  readonly maxTurns?: number | null
  /** US dollars of the session. */
  readonly maxBudgetUsd?: number | null
  /** US dollars of the run alone. */
  readonly maxRunUsd?: number | null
  /** Tool calls, including those of subagents. */
  readonly maxToolCalls?: number | null
  /** Input and output tokens of the run. */
  readonly maxTotalTokens?: number | null
  /** Active milliseconds. */
  readonly maxDurationMs?: number | null
  /** How often an answer may be sent back because a goal is not met. */
  readonly maxGoalTries?: number | null
  /** Milliseconds by the wall clock that the run may wait for services. */
  readonly waitForLimitsMs?: number | null
  /** The guard against repetition without progress. */
  readonly noProgress?: boolean
}

/** Where a limit would stop a run. */
export interface Stop {
  readonly kind: 'stop'
  readonly reason: EndingReason
  readonly limit: keyof OtherLimits | 'standing'
  readonly used: number
  readonly max: number
  /** Iterations that would have been completed. */
  readonly wholeTurns: number
  /** Active milliseconds of the run when the loop detects it in the next iteration. Absent when it detects it at the end of the last complete one. */
  readonly atMs?: number
  /** The next iteration is cut: at this moment, or at the request with this index, which is shortened or not made. */
  readonly cut?: { readonly atMs: number } | { readonly atPayment: number; readonly paid: Shortened | null }
  /** How many calls of the last complete iteration were allowed, and when the last of these ended, in active milliseconds of the run. */
  readonly allowed?: { readonly calls: number; readonly untilMs: number }
  /** A budget may have stopped the run from this iteration on: requests reserve more than they cost. */
  readonly mayStopAt?: number
}

/** Cost of a request whose reply was cut. */
export interface Shortened {
  readonly tokens: number
  readonly nanos: number
}

/**
 * Why the effect of a limit is unknown although the record continues.
 * `reserved`: the run stays within the limit, but its requests reserve more than they cost.
 * `beside`: a request of a subagent, a compaction, a tool or a hook might have been refused.
 * `agent`: a subagent would have been stopped.
 * `unpriced`: a model has no price, so that the cost is unknown.
 * `undated`: the run has no recorded time, so that it belongs to no budget period.
 */
export type WhyUnknown = 'reserved' | 'beside' | 'agent' | 'unpriced' | 'undated'

/** From this iteration on, the run may have been different. */
export interface Divergence {
  readonly kind: 'divergence'
  readonly why: WhyUnknown
  readonly lap: number
  /** Active milliseconds of the run at that point. */
  readonly atMs: number
}

/** The limit to try; undefined for one that is not stricter than the run's own limit, because it has no effect. */
export function stricter(tried: number | null | undefined, had: number | null): number | undefined {
  if (tried === undefined || tried === null) return undefined
  return had === null || tried < had ? tried : undefined
}
