import { ConfigurationError, endings, type EndingReason } from '@halting/core'
import { fieldsOf, throwInvalidOption, describeValue, usdOf } from '@halting/core/steps'
import type { OtherLimits, Stop, WhyUnknown } from './other-limits.ts'
import { firstStop, ownCalls, type FirstStop } from './stops.ts'
import type { PastCall, PastEnding, PastTurn, Trajectory } from './trajectory.ts'

/** Options of `whatIf`. */
export interface WhatIfOptions {
  /** Whether a call changed something. Default: every call did. */
  readonly changes?: (call: PastCall) => boolean
}

/** What a run spent, or would not have spent under other limits. */
export interface Spent {
  /** Turns. */
  readonly turns: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Cost that services reported, in US dollars. */
  readonly costUsd: number
  /** Cost that was never reported and was charged at worst case, in US dollars. */
  readonly unknownUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
}

/** The effect of other limits on a run. JSON. */
export interface WhatIf {
  /** `unknown`: the record ends where the run might have continued with these limits, or the run might have been different. */
  readonly verdict: 'stops' | 'same' | 'unknown'
  /** How it would have ended; for `same`, how it did; null if unknown. */
  readonly reason: EndingReason | null
  /** The limit that stops it, and its state at that point. */
  readonly by: {
    /** Which limit it is; `standing` for a standing budget. */
    readonly limit: keyof OtherLimits | 'standing'
    /** How much of it was used, in its unit. */
    readonly used: number
    /** The limit. */
    readonly max: number
  } | null
  /** The standing budget that would have refused a request. Times are local, in ISO 8601. */
  readonly standing?: {
    /** Name of the budget. */
    readonly budget: string
    /** When the request was made. */
    readonly at: string
    /** When the next period of the budget begins. */
    readonly resetsAt: string
    /** Requests that would not have been made. */
    readonly notMade: number
  }
  /** Whether the stop is only the latest possible one, because requests reserve more than they cost. `kept` and `lost` are then upper bounds. */
  readonly isAtTheLatest: boolean
  /** Whether its goals would have been checked once more at that point: if met, the run would have ended as completed. */
  readonly isCompletedIfMet?: true
  /**
   * Whether the run would have ended as completed with its earlier answer, because the model had been, or would have been, asked to verify its last
   * change.
   */
  readonly keepsAnswer?: true
  /** The turn from which the effect is unknown, and why; null if it is known, and where the record ends. */
  readonly unknownFrom: {
    /** The first turn for which it is unknown. */
    readonly turn: number
    /** Why it is unknown. */
    readonly why: WhyUnknown
  } | null
  /** The turn after which the model would have been reminded that it repeats itself. Its reaction is unknown. */
  readonly toldAfterTurn: number | null
  /** What the run would have spent. */
  readonly kept: Spent
  /** What it would not have spent. */
  readonly saved: Spent
  /** What would not have happened. */
  readonly lost: {
    /** Calls that changed something, by tool. */
    readonly changes: { readonly [tool: string]: number }
    /** All calls. */
    readonly calls: number
    /** Whether the run had an answer, or a question that waits for a person, and would have lost it. */
    readonly answer: boolean
  }
}

/**
 * Replays a trajectory under other limits, without a model: where they would have stopped it, and what that saves and loses.
 * @throws ConfigurationError for an invalid trajectory or invalid limits.
 */
export function whatIf(trajectory: Trajectory, limits: OtherLimits, options: WhatIfOptions = {}): WhatIf {
  checkTrajectory('whatIf must be given first', trajectory)
  if (fieldsOf(limits) === undefined)
    throwInvalidOption('The limits of whatIf', 'an object, such as { maxTurns: 20 }', limits)
  const { turns, ending } = trajectory
  const { at, toldAfterTurn, turns: adjusted } = firstStop(trajectory, limits)
  const isEarlier = at?.kind === 'stop' && (at.wholeTurns < turns.length || ending === null)
  if (isEarlier) return answerOfStop(trajectory, at, options, { toldAfterTurn, turns: adjusted })
  const divergence = at?.kind === 'divergence' ? at : undefined
  const isUnknown =
    divergence !== undefined || ending === null || isLoosened(trajectory, limits) || wouldWait(trajectory, limits)
  return {
    verdict: isUnknown ? 'unknown' : 'same',
    reason: isUnknown ? null : ending.reason,
    by: null,
    isAtTheLatest: false,
    unknownFrom:
      divergence === undefined ? null : { turn: turnsIn(turns.slice(0, divergence.lap + 1)), why: divergence.why },
    toldAfterTurn,
    kept: spentBy(sumOf(turns)),
    saved: spentBy(nothingSpent),
    lost: { changes: {}, calls: 0, answer: false },
  }
}

/** The answer for a run that stops at this point. */
export function answerOfStop(
  trajectory: Trajectory,
  stop: Stop,
  options: WhatIfOptions,
  { toldAfterTurn, turns }: Pick<FirstStop, 'toldAfterTurn' | 'turns'> = {
    toldAfterTurn: null,
    turns: trajectory.turns,
  },
): WhatIf {
  const { reason, limit, used, max, mayStopAt } = stop
  const keepsAnswer = isAnswerKept(trajectory, stop)
  const all = sumOf(trajectory.turns)
  const kept = keptBy(turns, stop)
  return {
    verdict: 'stops',
    reason: keepsAnswer ? 'completed' : reason,
    by: { limit, used, max },
    isAtTheLatest: mayStopAt !== undefined,
    ...(isCheckedAt(trajectory, stop, options) && { isCompletedIfMet: true }),
    ...(keepsAnswer && { keepsAnswer: true }),
    unknownFrom: null,
    toldAfterTurn,
    kept: spentBy(kept),
    saved: spentBy({
      turns: all.turns - kept.turns,
      tokens: Math.max(0, all.tokens - kept.tokens),
      nanos: all.nanos - kept.nanos,
      worstNanos: all.worstNanos - kept.worstNanos,
      activeMs: Math.max(0, all.activeMs - kept.activeMs),
    }),
    lost: keepsAnswer
      ? { ...lostAfter(trajectory, stop, options), answer: false }
      : lostAfter(trajectory, stop, options),
  }
}

/** Whether the goals of the run would have been checked at this limit, because something had changed since the last check. */
function isCheckedAt(
  { turns, checksAtLimit }: Trajectory,
  { reason, wholeTurns }: Stop,
  { changes = () => true }: WhatIfOptions,
): boolean {
  if (checksAtLimit !== true || !endings[reason].checksGoal) return false
  let hasChanged = false
  for (const { checked, calls } of turns.slice(0, wholeTurns)) {
    if (checked === 'before') hasChanged = false
    if (calls.some((call) => call.hasRun && changes(call))) hasChanged = true
    if (checked === 'after') hasChanged = false
  }
  return hasChanged
}

// Spec R-VERI-5.
/** Whether the run would have stopped after an answer that the model was asked to verify, or instead of that request. */
function isAnswerKept({ turns }: Trajectory, { wholeTurns, cut }: Stop): boolean {
  const turn = turns[wholeTurns]
  if (turn?.verifies !== true) return false
  return cut === undefined || !('atMs' in cut) || turn.calls.every(({ endMs }) => endMs > cut.atMs)
}

/** Callers in plain JavaScript may pass anything. */
export function checkTrajectory(what: string, value: unknown): void {
  const fields = fieldsOf(value)
  if (fields === undefined || !Array.isArray(fields['turns']))
    throw new ConfigurationError(
      `${what} a trajectory, as trajectoryOf computes it from the records of a run, but it is ${describeValue(value)}.`,
    )
}

/** Whether the run ended by a limit that is higher or absent in `others`. */
function isLoosened({ ending, limits }: Trajectory, others: OtherLimits): boolean {
  // The reason does not name the limit that cut the verification: any higher limit may have let the run continue.
  if (ending?.isCutAnswer === true) return isAnyWider(limits, others)
  const limit = ending === null ? null : ending.isOfRun === true ? 'maxRunUsd' : endings[ending.reason].limit
  if (ending === null || limit === null || ending.isShortOfLimit === true) return false
  if (limit === 'noProgress') return others.noProgress === false
  const other = others[limit]
  // The same limit changes nothing: a hook, a guard or an abort ended the run under this name.
  if (other === undefined || other === limits[limit]) return false
  return other === null || other > (ending.limit ?? limits[limit] ?? 0)
}

const countedLimits = ['maxBudgetUsd', 'maxRunUsd', 'maxToolCalls', 'maxTotalTokens', 'maxDurationMs'] as const

function isAnyWider(limits: Trajectory['limits'], others: OtherLimits): boolean {
  return countedLimits.some((name) => {
    const [had, other] = [limits[name] ?? null, others[name]]
    return had !== null && other !== undefined && (other === null || other > had)
  })
}

/** Whether a run that ended because of a service would have waited for it with this limit. */
function wouldWait({ ending, limits }: Trajectory, { waitForLimitsMs }: OtherLimits): boolean {
  const wait = ending?.serviceWait
  if (wait === undefined || waitForLimitsMs === undefined) return false
  const max = waitForLimitsMs ?? Infinity
  return max > (limits.waitForLimitsMs ?? 0) && max - wait.waitedMs >= wait.neededMs
}

interface Sum {
  readonly turns: number
  readonly tokens: number
  readonly nanos: number
  readonly worstNanos: number
  readonly activeMs: number
}

const nothingSpent: Sum = Object.freeze({ turns: 0, tokens: 0, nanos: 0, worstNanos: 0, activeMs: 0 })

function spentBy({ turns, tokens, nanos, worstNanos, activeMs }: Sum): Spent {
  return { turns, tokens, costUsd: usdOf(nanos), unknownUsd: usdOf(worstNanos), activeMs }
}

function turnsIn(turns: readonly PastTurn[]): number {
  return turns.filter(({ isTold }) => isTold).length
}

function sumOf(turns: readonly PastTurn[]): Sum {
  const sum = { ...nothingSpent, turns: turnsIn(turns) }
  for (const { payments, endMs } of turns) {
    for (const payment of payments) pay(sum, payment)
    sum.activeMs = Math.max(sum.activeMs, endMs)
  }
  return sum
}

type Paid = Pick<PastTurn['payments'][number], 'tokens' | 'nanos' | 'isAtWorst'>

function pay(sum: { tokens: number; nanos: number; worstNanos: number }, { tokens, nanos, isAtWorst }: Paid): void {
  sum.tokens += tokens
  sum[isAtWorst ? 'worstNanos' : 'nanos'] += nanos
}

/** Upper bound for what a stopped run spends. A request that is cut was made, and is paid for. */
function keptBy(turns: readonly PastTurn[], { wholeTurns, cut, allowed }: Stop): Sum {
  const wholePart = turns.slice(0, wholeTurns)
  const sum = { ...sumOf(wholePart) }
  if (allowed !== undefined) sum.activeMs = Math.max(sumOf(wholePart.slice(0, -1)).activeMs, allowed.untilMs)
  const next = turns[wholeTurns]
  if (cut === undefined || next === undefined) return sum
  if ('atMs' in cut) {
    // Requests that would have begun at that moment are not made.
    const paid = next.payments.filter(({ beganMs }) => beganMs < cut.atMs)
    for (const payment of paid) pay(sum, payment)
    const isAsked = paid.some((payment) => payment.of === 'run')
    return { ...sum, turns: sum.turns + (next.isTold && isAsked ? 1 : 0), activeMs: cut.atMs }
  }
  const paid = next.payments.slice(0, cut.atPayment)
  for (const payment of paid) pay(sum, payment)
  const last = next.payments[cut.atPayment]
  const isAsked = cut.paid !== null || paid.some((payment) => payment.of === 'run')
  if (last !== undefined && cut.paid !== null) pay(sum, { ...cut.paid, isAtWorst: last.isAtWorst })
  // A refused request comes after the wait for it.
  const endMs = cut.paid === null ? last?.beganMs : last?.endMs
  return {
    ...sum,
    turns: sum.turns + (next.isTold && isAsked ? 1 : 0),
    activeMs: Math.max(sum.activeMs, endMs ?? 0),
  }
}

function lostAfter(
  { turns, ending }: Trajectory,
  { wholeTurns, cut, allowed, mayStopAt = wholeTurns }: Stop,
  { changes = () => true }: WhatIfOptions,
): WhatIf['lost'] {
  const refused =
    allowed === undefined || mayStopAt < wholeTurns ? [] : ownCalls(turns[wholeTurns - 1]).slice(allowed.calls)
  const later = turns.slice(Math.min(wholeTurns, mayStopAt)).flatMap((turn, index) => {
    const isCut = index === 0 && mayStopAt >= wholeTurns && cut !== undefined && 'atMs' in cut
    return isCut ? turn.calls.filter(({ endMs }) => endMs > cut.atMs) : turn.calls
  })
  const calls = [...refused, ...later]
  const counts: Record<string, number> = {}
  for (const call of calls) if (call.hasRun && changes(call)) counts[call.tool] = (counts[call.tool] ?? 0) + 1
  return { changes: counts, calls: calls.length, answer: hasResult(ending) }
}

/** Whether the run ended with an answer or with a question that waits for a person. An answer that does not meet the goal does not count. */
export function hasResult(ending: PastEnding | null): boolean {
  if (ending === null || endings[ending.reason].limit === 'maxGoalTries') return false
  return ending.hasAnswer || ending.reason === 'needs_approval' || endings[ending.reason].exitCode === 0
}
