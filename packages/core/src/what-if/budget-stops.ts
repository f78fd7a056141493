import type { GrantBounds } from '../budget/recorded-amount.ts'
import { nanosOf, usdOf } from '../budget/prices.ts'
import { stricter, type OtherLimits, type Parting, type Shortened, type Stop } from './other-limits.ts'
import type { PastPayment, Trajectory } from './trajectory.ts'

type Amount = Pick<PastPayment, 'nanos' | 'tokens'>

/** A request of a run, with its place. */
interface Asked {
  readonly lap: number
  /** Among the payments of its lap. */
  readonly place: number
  readonly payment: PastPayment
}

/**
 * Where a budget stops a run. A request is made as it was where its reply fits into what it may come to. The run's own request that does not fit is not
 * made, or its reply is cut: either ends the run. What subagents, compactions, tools and hooks ask is refused or cut, too, and what the run does then is
 * not on record. A record that does not say what requests may come to tells no more than where they had cost too much.
 */
export function stopByBudget(
  trajectory: Trajectory,
  given: OtherLimits,
  limit: 'maxBudgetUsd' | 'maxTotalTokens',
): Stop | Parting | undefined {
  const { limits, carried } = trajectory
  const max = stricter(given[limit], limits[limit])
  if (max === undefined) return undefined
  const isMoney = limit === 'maxBudgetUsd'
  const amountOf = ({ nanos, tokens }: Amount): number => (isMoney ? nanos : tokens)
  const whole = isMoney ? nanosOf(max) : max
  const before = isMoney ? nanosOf(limits.spentBeforeUsd) + carried.nanos : carried.tokens
  const budget = new Budget(whole - before, amountOf)
  const asked = askedIn(trajectory)
  let mayStopAt: number | undefined
  for (const [index, { lap, place, payment }] of asked.entries()) {
    const left = budget.leftAt(payment.beganMs)
    const fit = fitOf(payment, left - budget.roomAfter(payment, nextOwn(asked, index)), amountOf)
    if (fit !== 'whole') {
      if (payment.of !== 'run' || budget.isShared) return { kind: 'parting', why: 'beside', lap }
      const isLast = index === asked.length - 1
      // What was charged at worst case is not what the service sent.
      const isUnsure = fit === 'unknown' || (payment.isAtWorst && isLast)
      if (isUnsure) mayStopAt ??= lap
      if (!isUnsure || amountOf(payment) > left) {
        const cut = { atPayment: place, paid: paidOf(payment, fit, Math.max(0, left), isMoney) }
        const reason = isMoney ? 'max_budget_usd' : 'token_limit'
        const used = isMoney ? usdOf(whole - left) : whole - left
        const stop = { kind: 'stop', reason, limit, used, max, wholeTurns: lap, cut } as const
        return mayStopAt === undefined ? stop : { ...stop, mayStopAt }
      }
    }
    budget.ask(payment)
  }
  return mayStopAt === undefined ? undefined : { kind: 'parting', why: 'reserved', lap: mayStopAt }
}

/** What becomes of a request: made as it was, not made, made with a reply that is cut at so many tokens, or nobody knows. */
type Fit = 'whole' | 'refused' | 'unknown' | { readonly cutAt: number; readonly bounds: GrantBounds }

function fitOf(payment: PastPayment, left: number, amountOf: (of: Amount) => number): Fit {
  const { bounds, outputTokens, isAtWorst } = payment
  if (bounds === null || Number.isNaN(left)) return 'unknown'
  const [least, most] = [amountOf(bounds.least), amountOf(bounds.most)]
  if (left >= most) return 'whole'
  if (left < least) return 'refused'
  const { usefulTokens, capTokens } = bounds
  const cutAt = usefulTokens + Math.floor(((left - least) / (most - least)) * (capTokens - usefulTokens))
  // What was charged at worst case was charged for the cap that it had.
  const isSame = isAtWorst ? amountOf(payment) <= left : outputTokens <= cutAt
  return isSame ? 'whole' : { cutAt, bounds }
}

/** What is paid of a request that does not fit; null for one that is not made. */
function paidOf(payment: PastPayment, fit: Fit, left: number, isMoney: boolean): Shortened | null {
  const { tokens, nanos, outputTokens, isAtWorst } = payment
  if (fit === 'refused') return null
  if (typeof fit === 'string')
    return isMoney ? { tokens, nanos: Math.min(left, nanos) } : { tokens: Math.min(left, tokens), nanos }
  const { cutAt, bounds } = fit
  const { least, most, usefulTokens, capTokens } = bounds
  const nanosEach = capTokens === usefulTokens ? 0 : (most.nanos - least.nanos) / (capTokens - usefulTokens)
  const more = cutAt - usefulTokens
  if (isAtWorst) return { tokens: least.tokens + more, nanos: Math.ceil(least.nanos + more * nanosEach) }
  const less = outputTokens - cutAt
  return { tokens: tokens - less, nanos: Math.ceil(nanos - less * nanosEach) }
}

/** What is left as requests begin and are over. What the record does not say is not a number. */
class Budget {
  readonly #amountOf: (of: Amount) => number
  #unspent: number
  #open: readonly PastPayment[] = []

  constructor(unspent: number, amountOf: (of: Amount) => number) {
    this.#unspent = unspent
    this.#amountOf = amountOf
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
function askedIn({ turns }: Trajectory): readonly Asked[] {
  return turns
    .flatMap(({ payments }, lap) => payments.map((payment, place): Asked => ({ lap, place, payment })))
    .toSorted((a, b) => a.payment.beganMs - b.payment.beganMs)
}

function nextOwn(asked: readonly Asked[], index: number): PastPayment | undefined {
  for (let next = index + 1; next < asked.length; next++) {
    const payment = asked[next]?.payment
    if (payment?.of === 'run') return payment
  }
  return undefined
}
