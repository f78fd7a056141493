import {
  defaultRepeats,
  isDueToRemind,
  nearestCycle,
  withNewest,
  upperBoundOfMessages,
  noProgressNudge,
} from '@halting/core/steps'
import { stopByBudgets } from './budget-stops.ts'
import { stricter, type OtherLimits, type Parting, type Stop } from './other-limits.ts'
import type { PastCall, PastTurn, Trajectory, PastPayment } from './trajectory.ts'

/** Where a run goes another way with other limits; nowhere where it is the same. */
export interface FirstStop {
  readonly at: Stop | Parting | undefined
  /** The turn after which the model is told that it goes in circles. */
  readonly toldAfterTurn: number | null
  /** What its turns come to where the model is told so, and budgets lower the caps of requests. */
  readonly turns: readonly PastTurn[]
}

/** The earliest place of all limits. Of several at one place the loop asks for the time first, then the guard, turns, dollars and tokens. */
export function firstStop(trajectory: Trajectory, limits: OtherLimits): FirstStop {
  const circles = limits.noProgress === true ? circlesIn(trajectory) : noCircles
  const told = circles.isToldOnRecord ? null : circles.toldAfterTurn
  const asTold = told === null ? trajectory.turns : withNudge(trajectory.turns, told)
  const { at: byBudgets, turns } = stopByBudgets({ ...trajectory, turns: asTold }, limits)
  const all = [
    stopByTime(trajectory, limits),
    circles.stop,
    stopByCalls(trajectory, limits),
    stopByTurns(trajectory, limits),
    stopByTries(trajectory, limits),
    stopByWaits(trajectory, limits),
    byBudgets,
    partingOfAgents(trajectory, limits),
  ].filter((each) => each !== undefined)
  // A budget that may have stopped it before another limit does makes that the latest place.
  const mayStopAt = Math.min(...all.map((each) => mayStopAtOf(each)))
  // Where two are at one place the first of the list stays first.
  const [at] = all.filter((each) => !isReserved(each)).toSorted((a, b) => compared(placeOf(a), placeOf(b)))
  if (at === undefined) return { at: all.find(isReserved), toldAfterTurn: told, turns }
  const { lap } = placeOf(at)
  // Where no turn is left the model is not reminded.
  const lastTold = at.kind === 'stop' && at.reason === 'max_turns' ? at.wholeTurns - 1 : wholeTurnsOf(at)
  const toldAfterTurn = told !== null && told <= lastTold ? told : null
  if (at.kind === 'parting' || mayStopAt > lap) return { at, toldAfterTurn, turns }
  return { at: { ...at, mayStopAt }, toldAfterTurn, turns }
}

function isReserved(each: Stop | Parting): boolean {
  return each.kind === 'parting' && each.why === 'reserved'
}

function mayStopAtOf(each: Stop | Parting): number {
  if (each.kind === 'stop') return each.mayStopAt ?? Infinity
  return each.why === 'reserved' ? each.lap : Infinity
}

function wholeTurnsOf(each: Stop | Parting): number {
  return each.kind === 'parting' ? each.lap : each.wholeTurns
}

/** In which lap the loop sees it, and when. */
interface Place {
  readonly lap: number
  readonly atMs: number
}

function placeOf(each: Stop | Parting): Place {
  if (each.kind === 'parting') return each
  const { wholeTurns, atMs, allowed } = each
  if (allowed !== undefined) return { lap: wholeTurns - 1, atMs: allowed.untilMs }
  if (atMs === undefined) return { lap: wholeTurns - 1, atMs: Infinity }
  // A run that carried over all of its time ends before anything else is looked at.
  return { lap: atMs > 0 || each.limit !== 'maxDurationMs' ? wholeTurns : -1, atMs }
}

function compared(a: Place, b: Place): number {
  if (a.lap !== b.lap) return a.lap - b.lap
  return a.atMs === b.atMs ? 0 : a.atMs - b.atMs
}

function stopByTurns({ turns, limits, carried }: Trajectory, { maxTurns }: OtherLimits): Stop | undefined {
  const max = stricter(maxTurns, limits.maxTurns)
  if (max === undefined) return undefined
  let begun = carried.turns
  for (const [index, { countsAsTurn, verifies }] of turns.entries()) {
    if (!countsAsTurn) continue
    // It is asked to verify only where a turn is left to answer in, too.
    if (begun >= max || (verifies === true && begun + 1 >= max))
      return { kind: 'stop', reason: 'max_turns', limit: 'maxTurns', used: begun, max, wholeTurns: index }
    begun++
  }
  return undefined
}

/** The calls that the run itself asked for in a turn. */
export function ownCalls(turn: PastTurn | undefined): readonly PastCall[] {
  return turn?.calls.filter(({ isOfAgent }) => isOfAgent !== true) ?? []
}

/**
 * A reply that asks for more calls than are left has those run that fit, and ends the run once they have. Each subagent has a part of what is left: where it
 * may have been too small for one, the answer is not known.
 */
function stopByCalls(
  { turns, limits, carried, backgroundAgents = 0 }: Trajectory,
  given: OtherLimits,
): Stop | Parting | undefined {
  const max = stricter(given.maxToolCalls, limits.maxToolCalls ?? null)
  if (max === undefined) return undefined
  // What each agent of the background might make is set aside, half of what is left at most.
  const all = turns.reduce((sum, { calls }) => sum + calls.length, carried.toolCalls ?? 0)
  const isRoomy = backgroundAgents === 0 || max >= all * backgroundAgents * 2 ** (backgroundAgents + 2)
  let made = carried.toolCalls ?? 0
  for (const [index, turn] of turns.entries()) {
    const own = ownCalls(turn).length
    const ofAgents = turn.calls.length - own
    const left = Math.max(0, max - made)
    const stop = { kind: 'stop', reason: 'max_tool_calls', limit: 'maxToolCalls', used: made + left, max } as const
    // It is asked to verify only where a call is left.
    if (turn.verifies === true && left === 0) return { ...stop, wholeTurns: index }
    if (own > left) {
      return { ...stop, wholeTurns: index + 1, allowed: { calls: left, untilMs: endOfAllowed(turn, left) } }
    }
    if ((ofAgents > 0 && ofAgents > Math.floor((left - own) / Math.max(1, own))) || (ofAgents > 0 && !isRoomy)) {
      const replies = turn.payments.filter(({ of }) => of === 'run').map(({ endMs }) => endMs)
      return { kind: 'parting', why: 'agent', lap: index, atMs: Math.max(0, ...replies) }
    }
    made += turn.calls.length
  }
  return undefined
}

/** When the last of its calls that are let run was over. */
function endOfAllowed(turn: PastTurn, calls: number): number {
  const refused = new Set(ownCalls(turn).slice(calls))
  const run = [...turn.payments, ...turn.calls.filter((call) => !refused.has(call))]
  return run.reduce((latest, { endMs }) => Math.max(latest, endMs), 0)
}

/** An answer that was sent back more often than that ends the run in its place. Where no turn is left either, the loop names that limit. */
function stopByTries({ turns, limits }: Trajectory, { maxGoalTries }: OtherLimits): Stop | undefined {
  const max = stricter(maxGoalTries, limits.maxGoalTries ?? null)
  if (max === undefined) return undefined
  const wholeTurns = turns.findIndex(({ tries = 0 }) => tries > max)
  const used = (turns[wholeTurns]?.tries ?? 0) - 1
  if (wholeTurns < 0) return undefined
  return { kind: 'stop', reason: 'goal_unmet', limit: 'maxGoalTries', used, max, wholeTurns }
}

/** The first wait that would not have been made: there the run ends; of a subagent or a question it is not known what the run would have done. */
function stopByWaits({ turns, limits }: Trajectory, { waitForLimitsMs }: OtherLimits): Stop | Parting | undefined {
  const max = stricter(waitForLimitsMs, limits.waitForLimitsMs ?? null)
  if (max === undefined) return undefined
  for (const [lap, { waits = [] }] of turns.entries()) {
    const wait = waits.find(({ beforeMs, neededMs: needed }) => max - beforeMs < needed)
    if (wait === undefined) continue
    const { beforeMs: used, atMs, atPayment, of } = wait
    if (of !== 'run') return { kind: 'parting', why: of === 'agent' ? 'agent' : 'beside', lap, atMs }
    const cut = { atPayment, paid: null }
    return { kind: 'stop', reason: 'model_error', limit: 'waitForLimitsMs', used, max, wholeTurns: lap, atMs, cut }
  }
  return undefined
}

/**
 * Each subagent may take as many turns as the run, and its answers are sent back as often. One that took more would have been stopped, and the run would have been
 * told so.
 */
function partingOfAgents({ turns, limits }: Trajectory, given: OtherLimits): Parting | undefined {
  const maxTurns = stricter(given.maxTurns, limits.maxTurns) ?? Infinity
  const maxTries = stricter(given.maxGoalTries, limits.maxGoalTries ?? null) ?? Infinity
  if (maxTurns === Infinity && maxTries === Infinity) return undefined
  const lap = turns.findIndex(({ agentTurns, agentTries = 0 }) => agentTurns > maxTurns || agentTries > maxTries)
  const turn = turns[lap]
  if (turn === undefined) return undefined
  // It works once the reply that asked for it is there.
  const replies = turn.payments.filter((payment) => payment.of === 'run').map(({ endMs }) => endMs)
  return { kind: 'parting', why: 'agent', lap, atMs: Math.max(0, ...replies) }
}

function stopByTime({ turns, limits, carried }: Trajectory, { maxDurationMs }: OtherLimits): Stop | undefined {
  const max = stricter(maxDurationMs, limits.maxDurationMs)
  if (max === undefined) return undefined
  const atMs = Math.max(0, max - carried.ms)
  // A run that took just as long may end either way: it is told as the same.
  if (turns.every(({ endMs }) => endMs <= atMs)) return undefined
  // Within a run a limit is reached at its very moment: the loop compares them at its checkpoints.
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

interface Circles {
  readonly stop: Stop | undefined
  /** The turn after which the model is reminded. */
  readonly toldAfterTurn: number | null
  /** The guard was there, and reminded it: what the model made of that is on record. */
  readonly isToldOnRecord: boolean
}

const noCircles: Circles = { stop: undefined, toldAfterTurn: null, isToldOnRecord: false }

/** The model is reminded once, and a circle that goes on stops the run. */
function circlesIn({ turns, ending }: Trajectory): Circles {
  let recent: readonly number[] = []
  let toldAfterTurn: number | null = null
  let isToldOnRecord = false
  for (const [index, { hash, isFreshBefore, isFreshAfter }] of turns.entries()) {
    if (isFreshBefore === true) recent = []
    const cycle = hash === null ? undefined : nearestCycle((recent = withNewest(recent, hash)), defaultRepeats)
    if (cycle !== undefined && toldAfterTurn !== null && cycle.repeats >= cycle.limit) {
      const { limit: max } = cycle
      const wholeTurns = index + 1
      // It ended here by this guard, as strict as it is: that is on record, with the last answer that may come after it.
      const isEnd = wholeTurns + 1 >= turns.length
      if (isEnd && ending?.reason === 'no_progress' && (ending.limit ?? max) <= max) return noCircles
      const stop = { kind: 'stop', reason: 'no_progress', limit: 'noProgress', used: max, max, wholeTurns } as const
      return { stop, toldAfterTurn, isToldOnRecord }
    }
    const isFollowed = index + 1 < turns.length
    if (cycle !== undefined && toldAfterTurn === null && isFollowed && isDueToRemind(cycle)) {
      toldAfterTurn = index + 1
      isToldOnRecord = turns[index + 1]?.isReminded === true
      // Where it would have ended, it is reminded in place of that, and the count starts anew.
      if (cycle.repeats >= cycle.limit) recent = []
    }
    if (isFreshAfter) recent = []
  }
  return { stop: undefined, toldAfterTurn, isToldOnRecord }
}

type Amount = Pick<PastPayment, 'nanos' | 'tokens'>

/** The most tokens of the message that tells the model that it goes in circles. */
const nudgeTokens = upperBoundOfMessages([{ role: 'user', content: noProgressNudge }], {})

/**
 * The same turns where the model is told before one of them that it goes in circles, which on record it was not. Requests may come to so much more, until
 * a service has counted the message with the rest.
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

/** Input costs the same for each token, as the reply does. */
function withLongerInput(payment: PastPayment): PastPayment {
  const { bounds, isAtWorst } = payment
  if (bounds === null) return payment
  const { least, most, usefulTokens, capTokens } = bounds
  const replyNanos = capTokens === usefulTokens ? 0 : (most.nanos - least.nanos) / (capTokens - usefulTokens)
  // Where replies have one length the record does not tell their price from that of the input.
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
    // What nobody told is charged at worst case.
    ...(isAtWorst && longer(payment)),
    bounds: { ...bounds, least: longer(least), most: longer(most) },
  }
}
