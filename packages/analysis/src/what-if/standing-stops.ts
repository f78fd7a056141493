import { budgetName, countsModel } from '@halting/core/adapters'
import { nanosOf, usdOf } from '@halting/core/steps'
import { cutPayment } from './budget-stops.ts'
import { PeriodAccount, type PeriodSpent } from './period-account.ts'
import type { LoggedRequest, RequestLog } from './request-log.ts'
import { localPeriod, type StandingLimit } from './standing-limits.ts'

/** Where a standing budget would stop a run. */
export interface StandingStop {
  readonly request: LoggedRequest
  /** Index of the budget. */
  readonly budget: number
  readonly usedUsd: number
  /** When its next period begins, in milliseconds since 1970. */
  readonly resetsAt: number
  /** The cap at which the reply was cut; null for a request that was not made. */
  readonly cutAt: number | null
  /** Requests of the run that would not have been made. */
  notMade: number
  /** Whether an earlier request of the run has no recorded bounds, so that the stop might be even earlier. */
  readonly isAtTheLatest: boolean
}

/** The effect of standing budgets on many runs. */
export interface StandingStops {
  /** Stops by number of the run. */
  readonly stops: ReadonlyMap<number, StandingStop>
  /** Results by budget, and then by period. */
  readonly periods: readonly PeriodSpent[]
}

/**
 * Replays the requests of all runs in chronological order against all budgets that count their model, as in a live run: the worst case is reserved,
 * and the actual cost is settled at the end. A request that fits after open reservations are returned is made unchanged. One that does not fit, or
 * whose reply would be cut, ends its run.
 */
export function standingStops(
  log: RequestLog,
  limits: readonly StandingLimit[],
  models: readonly string[],
): StandingStops {
  const budgets = limits.map((limit) => new Budget(limit, models))
  const stops = new Map<number, StandingStop>()
  const unsure = new Set<number>()
  for (const request of log.inOrder()) {
    const counted = budgets.flatMap((budget, index) => {
      const account = budget.counts(request) ? budget.accountAt(request.beganAt) : undefined
      return account === undefined ? [] : [{ index, account }]
    })
    for (const { account } of counted) account.recordedNanos += request.nanos
    const stop = stops.get(request.run)
    if (stop !== undefined) {
      stop.notMade++
      budgets[stop.budget]?.countNotMade(stop.resetsAt)
      continue
    }
    if (counted.length > 0 && !request.hasBounds) unsure.add(request.run)
    const end = admit(request, counted)
    if (end === undefined) continue
    stops.set(request.run, { ...end, isAtTheLatest: unsure.has(request.run) })
  }
  return { stops, periods: budgets.flatMap((budget) => budget.periods()) }
}

interface CountedAccount {
  readonly index: number
  readonly account: PeriodAccount
}

/** Charges a request to its budgets; undefined when it is made. */
function admit(
  request: LoggedRequest,
  counted: readonly CountedAccount[],
): Omit<StandingStop, 'isAtTheLatest'> | undefined {
  const { maxNanos, leastNanos, beganAt, endedAt, outputTokens, isAtWorst, nanos } = request
  for (const { account } of counted) account.settleUntil(beganAt)
  for (const { account } of counted) {
    if (account.leftNanos >= maxNanos) continue
    let waits = false
    while (account.leftNanos < maxNanos && account.settleNext()) waits = true
    if (waits) account.waited++
  }
  const [least] = counted.toSorted((a, b) => a.account.leftNanos - b.account.leftNanos)
  const left = least?.account.leftNanos ?? Infinity
  const make = (reservedNanos: number, charged: number): void => {
    for (const { account } of counted) account.reserve({ endedAt, reservedNanos, nanos: charged })
  }
  if (least === undefined || left >= maxNanos) {
    make(maxNanos, nanos)
    return undefined
  }
  const cutAt = left < leastNanos ? null : capAt(request, left)
  if (cutAt !== null && (isAtWorst || outputTokens <= cutAt)) {
    // A request that was charged at worst case would also have failed with a lower cap.
    make(left, Math.min(left, nanos))
    return undefined
  }
  const { account, index: budget } = least
  const usedUsd = usdOf(account.settledNanos)
  if (cutAt !== null) make(left, cutNanos(request, cutAt))
  account.ended++
  if (cutAt === null) account.notMade++
  return { request, budget, usedUsd, resetsAt: account.end, cutAt, notMade: cutAt === null ? 1 : 0 }
}

/** All tokens of a reply cost the same. */
function capAt({ usefulTokens, capTokens, leastNanos, maxNanos }: LoggedRequest, left: number): number {
  return usefulTokens + Math.floor(((left - leastNanos) * (capTokens - usefulTokens)) / (maxNanos - leastNanos))
}

function cutNanos(request: LoggedRequest, cutAt: number): number {
  const { nanos, outputTokens, isAtWorst, leastNanos, maxNanos, usefulTokens, capTokens } = request
  const [least, most] = [
    { nanos: leastNanos, tokens: 0 },
    { nanos: maxNanos, tokens: 0 },
  ]
  const bounds = { least, most, usefulTokens, capTokens }
  return cutPayment({ nanos, tokens: 0, outputTokens, isAtWorst, bounds }, cutAt).nanos
}

/** A standing budget, and its accounts by period. */
class Budget {
  readonly #limit: StandingLimit
  readonly #models: readonly boolean[]
  readonly #accounts: PeriodAccount[] = []

  constructor(limit: StandingLimit, models: readonly string[]) {
    this.#limit = limit
    this.#models = models.map((model) => countsModel(limit, model))
  }

  counts({ model }: LoggedRequest): boolean {
    return this.#models[model] === true
  }

  /** Requests arrive in chronological order. */
  accountAt(moment: number): PeriodAccount {
    const newest = this.#accounts.at(-1)
    if (newest !== undefined && moment < newest.end) return newest
    const { name, end } = localPeriod(this.#limit.per, moment)
    // When a clock is set back over midnight, a day begins twice.
    if (newest !== undefined && name <= newest.period) return newest
    const account = new PeriodAccount(name, end, nanosOf(this.#limit.usd))
    this.#accounts.push(account)
    return account
  }

  /** Counts a request that was not made because this budget had stopped its run, in the period that ends then. */
  countNotMade(end: number): void {
    const account = this.#accounts.findLast((each) => each.end === end)
    if (account !== undefined) account.notMade++
  }

  periods(): readonly PeriodSpent[] {
    return this.#accounts.map((account) => ({
      budget: budgetName(this.#limit),
      period: account.period,
      maxUsd: this.#limit.usd,
      recordedUsd: usdOf(account.recordedNanos),
      spentUsd: usdOf(account.chargedNanos),
      ended: account.ended,
      notMade: account.notMade,
      waited: account.waited,
    }))
  }
}
