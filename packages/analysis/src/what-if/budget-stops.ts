import { nanosOf, usdOf } from '@halting/core/steps'
import { stricter, type OtherLimits, type Parting, type Shortened, type Stop } from './other-limits.ts'
import type { PastPayment, PastTurn, Trajectory } from './trajectory.ts'

type Amount = Pick<PastPayment, 'nanos' | 'tokens'>

/** A request of a run, with its place. */
interface Asked {
  readonly lap: number
  /** Among the payments of its lap. */
  readonly place: number
  readonly payment: PastPayment
}

/** A budget in one currency as it is at one moment of a run. */
interface Limited {
  readonly limit: 'maxBudgetUsd' | 'maxRunUsd' | 'maxTotalTokens'
  readonly max: number
  readonly budget: Budget
  readonly amountOf: (of: Amount) => number
  /** What a run may spend, in the units of `amountOf`. */
  readonly whole: number
}

/**
 * Where budgets stop a run. A request is made as it was where its reply fits into what it may come to. The run's own request that does not fit is not
 * made, or its reply is cut: either ends the run. What subagents, compactions, tools and hooks ask is refused or cut, too, and what the run does then is
 * not on record. A record that does not say what requests may come to tells no more than where they had cost too much. Dollars and tokens are looked at
 * together, as the loop does: a reply is cut at the lower cap of both, and in the name of dollars wherever these lower it.
 */
export function stopByBudgets(trajectory: Trajectory, given: OtherLimits): BudgetStop {
  const limited = limitedBy(trajectory, given)
  const asked = limited.length === 0 ? [] : askedIn(trajectory)
  const shortened = new Map<PastPayment, PastPayment>()
  let mayStopAt: number | undefined
  const found = (at: Stop | Parting | undefined): BudgetStop => ({
    at,
    turns: withPayments(trajectory.turns, shortened),
  })
  for (const [index, { lap, place, payment }] of asked.entries()) {
    const next = nextOwn(asked, index)
    const fits = limited.map((each) => fitOf(payment, each, next))
    let paid = payment
    if (!fits.every(({ isWhole }) => isWhole)) {
      if (payment.of !== 'run' || limited.some(({ budget }) => budget.isShared))
        return found({ kind: 'parting', why: 'beside', lap, atMs: payment.beganMs })
      // What was charged at worst case is not what the service sent.
      const isUnsure = payment.isAtWorst && index === asked.length - 1
      const isFailed = payment.isAtWorst && !isUnsure && fits.every(({ cap }) => typeof cap === 'number')
      if (isFailed) {
        // With a lower cap it would have failed as it did, and come to less.
        paid = { ...payment, ...cutPayment(payment, lowestCap(fits)) }
        shortened.set(payment, paid)
      } else {
        const sure = isUnsure ? [] : fits.filter(({ cap }) => cap !== 'unknown')
        const end = endBy(sure, payment) ?? endBy(fits.filter(isTooDear(payment)), payment)
        const at = end === undefined ? undefined : stopAt(end, { lap, place, payment })
        if (at !== undefined) return found(mayStopAt === undefined ? at : { ...at, mayStopAt })
        mayStopAt ??= lap
      }
    }
    const usedUp = isAnswered({ lap, place, payment }, trajectory) ? limited.find(isUsedUpBy(payment)) : undefined
    if (usedUp !== undefined) {
      const at = stopAt(
        { fit: { of: usedUp, left: usedUp.budget.unspent - usedUp.amountOf(payment) }, paid: payment },
        { lap, place, payment },
      )
      return found(mayStopAt === undefined ? at : { ...at, mayStopAt })
    }
    for (const { budget } of limited) budget.ask(paid)
  }
  return found(mayStopAt === undefined ? undefined : { kind: 'parting', why: 'reserved', lap: mayStopAt, atMs: 0 })
}

/** Where budgets stop a run, and what its turns come to by then. */
export interface BudgetStop {
  readonly at: Stop | Parting | undefined
  readonly turns: readonly PastTurn[]
}

function withPayments(turns: readonly PastTurn[], others: ReadonlyMap<PastPayment, PastPayment>): readonly PastTurn[] {
  if (others.size === 0) return turns
  return turns.map((turn) => ({ ...turn, payments: turn.payments.map((payment) => others.get(payment) ?? payment) }))
}

function stopAt({ fit, paid }: End, { lap, place, payment }: Asked): Stop {
  const { limit, max, whole } = fit.of
  const isMoney = isDollars(limit)
  const used = whole - fit.left
  return {
    kind: 'stop',
    reason: isMoney ? 'max_budget_usd' : 'token_limit',
    limit,
    used: isMoney ? usdOf(used) : used,
    max,
    wholeTurns: lap,
    atMs: paid === null ? payment.beganMs : payment.endMs,
    cut: { atPayment: place, paid },
  }
}

/**
 * The run's own request whose reply has calls: the loop looks at what is spent before it acts on it. A reply that is not whole is recovered from first,
 * and has none. Of the last one this is told as the same: a limit of all that a run used is no tighter one.
 */
export function isAnswered({ lap, place, payment }: Asked, { turns }: Trajectory): boolean {
  const turn = turns[lap]
  if (turn === undefined || payment.of !== 'run' || payment.isAtWorst || payment.bounds === null) return false
  const isLast = turn.payments.findLastIndex(({ of }) => of === 'run') === place
  return isLast && turn.calls.length > 0 && lap < turns.length - 1
}

/** Dollars that are used up end a run, and tokens once there are more than it may have. */
function isUsedUpBy(payment: PastPayment): (of: Limited) => boolean {
  return ({ limit, budget, amountOf }) => {
    const left = budget.unspent - amountOf(payment)
    return isDollars(limit) ? left <= 0 : left < 0
  }
}

function isDollars(limit: Limited['limit']): boolean {
  return limit !== 'maxTotalTokens'
}

/** Dollars first, as the loop asks for them: of the two limits in dollars the one that leaves less. */
function limitedBy({ limits, carried }: Trajectory, given: OtherLimits): readonly Limited[] {
  const usd = stricter(given.maxBudgetUsd, limits.maxBudgetUsd)
  const runUsd = stricter(given.maxRunUsd, limits.maxRunUsd)
  const tokens = stricter(given.maxTotalTokens, limits.maxTotalTokens)
  const nanosOfBoth = ({ nanos }: Amount): number => nanos
  const tokensOfBoth = ({ tokens: count }: Amount): number => count
  const dollars = [
    ...(usd === undefined
      ? []
      : [limitedTo('maxBudgetUsd', usd, nanosOf(usd), nanosOf(limits.spentBeforeUsd) + carried.nanos, nanosOfBoth)]),
    ...(runUsd === undefined ? [] : [limitedTo('maxRunUsd', runUsd, nanosOf(runUsd), carried.nanos, nanosOfBoth)]),
  ]
  return [
    ...dollars.toSorted((a, b) => a.budget.unspent - b.budget.unspent),
    ...(tokens === undefined ? [] : [limitedTo('maxTotalTokens', tokens, tokens, carried.tokens, tokensOfBoth)]),
  ]
}

function limitedTo(
  limit: Limited['limit'],
  max: number,
  whole: number,
  before: number,
  amountOf: Limited['amountOf'],
): Limited {
  return { limit, max, whole, amountOf, budget: new Budget(whole - before, amountOf) }
}

/** How a request fits into what is left of one budget. */
interface Fit {
  readonly of: Limited
  readonly left: number
  /** At how many tokens its reply is cut; the whole cap where it is not. */
  readonly cap: number | 'refused' | 'unknown'
  /** It lowers the cap that the request had. */
  readonly isLowered: boolean
  /** The reply is no longer than that. */
  readonly isWhole: boolean
}

function fitOf(payment: PastPayment, of: Limited, next: PastPayment | undefined): Fit {
  const { budget, amountOf } = of
  const left = budget.leftAt(payment.beganMs)
  const cap = capOf(payment, left - budget.roomAfter(payment, next), amountOf)
  const isLowered = typeof cap === 'number' && cap < (payment.bounds?.capTokens ?? 0)
  // What was charged at worst case was charged for the cap that it had.
  const fits = payment.isAtWorst && isLowered ? amountOf(payment) <= left : payment.outputTokens <= Number(cap)
  return { of, left, cap, isLowered, isWhole: typeof cap === 'number' && (!isLowered || fits) }
}

function capOf({ bounds }: PastPayment, left: number, amountOf: (of: Amount) => number): Fit['cap'] {
  if (bounds === null || Number.isNaN(left)) return 'unknown'
  const [least, most] = [amountOf(bounds.least), amountOf(bounds.most)]
  const { usefulTokens, capTokens } = bounds
  if (left >= most) return capTokens
  if (left < least) return 'refused'
  return usefulTokens + Math.floor(((left - least) * (capTokens - usefulTokens)) / (most - least))
}

function isTooDear(payment: PastPayment): (fit: Fit) => boolean {
  return ({ of, left, isWhole }) => !isWhole && of.amountOf(payment) > left
}

/** By which budget a request ends the run, and what is paid of it: null where it is not made. */
interface End {
  readonly fit: Pick<Fit, 'of' | 'left'>
  readonly paid: Shortened | null
}

/** Undefined where it is made as it was. */
function endBy(fits: readonly Fit[], payment: PastPayment): End | undefined {
  if (fits.every(({ isWhole }) => isWhole)) return undefined
  const refused = fits.find(({ cap }) => cap === 'refused')
  if (refused !== undefined) return { fit: refused, paid: null }
  const unknown = fits.find(({ cap }) => cap === 'unknown')
  if (unknown !== undefined) return { fit: unknown, paid: atMost(payment, unknown) }
  const fit = fits.find(({ isLowered }) => isLowered)
  return fit === undefined ? undefined : { fit, paid: cutPayment(payment, lowestCap(fits)) }
}

function lowestCap(fits: readonly Fit[]): number {
  return Math.min(...fits.map(({ cap }) => Number(cap)))
}

/** Of a request that does not say what it may come to no more is paid than was left. */
function atMost({ tokens, nanos }: PastPayment, { of, left }: Fit): Shortened {
  const most = Math.max(0, left)
  return isDollars(of.limit) ? { tokens, nanos: Math.min(most, nanos) } : { tokens: Math.min(most, tokens), nanos }
}

type CutPayment = Pick<PastPayment, 'tokens' | 'nanos' | 'outputTokens' | 'isAtWorst' | 'bounds'>

/** What a request comes to whose reply is cut at so many tokens. */
export function cutPayment({ tokens, nanos, outputTokens, isAtWorst, bounds }: CutPayment, cutAt: number): Shortened {
  if (bounds === null) return { tokens, nanos }
  const { least, most, usefulTokens, capTokens } = bounds
  const nanosEach = capTokens === usefulTokens ? 0 : (most.nanos - least.nanos) / (capTokens - usefulTokens)
  const more = cutAt - usefulTokens
  if (isAtWorst) return { tokens: least.tokens + more, nanos: Math.ceil(least.nanos + more * nanosEach) }
  const less = outputTokens - cutAt
  return { tokens: tokens - less, nanos: Math.ceil(nanos - less * nanosEach) }
}

/** What is left as requests begin and are over. What the record does not say is not a number. */
export class Budget {
  readonly #amountOf: (of: Amount) => number
  #unspent: number
  #open: readonly PastPayment[] = []

  constructor(unspent: number, amountOf: (of: Amount) => number) {
    this.#unspent = unspent
    this.#amountOf = amountOf
  }

  /** Without what requests under way may come to. */
  get unspent(): number {
    return this.#unspent
  }

  /** Somebody else has a request under way. */
  get isShared(): boolean {
    return this.#open.some((payment) => payment.of !== 'run')
  }

  /** At this moment, with what is reserved for requests that are under way. */
  leftAt(ms: number): number {
    const isOver = ({ endMs }: PastPayment): boolean => endMs <= ms
    for (const payment of this.#open) if (isOver(payment)) this.#unspent -= this.#amountOf(payment)
    this.#open = this.#open.filter((payment) => !isOver(payment))
    return this.#open.reduce((left, payment) => left - this.#mostOf(payment), this.#unspent)
  }

  /** What has to be left behind it: what is asked beside the run leaves room for its next request. */
  roomAfter(payment: PastPayment, next: PastPayment | undefined): number {
    return payment.of === 'beside' && next !== undefined ? this.#mostOf(next) : 0
  }

  ask(payment: PastPayment): void {
    this.#open = [...this.#open, payment]
  }

  #mostOf({ bounds }: PastPayment): number {
    return bounds === null ? NaN : this.#amountOf(bounds.most)
  }
}

/** In the order in which they began. */
export function askedIn({ turns }: Trajectory): readonly Asked[] {
  return turns
    .flatMap(({ payments }, lap) => payments.map((payment, place): Asked => ({ lap, place, payment })))
    .toSorted((a, b) => a.payment.beganMs - b.payment.beganMs)
}

export function nextOwn(asked: readonly Asked[], index: number): PastPayment | undefined {
  for (let next = index + 1; next < asked.length; next++) {
    const payment = asked[next]?.payment
    if (payment?.of === 'run') return payment
  }
  return undefined
}

/**
 * The least budget in nano-dollars or in tokens that would not have stopped the run, nor cut a reply of it: what it spent before each request and what that
 * reserves, the most of these. Of a request that does not say what it may come to, what it came to.
 */
export function leastBudget(trajectory: Trajectory, currency: 'nanos' | 'tokens'): number {
  const amountOf = (of: Pick<PastPayment, 'nanos' | 'tokens'>): number => of[currency]
  // What is left of nothing is what is spent and reserved, below zero.
  const budget = new Budget(-trajectory.carried[currency], amountOf)
  const asked = askedIn(trajectory)
  let least = trajectory.carried[currency]
  for (const [index, each] of asked.entries()) {
    const { payment } = each
    const before = -budget.leftAt(payment.beganMs)
    const room = budget.roomAfter(payment, nextOwn(asked, index))
    // Before the calls of a reply a run looks at what is spent: dollars that are used up to the last one end it.
    const more = currency === 'nanos' && isAnswered(each, trajectory) ? 1 : 0
    const spent = -budget.unspent + amountOf(payment) + more
    const reserved = before + Math.max(amountOf(payment), neededFor(payment, amountOf) + room)
    // What is not known of others under way is left out.
    least = Math.max(least, spent, Number.isNaN(reserved) ? 0 : reserved)
    budget.ask(payment)
  }
  return least
}

/** What must be left for the reply not to be cut. */
function neededFor(payment: PastPayment, amountOf: (of: Pick<PastPayment, 'nanos' | 'tokens'>) => number): number {
  const { bounds, outputTokens, isAtWorst } = payment
  if (bounds === null) return amountOf(payment)
  const [least, most] = [amountOf(bounds.least), amountOf(bounds.most)]
  const { usefulTokens, capTokens } = bounds
  if (isAtWorst) return Math.min(most, Math.max(least, amountOf(payment)))
  const more = Math.max(0, outputTokens - usefulTokens)
  if (more === 0 || capTokens === usefulTokens) return least
  return Math.min(most, least + Math.ceil((more * (most - least)) / (capTokens - usefulTokens)))
}
