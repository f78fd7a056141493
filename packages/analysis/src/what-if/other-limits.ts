import type { EndingReason } from '@halting/core'

/** Limits to try. What is left out stays as it was; null takes a limit away. */
export interface OtherLimits {
  /** Turns. */
  readonly maxTurns?: number | null
  /** US dollars of the session. */
  readonly maxBudgetUsd?: number | null
  /** US dollars of the run alone. */
  readonly maxRunUsd?: number | null
  /** Calls of tools, those of subagents with them. */
  readonly maxToolCalls?: number | null
  /** Input and output tokens of the run. */
  readonly maxTotalTokens?: number | null
  /** Active milliseconds. */
  readonly maxDurationMs?: number | null
  /** How often an answer is sent back because a goal is not met. */
  readonly maxGoalTries?: number | null
  /** Milliseconds by the wall clock that it may wait for services. */
  readonly waitForLimitsMs?: number | null
  /** The guard against going in circles. */
  readonly noProgress?: boolean
}

/** Where a limit stops a run. */
export interface Stop {
  readonly kind: 'stop'
  readonly reason: EndingReason
  readonly limit: keyof OtherLimits | 'standing'
  readonly used: number
  readonly max: number
  /** Laps that would have been made whole. */
  readonly wholeTurns: number
  /** Active milliseconds of the run when the loop sees it, in the lap after these; absent where it sees it at the end of the last of these. */
  readonly atMs?: number
  /** It is cut in the lap after these: at this moment, or at the request of this place, which is shortened to this or not made. */
  readonly cut?: { readonly atMs: number } | { readonly atPayment: number; readonly paid: Shortened | null }
  /** Of the calls that the reply of the last of these asked for only so many were let run, until this active millisecond of the run. */
  readonly allowed?: { readonly calls: number; readonly untilMs: number }
  /** A budget may have stopped it from this lap on: requests reserve more than they cost. */
  readonly mayStopAt?: number
}

/** What is left of a request whose reply was cut short. */
export interface Shortened {
  readonly tokens: number
  readonly nanos: number
}

/**
 * Why it is not known what a limit would have made of a run, although the record goes on. `reserved`: the run stays within the limit, but its requests
 * reserve more than they cost. `beside`: a subagent, a compaction, a tool or a hook might have been refused a request. `agent`: a subagent would have
 * been stopped. `unpriced`: a model has no price, so nobody knows what dollars come to. `undated`: no time of the run is on record, so nobody knows which
 * day's budget it took from.
 */
export type WhyUnknown = 'reserved' | 'beside' | 'agent' | 'unpriced' | 'undated'

/** From this lap on the run may have gone another way. */
export interface Parting {
  readonly kind: 'parting'
  readonly why: WhyUnknown
  readonly lap: number
  /** Active milliseconds of the run then. */
  readonly atMs: number
}

/** The limit to try. One that is no stricter than what the run had stopped nothing else than what is on record. */
export function stricter(given: number | null | undefined, had: number | null): number | undefined {
  if (given === undefined || given === null) return undefined
  return had === null || given < had ? given : undefined
}
