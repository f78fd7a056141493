import {
  defaultRepeats,
  shouldRemind,
  nearestCycle,
  withNewest,
  upperBoundOfMessages,
  noProgressNudge,
} from '@halting/core/steps'
import { stopByBudgets } from './budget-stops.ts'
import { stricter, type OtherLimits, type Divergence, type Stop } from './other-limits.ts'
import type { PastCall, PastTurn, Trajectory, PastPayment } from './trajectory.ts'

/** The first point at which other limits change a run; `at` is undefined when they do not. */
export interface FirstStop {
  readonly at: Stop | Divergence | undefined
  /** The turn after which the model is reminded that it makes no progress. */
  readonly toldAfterTurn: number | null
  /** The turns with adjusted payments, if the model is reminded or budgets lower the caps of requests. */
  readonly turns: readonly PastTurn[]
}

/** The earliest stop of all limits. For several at the same point, the order is that of the loop: time, guard, turns, dollars, tokens. */
export function firstStop(trajectory: Trajectory, limits: OtherLimits): FirstStop {
  const repetition = limits.noProgress === true ? repetitionIn(trajectory) : noRepetition
  const remindedAfter = repetition.isReminderRecorded ? null : repetition.toldAfterTurn
  const adjusted = remindedAfter === null ? trajectory.turns : withNudge(trajectory.turns, remindedAfter)
  const { at: byBudgets, turns } = stopByBudgets({ ...trajectory, turns: adjusted }, limits)
  const all = [
    stopByTime(trajectory, limits),
    repetition.stop,
    stopByCalls(trajectory, limits),
    stopByTurns(trajectory, limits),
    stopByTries(trajectory, limits),
    stopByWaits(trajectory, limits),
    byBudgets,
    divergenceOfAgents(trajectory, limits),
  ].filter((each) => each !== undefined)
  // If a budget may have stopped the run before another limit does, that limit is only the latest possible stop.
  const mayStopAt = Math.min(...all.map((each) => mayStopAtOf(each)))
  // The sort is stable: of two at the same point, the first in the list wins.
  const [at] = all.filter((each) => !isReserved(each)).toSorted((a, b) => compared(placeOf(a), placeOf(b)))
  if (at === undefined) return { at: all.find(isReserved), toldAfterTurn: remindedAfter, turns }
  const { lap } = placeOf(at)
  // A run without a turn left is not reminded.
  const lastReminder = at.kind === 'stop' && at.reason === 'max_turns' ? at.wholeTurns - 1 : wholeTurnsOf(at)
  const toldAfterTurn = remindedAfter !== null && remindedAfter <= lastReminder ? remindedAfter : null
  if (at.kind === 'divergence' || mayStopAt > lap) return { at, toldAfterTurn, turns }
  return { at: { ...at, mayStopAt }, toldAfterTurn, turns }
}

function isReserved(each: Stop | Divergence): boolean {
  return each.kind === 'divergence' && each.why === 'reserved'
}

function mayStopAtOf(each: Stop | Divergence): number {
  if (each.kind === 'stop') return each.mayStopAt ?? Infinity
  return each.why === 'reserved' ? each.lap : Infinity
}

function wholeTurnsOf(each: Stop | Divergence): number {
  return each.kind === 'divergence' ? each.lap : each.wholeTurns
}

/** The iteration in which the loop detects a stop, and when. */
interface StopPlace {
  readonly lap: number
  readonly atMs: number
}

function placeOf(each: Stop | Divergence): StopPlace {
  if (each.kind === 'divergence') return each
  const { wholeTurns, atMs, allowed } = each
  if (allowed !== undefined) return { lap: wholeTurns - 1, atMs: allowed.untilMs }
  if (atMs === undefined) return { lap: wholeTurns - 1, atMs: Infinity }
  // A run that carried over all of its time ends before any other check.
  return { lap: atMs > 0 || each.limit !== 'maxDurationMs' ? wholeTurns : -1, atMs }
}

function compared(a: StopPlace, b: StopPlace): number {
  if (a.lap !== b.lap) return a.lap - b.lap
  return a.atMs === b.atMs ? 0 : a.atMs - b.atMs
}

function stopByTurns({ turns, limits, carried }: Trajectory, { maxTurns }: OtherLimits): Stop | undefined {
  const max = stricter(maxTurns, limits.maxTurns)
  if (max === undefined) return undefined
  let begun = carried.turns
  for (const [index, { countsAsTurn, verifies }] of turns.entries()) {
    if (!countsAsTurn) continue
    // The model is asked to verify only when a turn is also left for its answer.
    if (begun >= max || (verifies === true && begun + 1 >= max))
      return { kind: 'stop', reason: 'max_turns', limit: 'maxTurns', used: begun, max, wholeTurns: index }
    begun++
  }
  return undefined
}

/** The calls of a turn that the run itself made, without those of subagents. */
export function ownCalls(turn: PastTurn | undefined): readonly PastCall[] {
  return turn?.calls.filter(({ isOfAgent }) => isOfAgent !== true) ?? []
}

/**
 * When a reply has more calls than are left, those that fit run, and then the run ends. Each subagent gets a share of what is left: if the share may
 * have been too small, the effect is unknown.
 */
function stopByCalls(
  { turns, limits, carried, backgroundAgents = 0 }: Trajectory,
  others: OtherLimits,
): Stop | Divergence | undefined {
  const max = stricter(others.maxToolCalls, limits.maxToolCalls ?? null)
  if (max === undefined) return undefined
  // Each background agent reserves its possible calls, at most half of what is left.
  const all = turns.reduce((sum, { calls }) => sum + calls.length, carried.toolCalls ?? 0)
  const isRoomy = backgroundAgents === 0 || max >= all * backgroundAgents * 2 ** (backgroundAgents + 2)
  let used = carried.toolCalls ?? 0
  for (const [index, turn] of turns.entries()) {
    const own = ownCalls(turn).length
    const ofAgents = turn.calls.length - own
    const left = Math.max(0, max - used)
    const stop = { kind: 'stop', reason: 'max_tool_calls', limit: 'maxToolCalls', used: used + left, max } as const
    // The model is asked to verify only when a call is left.
    if (turn.verifies === true && left === 0) return { ...stop, wholeTurns: index }
    if (own > left) {
      return { ...stop, wholeTurns: index + 1, allowed: { calls: left, untilMs: endOfAllowed(turn, left) } }
    }
    if ((ofAgents > 0 && ofAgents > Math.floor((left - own) / Math.max(1, own))) || (ofAgents > 0 && !isRoomy)) {
      const replies = turn.payments.filter(({ of }) => of === 'run').map(({ endMs }) => endMs)
      return { kind: 'divergence', why: 'agent', lap: index, atMs: Math.max(0, ...replies) }
    }
    used += turn.calls.length
  }
  return undefined
}

/** When the last allowed call ended. */
function endOfAllowed(turn: PastTurn, calls: number): number {
  const refused = new Set(ownCalls(turn).slice(calls))
  const run = [...turn.payments, ...turn.calls.filter((call) => !refused.has(call))]
  return run.reduce((latest, { endMs }) => Math.max(latest, endMs), 0)
}

/** An answer that is sent back more often than allowed ends the run instead. If no turn is left either, the loop names the limit on turns. */
function stopByTries({ turns, limits }: Trajectory, { maxGoalTries }: OtherLimits): Stop | undefined {
  const max = stricter(maxGoalTries, limits.maxGoalTries ?? null)
  if (max === undefined) return undefined
  const wholeTurns = turns.findIndex(({ tries = 0 }) => tries > max)
  const used = (turns[wholeTurns]?.tries ?? 0) - 1
  if (wholeTurns < 0) return undefined
  return { kind: 'stop', reason: 'goal_unmet', limit: 'maxGoalTries', used, max, wholeTurns }
}

/** The first wait that would not have happened. The run ends there; for a subagent or a step that asks a model, the effect on the run is unknown. */
function stopByWaits({ turns, limits }: Trajectory, { waitForLimitsMs }: OtherLimits): Stop | Divergence | undefined {
  const max = stricter(waitForLimitsMs, limits.waitForLimitsMs ?? null)
  if (max === undefined) return undefined
  for (const [lap, { waits = [] }] of turns.entries()) {
    const wait = waits.find(({ beforeMs, neededMs: needed }) => max - beforeMs < needed)
    if (wait === undefined) continue
    const { beforeMs: used, atMs, atPayment, of } = wait
    if (of !== 'run') return { kind: 'divergence', why: of === 'agent' ? 'agent' : 'beside', lap, atMs }
    const cut = { atPayment, paid: null }
    return { kind: 'stop', reason: 'model_error', limit: 'waitForLimitsMs', used, max, wholeTurns: lap, atMs, cut }
  }
  return undefined
}

/**
 * The limits on turns and tries apply to each subagent, too. A subagent above them would have been stopped, and the run would have received that as a
 * result.
 */
function divergenceOfAgents({ turns, limits }: Trajectory, others: OtherLimits): Divergence | undefined {
  const maxTurns = stricter(others.maxTurns, limits.maxTurns) ?? Infinity
  const maxTries = stricter(others.maxGoalTries, limits.maxGoalTries ?? null) ?? Infinity
  if (maxTurns === Infinity && maxTries === Infinity) return undefined
  const lap = turns.findIndex(({ agentTurns, agentTries = 0 }) => agentTurns > maxTurns || agentTries > maxTries)
  const turn = turns[lap]
  if (turn === undefined) return undefined
  // A subagent starts after the reply that called it.
  const replies = turn.payments.filter((payment) => payment.of === 'run').map(({ endMs }) => endMs)
  return { kind: 'divergence', why: 'agent', lap, atMs: Math.max(0, ...replies) }
}

function stopByTime({ turns, limits, carried }: Trajectory, { maxDurationMs }: OtherLimits): Stop | undefined {
  const max = stricter(maxDurationMs, limits.maxDurationMs)
  if (max === undefined) return undefined
  const atMs = Math.max(0, max - carried.ms)
  // A run that took exactly as long may end either way; it is treated as unchanged.
  if (turns.every(({ endMs }) => endMs <= atMs)) return undefined
  // During a run, the limit may be exceeded at any moment: the loop compares at its cancellation points.
  const wholeTurns = turns.findIndex(({ endMs }) => endMs >= atMs)
  return {
    kind: 'stop',
    reason: 'time_limit',
    limit: 'maxDurationMs',
    used: max,
    max,
    wholeTurns,
    atMs,
    cut: { atMs },
  }
}

interface Repetition {
  readonly stop: Stop | undefined
  /** The turn after which the model is reminded. */
  readonly toldAfterTurn: number | null
  /** Whether the guard was active and its reminder is recorded, so that the model's reaction is known. */
  readonly isReminderRecorded: boolean
}

const noRepetition: Repetition = { stop: undefined, toldAfterTurn: null, isReminderRecorded: false }

/** The model is reminded once; if the repetition continues, the run stops. */
function repetitionIn({ turns, ending }: Trajectory): Repetition {
  let recent: readonly number[] = []
  let toldAfterTurn: number | null = null
  let isReminderRecorded = false
  for (const [index, { hash, isFreshBefore, isFreshAfter }] of turns.entries()) {
    if (isFreshBefore === true) recent = []
    const cycle = hash === null ? undefined : nearestCycle((recent = withNewest(recent, hash)), defaultRepeats)
    if (cycle !== undefined && toldAfterTurn !== null && cycle.repeats >= cycle.limit) {
      const { limit: max } = cycle
      const wholeTurns = index + 1
      // The run was ended here by this guard with the same strictness. That is recorded, possibly with a final answer after it.
      const isEnd = wholeTurns + 1 >= turns.length
      if (isEnd && ending?.reason === 'no_progress' && (ending.limit ?? max) <= max) return noRepetition
      const stop = { kind: 'stop', reason: 'no_progress', limit: 'noProgress', used: max, max, wholeTurns } as const
      return { stop, toldAfterTurn, isReminderRecorded }
    }
    const isFollowed = index + 1 < turns.length
    if (cycle !== undefined && toldAfterTurn === null && isFollowed && shouldRemind(cycle)) {
      toldAfterTurn = index + 1
      isReminderRecorded = turns[index + 1]?.isReminded === true
      // Where the run would have ended, it is reminded instead, and the count restarts.
      if (cycle.repeats >= cycle.limit) recent = []
    }
    if (isFreshAfter) recent = []
  }
  return { stop: undefined, toldAfterTurn, isReminderRecorded }
}

type Amount = Pick<PastPayment, 'nanos' | 'tokens'>

/** Upper bound for the tokens of the reminder. */
const nudgeTokens = upperBoundOfMessages([{ role: 'user', content: noProgressNudge }], {})

/**
 * The same turns with a reminder, which was not recorded, before one of them. It increases the bounds of requests until a service has counted it with
 * the other messages.
 */
function withNudge(turns: readonly PastTurn[], lap: number): readonly PastTurn[] {
  let isCounted = false
  return turns.map((turn, index) => {
    if (index < lap || isCounted) return turn
    const payments = turn.payments.map((payment) => {
      if (isCounted || payment.of !== 'run') return payment
      isCounted = !payment.isAtWorst && payment.tokens > 0
      return withLongerInput(payment)
    })
    return { ...turn, payments }
  })
}

/** Input tokens all cost the same, and so do reply tokens. */
function withLongerInput(payment: PastPayment): PastPayment {
  const { bounds, isAtWorst } = payment
  if (bounds === null) return payment
  const { least, most, usefulTokens, capTokens } = bounds
  const replyNanos = capTokens === usefulTokens ? 0 : (most.nanos - least.nanos) / (capTokens - usefulTokens)
  // When all replies have one length, the record does not separate their price from that of the input.
  const [nanos, tokens] =
    replyNanos === 0
      ? [least.nanos, least.tokens]
      : [least.nanos - usefulTokens * replyNanos, least.tokens - usefulTokens]
  const moreNanos = tokens > 0 ? (nudgeTokens * nanos) / tokens : 0
  const longer = (amount: Amount): Amount => {
    return { tokens: amount.tokens + nudgeTokens, nanos: Math.ceil(amount.nanos + moreNanos) }
  }
  return {
    ...payment,
    // Unreported usage is charged at worst case.
    ...(isAtWorst && longer(payment)),
    bounds: { ...bounds, least: longer(least), most: longer(most) },
  }
}
