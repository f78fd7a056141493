import { ConfigurationError } from '../errors.ts'
import { fieldsOf, refuse, shown } from '../given.ts'
import { nanosOf, usdOf } from '../budget/prices.ts'
import { defaultRepeats, nearestCycle, withNewest } from '../guards/recent-turns.ts'
import { endings, type TerminalReason } from '../stop/terminal.ts'
import type { PastCall, PastTurn, Trajectory } from './trajectory.ts'

/** Limits to try. What is left out stays as it was; null takes a limit away. */
export interface OtherLimits {
  readonly maxTurns?: number | null
  readonly maxBudgetUsd?: number | null
  readonly maxTotalTokens?: number | null
  readonly maxDurationMs?: number | null
  /** The guard against going in circles. */
  readonly noProgress?: boolean
}

/** What is known of the tools. */
export interface WhatIfOptions {
  /** Whether a call changed something; every call did when absent. */
  readonly changes?: (call: PastCall) => boolean
}

interface Spent {
  readonly turns: number
  readonly tokens: number
  readonly costUsd: number
  readonly activeMs: number
}

/** What other limits would have made of a run. JSON. */
export interface WhatIf {
  /** `unknown`: the run ended where the record ends, and with these limits it might have gone on. */
  readonly verdict: 'stops' | 'same' | 'unknown'
  /** How it would have ended; of `same` how it did; null where that is not known. */
  readonly reason: TerminalReason | null
  /** The limit that stops it, and what it would have stood at. */
  readonly by: { readonly limit: keyof OtherLimits; readonly used: number; readonly max: number } | null
  /**
   * Dollars and tokens are reserved before a request, at worst case, and the record does not hold what would have been reserved: the run would have
   * stopped here at the latest.
   */
  readonly isAtTheLatest: boolean
  /** The turn after which the model would have been told that it repeats itself. What it would have done then is not known. */
  readonly toldAfterTurn: number | null
  readonly kept: Spent
  readonly saved: Spent
  /** What would not have happened. */
  readonly lost: {
    /** Calls that changed something, by tool. */
    readonly changes: { readonly [tool: string]: number }
    readonly calls: number
    /** The run came to an answer, and would not have. */
    readonly answer: boolean
  }
}

interface Stop {
  readonly reason: TerminalReason
  readonly limit: keyof OtherLimits
  readonly used: number
  readonly max: number
  /** Laps that would have been made whole. */
  readonly wholeTurns: number
  /** It is cut in the lap after these, at this moment. */
  readonly cutMs?: number
  readonly toldAfterTurn?: number
}

/**
 * Runs a trajectory again under other limits, without a model: where they would have stopped it, and what that saves and loses.
 * @throws ConfigurationError for what is no trajectory, or no limits.
 */
export function whatIf(trajectory: Trajectory, limits: OtherLimits, options: WhatIfOptions = {}): WhatIf {
  checkTrajectory('whatIf must be given first', trajectory)
  if (fieldsOf(limits) === undefined) refuse('The limits of whatIf', 'an object, such as { maxTurns: 20 }', limits)
  const { turns, ending } = trajectory
  const stop = firstStop(trajectory, limits)
  const all = spentIn(turns, turns.length, undefined)
  const isEarlier = stop !== undefined && (stop.wholeTurns < turns.length || ending === null)
  if (!isEarlier) {
    const isUnknown = ending === null || isLoosened(trajectory, limits)
    return {
      verdict: isUnknown ? 'unknown' : 'same',
      reason: isUnknown ? null : ending.reason,
      by: null,
      isAtTheLatest: false,
      toldAfterTurn: stop?.toldAfterTurn ?? null,
      kept: all,
      saved: nothingSpent,
      lost: { changes: {}, calls: 0, answer: false },
    }
  }
  const { reason, limit, used, max, wholeTurns, cutMs } = stop
  const kept = spentIn(turns, wholeTurns, cutMs)
  return {
    verdict: 'stops',
    reason,
    by: { limit, used, max },
    isAtTheLatest: limit === 'maxBudgetUsd' || limit === 'maxTotalTokens',
    toldAfterTurn: stop.toldAfterTurn ?? null,
    kept,
    saved: {
      turns: all.turns - kept.turns,
      tokens: all.tokens - kept.tokens,
      costUsd: usdOf(nanosOf(all.costUsd) - nanosOf(kept.costUsd)),
      activeMs: Math.max(0, all.activeMs - kept.activeMs),
    },
    lost: lostAfter(trajectory, stop, options),
  }
}

/** Plain JavaScript may give anything. */
function checkTrajectory(what: string, given: unknown): void {
  const fields = fieldsOf(given)
  if (fields === undefined || !Array.isArray(fields['turns']))
    throw new ConfigurationError(`${what} what trajectoryOf makes of the records of a run, but it is ${shown(given)}.`)
}

const nothingSpent: Spent = Object.freeze({ turns: 0, tokens: 0, costUsd: 0, activeMs: 0 })

/** The earliest stop of all limits. Of several at one place the loop asks the guard first, and for tokens last. */
function firstStop(trajectory: Trajectory, limits: OtherLimits): Stop | undefined {
  const stops = [
    limits.noProgress === true ? stopByCircles(trajectory) : undefined,
    stopByTurns(trajectory, limits),
    stopByTime(trajectory, limits),
    stopByPayments(trajectory, limits, 'maxBudgetUsd'),
    stopByPayments(trajectory, limits, 'maxTotalTokens'),
  ].filter((stop) => stop !== undefined)
  const place = ({ wholeTurns, cutMs }: Stop): number => wholeTurns + (cutMs === undefined ? 0 : 0.5)
  return stops.toSorted((a, b) => place(a) - place(b))[0]
}

/** The limit to try. One that is no stricter than what the run had stopped nothing else than what is on record. */
function stricter(given: number | null | undefined, had: number | null): number | undefined {
  if (given === undefined || given === null) return undefined
  return had === null || given < had ? given : undefined
}

function stopByTurns({ turns, limits, carried }: Trajectory, { maxTurns }: OtherLimits): Stop | undefined {
  const max = stricter(maxTurns, limits.maxTurns)
  if (max === undefined) return undefined
  let begun = carried.turns
  for (const [index, { countsAsTurn }] of turns.entries()) {
    if (!countsAsTurn) continue
    if (begun >= max) return { reason: 'max_turns', limit: 'maxTurns', used: begun, max, wholeTurns: index }
    begun++
  }
  return undefined
}

function stopByTime({ turns, limits, carried }: Trajectory, { maxDurationMs }: OtherLimits): Stop | undefined {
  const max = stricter(maxDurationMs, limits.maxDurationMs)
  if (max === undefined) return undefined
  const cutMs = Math.max(0, max - carried.ms)
  const wholeTurns = turns.findIndex(({ endMs }) => endMs > cutMs)
  if (wholeTurns < 0) return undefined
  return { reason: 'time_limit', limit: 'maxDurationMs', used: max, max, wholeTurns, cutMs }
}

/** A request that cost more than what was left was never made. */
function stopByPayments(
  { turns, limits, carried }: Trajectory,
  given: OtherLimits,
  limit: 'maxBudgetUsd' | 'maxTotalTokens',
): Stop | undefined {
  const max = stricter(given[limit], limits[limit])
  if (max === undefined) return undefined
  const isMoney = limit === 'maxBudgetUsd'
  const most = isMoney ? nanosOf(max) : max
  let used = isMoney ? nanosOf(limits.spentBeforeUsd) + carried.nanos : carried.tokens
  for (const [wholeTurns, { payments }] of turns.entries()) {
    const paid = payments.reduce((sum, payment) => sum + (isMoney ? payment.nanos : payment.tokens), 0)
    if (used + paid > most) {
      const reason = isMoney ? 'max_budget_usd' : 'token_limit'
      return { reason, limit, used: isMoney ? usdOf(used) : used, max, wholeTurns }
    }
    used += paid
  }
  return undefined
}

/** The first circle is told to the model, and the second one stops the run. */
function stopByCircles({ turns, ending }: Trajectory): Stop | undefined {
  let recent: readonly number[] = []
  let toldAfterTurn: number | undefined
  for (const [index, { hash, isFreshAfter }] of turns.entries()) {
    if (hash !== null) {
      recent = withNewest(recent, hash)
      const cycle = nearestCycle(recent, defaultRepeats)
      if (cycle !== undefined && cycle.repeats >= cycle.limit) {
        const { limit: max } = cycle
        // It ended by this guard, as strict as it is here: where that stops a run is on record, with the last answer that may come after it.
        if (ending?.reason === 'no_progress' && (ending.limit ?? max) <= max) return undefined
        if (toldAfterTurn !== undefined)
          return { reason: 'no_progress', limit: 'noProgress', used: max, max, toldAfterTurn, wholeTurns: index + 1 }
        toldAfterTurn = index + 1
        recent = []
      }
    }
    if (isFreshAfter) recent = []
  }
  return undefined
}

/** The run ended by a limit that would have been wider, or would not have been. */
function isLoosened({ ending, limits }: Trajectory, given: OtherLimits): boolean {
  const limit = ending === null ? undefined : limitOfReason[ending.reason]
  if (ending === null || limit === undefined) return false
  if (limit === 'noProgress') return given.noProgress === false
  const other = given[limit]
  // What the run had changes nothing: then a hook, a guard or an abort ended it under this name.
  if (other === undefined || other === limits[limit]) return false
  return other === null || other > (ending.limit ?? limits[limit] ?? 0)
}

const limitOfReason: { readonly [reason in TerminalReason]?: keyof OtherLimits } = {
  max_turns: 'maxTurns',
  max_budget_usd: 'maxBudgetUsd',
  token_limit: 'maxTotalTokens',
  time_limit: 'maxDurationMs',
  no_progress: 'noProgress',
}

function spentIn(turns: readonly PastTurn[], wholeTurns: number, cutMs: number | undefined): Spent {
  let [told, tokens, nanos, latest] = [0, 0, 0, 0]
  for (const [index, turn] of turns.entries()) {
    const isCut = index === wholeTurns && cutMs !== undefined
    if (index >= wholeTurns && !isCut) break
    if (turn.isTold) told++
    for (const payment of turn.payments) {
      if (isCut && payment.endMs >= cutMs) continue
      tokens += payment.tokens
      nanos += payment.nanos
    }
    latest = Math.max(latest, turn.endMs)
  }
  return { turns: told, tokens, costUsd: usdOf(nanos), activeMs: cutMs ?? latest }
}

function lostAfter(
  { turns, ending }: Trajectory,
  { wholeTurns, cutMs }: Stop,
  { changes = () => true }: WhatIfOptions,
): WhatIf['lost'] {
  const calls = turns.slice(wholeTurns).flatMap((turn, index) => {
    return index === 0 && cutMs !== undefined ? turn.calls.filter(({ endMs }) => endMs > cutMs) : turn.calls
  })
  const counts: Record<string, number> = {}
  for (const call of calls) if (changes(call)) counts[call.tool] = (counts[call.tool] ?? 0) + 1
  return { changes: counts, calls: calls.length, answer: ending !== null && endings[ending.reason].exitCode === 0 }
}

/** A limit that loses nothing in any of the runs, and what it saves in all of them. */
export interface SuggestedLimit {
  readonly limits: OtherLimits
  readonly saved: Spent
  /** Runs that it stops earlier. */
  readonly stops: number
}

/**
 * The limits that would have saved most and lost nothing: no call that changed something, and no answer. Those that save something, the most first.
 * Dollars and tokens are not among them: what is reserved before a request is not on record, so one that just fits might have stopped it.
 * @throws ConfigurationError for what is no list of trajectories.
 */
export function suggestLimits(
  trajectories: readonly Trajectory[],
  options: WhatIfOptions = {},
): readonly SuggestedLimit[] {
  if (!Array.isArray(trajectories))
    refuse('suggestLimits', 'given a list of trajectories, as trajectoryOf makes them of runs', trajectories)
  for (const [index, each] of trajectories.entries()) checkTrajectory(`Trajectory ${index} must be`, each)
  const needed = trajectories.map((trajectory) => neededBy(trajectory, options))
  const maxTurns = Math.max(1, ...needed.map(({ turns }) => turns))
  const maxDurationMs = Math.max(1, ...needed.map(({ ms }) => Math.ceil(ms / 1_000) * 1_000))
  return [{ noProgress: true }, { maxTurns }, { maxDurationMs }]
    .map((limits) => suggestion(trajectories, limits, options))
    .filter((suggested) => suggested !== undefined)
    .toSorted((a, b) => b.saved.costUsd - a.saved.costUsd || b.saved.tokens - a.saved.tokens)
}

function suggestion(
  trajectories: readonly Trajectory[],
  limits: OtherLimits,
  options: WhatIfOptions,
): SuggestedLimit | undefined {
  const answers = trajectories.map((trajectory) => whatIf(trajectory, limits, options))
  const losesNothing = answers.every(({ lost }) => !lost.answer && Object.keys(lost.changes).length === 0)
  const stopped = answers.filter(({ verdict }) => verdict === 'stops')
  if (!losesNothing || stopped.length === 0) return undefined
  const sum = (figure: (spent: Spent) => number): number =>
    stopped.reduce((total, { saved }) => total + figure(saved), 0)
  const saved: Spent = {
    turns: sum(({ turns }) => turns),
    tokens: sum(({ tokens }) => tokens),
    costUsd: usdOf(sum(({ costUsd }) => nanosOf(costUsd))),
    activeMs: sum(({ activeMs }) => activeMs),
  }
  return { limits, saved, stops: stopped.length }
}

/** What a run needed: all of it where it came to an answer or may go on, else up to its last call that changed something. */
function neededBy(
  { turns, ending }: Trajectory,
  { changes = () => true }: WhatIfOptions,
): { readonly turns: number; readonly ms: number } {
  const isNeeded = ending === null || endings[ending.reason].exitCode === 0
  const last = isNeeded ? turns.length - 1 : turns.findLastIndex(({ calls }) => calls.some(changes))
  const needed = turns.slice(0, last + 1)
  return {
    turns: needed.filter(({ countsAsTurn }) => countsAsTurn).length,
    ms: needed.reduce((latest, { endMs }) => Math.max(latest, endMs), 0),
  }
}
