import { ConfigurationError, endings, type EndingReason } from '@halting/core'
import { fieldsOf, refuse, shown, usdOf } from '@halting/core/steps'
import type { OtherLimits, Stop, WhyUnknown } from './other-limits.ts'
import { firstStop, ownCalls, type FirstStop } from './stops.ts'
import type { PastCall, PastEnding, PastTurn, Trajectory } from './trajectory.ts'

/** What is known of the tools. */
export interface WhatIfOptions {
  /** Whether a call changed something; every call did when absent. */
  readonly changes?: (call: PastCall) => boolean
}

/** What a run spent, or would not have spent under other limits. */
export interface Spent {
  /** Turns. */
  readonly turns: number
  /** Input and output tokens. */
  readonly tokens: number
  /** What services told. */
  readonly costUsd: number
  /** What nobody told, and was charged at worst case. */
  readonly unknownUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
}

/** What other limits would have made of a run. JSON. */
export interface WhatIf {
  /** `unknown`: the record ends where the run might have gone on with these limits, or they would have had it go another way. */
  readonly verdict: 'stops' | 'same' | 'unknown'
  /** How it would have ended; of `same` how it did; null where that is not known. */
  readonly reason: EndingReason | null
  /** The limit that stops it, and what it would have stood at. */
  readonly by: {
    /** Which limit it is; `standing` for a standing budget. */
    readonly limit: keyof OtherLimits | 'standing'
    /** How much of it was used, in its unit. */
    readonly used: number
    /** The limit. */
    readonly max: number
  } | null
  /** The standing budget that had no room for a request of it, when, and how many requests were not made then. Times are local, in ISO 8601. */
  readonly standing?: {
    /** Name of the budget. */
    readonly budget: string
    /** When the request was made. */
    readonly at: string
    /** When the next period of the budget begins. */
    readonly resetsAt: string
    /** Requests that were not made. */
    readonly notMade: number
  }
  /**
   * Requests reserve more than they cost. By dollars and tokens the run would have stopped here at the latest: then `kept` is the most that it would
   * have spent, and `lost` the most that would not have happened.
   */
  readonly isAtTheLatest: boolean
  /** Its goals would have been checked once more there: where they held, it would have ended as completed. */
  readonly isCompletedIfMet?: true
  /** The model had been asked to verify its last change, or would have been: the run ends as completed, with the answer before that. */
  readonly keepsAnswer?: true
  /** From which turn on it is not known, and why; null for the others, and where the record ends. */
  readonly unknownFrom: {
    /** The first turn that is not known. */
    readonly turn: number
    /** Why it is not known. */
    readonly why: WhyUnknown
  } | null
  /** The turn after which the model would have been told that it repeats itself. What it would have done then is not known. */
  readonly toldAfterTurn: number | null
  /** What the run would have spent. */
  readonly kept: Spent
  /** What it would not have spent. */
  readonly saved: Spent
  /** What would not have happened. */
  readonly lost: {
    /** Calls that changed something, by tool. */
    readonly changes: { readonly [tool: string]: number }
    /** Calls, by whatever tool. */
    readonly calls: number
    /** The run came to an answer, or to a question that waits for a person, and would not have. */
    readonly answer: boolean
  }
}

/**
 * Runs a trajectory again under other limits, without a model: where they would have stopped it, and what that saves and loses.
 * @throws ConfigurationError for what is no trajectory, or no limits.
 */
export function whatIf(trajectory: Trajectory, limits: OtherLimits, options: WhatIfOptions = {}): WhatIf {
  checkTrajectory('whatIf must be given first', trajectory)
  if (fieldsOf(limits) === undefined) refuse('The limits of whatIf', 'an object, such as { maxTurns: 20 }', limits)
  const { turns, ending } = trajectory
  const { at, toldAfterTurn, turns: asTold } = firstStop(trajectory, limits)
  const isEarlier = at?.kind === 'stop' && (at.wholeTurns < turns.length || ending === null)
  if (isEarlier) return answerOfStop(trajectory, at, options, { toldAfterTurn, turns: asTold })
  const parting = at?.kind === 'parting' ? at : undefined
  const isUnknown =
    parting !== undefined || ending === null || isLoosened(trajectory, limits) || wouldWait(trajectory, limits)
  return {
    verdict: isUnknown ? 'unknown' : 'same',
    reason: isUnknown ? null : ending.reason,
    by: null,
    isAtTheLatest: false,
    unknownFrom: parting === undefined ? null : { turn: toldIn(turns.slice(0, parting.lap + 1)), why: parting.why },
    toldAfterTurn,
    kept: spentBy(sumOf(turns)),
    saved: spentBy(nothingSpent),
    lost: { changes: {}, calls: 0, answer: false },
  }
}

/** The answer for a run that is stopped there. */
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

/** Whether the goals of the run would have been checked at this limit: something changed since they last were. */
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
/** Whether it would have stopped while an answer stood that the model was asked to verify, or in place of that request. */
function isAnswerKept({ turns }: Trajectory, { wholeTurns, cut }: Stop): boolean {
  const turn = turns[wholeTurns]
  if (turn?.verifies !== true) return false
  return cut === undefined || !('atMs' in cut) || turn.calls.every(({ endMs }) => endMs > cut.atMs)
}

/** Plain JavaScript may give anything. */
export function checkTrajectory(what: string, given: unknown): void {
  const fields = fieldsOf(given)
  if (fields === undefined || !Array.isArray(fields['turns']))
    throw new ConfigurationError(`${what} what trajectoryOf makes of the records of a run, but it is ${shown(given)}.`)
}

/** The run ended by a limit that would have been wider, or would not have been. */
function isLoosened({ ending, limits }: Trajectory, given: OtherLimits): boolean {
  // Which limit cut its verification short is not in its reason: any that is wider may have let it go on.
  if (ending?.isCutAnswer === true) return isAnyWider(limits, given)
  const limit = ending === null ? null : ending.isOfRun === true ? 'maxRunUsd' : endings[ending.reason].limit
  if (ending === null || limit === null || ending.isShortOfLimit === true) return false
  if (limit === 'noProgress') return given.noProgress === false
  const other = given[limit]
  // What the run had changes nothing: then a hook, a guard or an abort ended it under this name.
  if (other === undefined || other === limits[limit]) return false
  return other === null || other > (ending.limit ?? limits[limit] ?? 0)
}

const countedLimits = ['maxBudgetUsd', 'maxRunUsd', 'maxToolCalls', 'maxTotalTokens', 'maxDurationMs'] as const

function isAnyWider(limits: Trajectory['limits'], given: OtherLimits): boolean {
  return countedLimits.some((name) => {
    const [had, other] = [limits[name] ?? null, given[name]]
    return had !== null && other !== undefined && (other === null || other > had)
  })
}

/** Whether a run that a service ended would have waited for it with this limit. */
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

function toldIn(turns: readonly PastTurn[]): number {
  return turns.filter(({ isTold }) => isTold).length
}

function sumOf(turns: readonly PastTurn[]): Sum {
  const sum = { ...nothingSpent, turns: toldIn(turns) }
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

/** What a run comes to that is stopped, at most. A request that is cut was asked, and is paid for. */
function keptBy(turns: readonly PastTurn[], { wholeTurns, cut, allowed }: Stop): Sum {
  const whole = turns.slice(0, wholeTurns)
  const sum = { ...sumOf(whole) }
  if (allowed !== undefined) sum.activeMs = Math.max(sumOf(whole.slice(0, -1)).activeMs, allowed.untilMs)
  const next = turns[wholeTurns]
  if (cut === undefined || next === undefined) return sum
  if ('atMs' in cut) {
    // What would have begun at that moment was not made.
    const made = next.payments.filter(({ beganMs }) => beganMs < cut.atMs)
    for (const payment of made) pay(sum, payment)
    const isAsked = made.some((payment) => payment.of === 'run')
    return { ...sum, turns: sum.turns + (next.isTold && isAsked ? 1 : 0), activeMs: cut.atMs }
  }
  const made = next.payments.slice(0, cut.atPayment)
  for (const payment of made) pay(sum, payment)
  const last = next.payments[cut.atPayment]
  const isAsked = cut.paid !== null || made.some((payment) => payment.of === 'run')
  if (last !== undefined && cut.paid !== null) pay(sum, { ...cut.paid, isAtWorst: last.isAtWorst })
  // What is refused came after the wait for it.
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
  return { changes: counts, calls: calls.length, answer: cameToSomething(ending) }
}

/** To an answer, or to a question that waits for a person. An answer for which the goal of the run does not hold is none. */
export function cameToSomething(ending: PastEnding | null): boolean {
  if (ending === null || endings[ending.reason].limit === 'maxGoalTries') return false
  return ending.hasAnswer || ending.reason === 'needs_approval' || endings[ending.reason].exitCode === 0
}
