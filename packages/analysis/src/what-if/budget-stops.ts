import { nanosOf, usdOf } from '@halting/core/steps'
import { stricter, type OtherLimits, type Divergence, type Shortened, type Stop } from './other-limits.ts'
import type { PastPayment, PastTurn, Trajectory } from './trajectory.ts'

type Amount = Pick<PastPayment, 'nanos' | 'tokens'>

/** A request of a run, with its position. */
interface RunRequest {
  readonly lap: number
  /** Index among the payments of its iteration. */
  readonly place: number
  readonly payment: PastPayment
}

/** One budget of a run in one currency, and its state during the replay. */
interface LimitedBudget {
  readonly limit: 'maxBudgetUsd' | 'maxRunUsd' | 'maxTotalTokens'
  readonly max: number
  readonly budget: Budget
  readonly amountOf: (of: Amount) => number
  /** The whole budget, in the units of `amountOf`. */
  readonly whole: number
}

/**
 * Where budgets would stop a run. A request is made unchanged when its reply fits into the remaining budget. If a request of the run itself does not
 * fit, it is refused or its reply is cut, and either ends the run. Requests of subagents, compactions, tools and hooks would also be refused or cut,
 * but the effect on the run is not recorded. Without recorded bounds, only requests that cost too much are detected. Dollars and tokens are checked
 * together, as in the loop: a reply is cut at the lower of both caps, and dollars are reported as the cause whenever they lower it.
 */
export function stopByBudgets(trajectory: Trajectory, limits: OtherLimits): BudgetStop {
  const limited = limitedBudgets(trajectory, limits)
  const requests = limited.length === 0 ? [] : requestsByStart(trajectory)
  const shortened = new Map<PastPayment, PastPayment>()
  let mayStopAt: number | undefined
  const found = (at: Stop | Divergence | undefined): BudgetStop => ({
    at,
    turns: withPayments(trajectory.turns, shortened),
  })
  for (const [index, { lap, place, payment }] of requests.entries()) {
    const next = nextRequestOfRun(requests, index)
    const fits = limited.map((each) => fitOf(payment, each, next))
    let paid = payment
    if (!fits.every(({ isWhole }) => isWhole)) {
      if (payment.of !== 'run' || limited.some(({ budget }) => budget.isShared))
        return found({ kind: 'divergence', why: 'beside', lap, atMs: payment.beganMs })
      // An amount that was charged at worst case is not what the service sent.
      const isUnsure = payment.isAtWorst && index === requests.length - 1
      const isFailed = payment.isAtWorst && !isUnsure && fits.every(({ cap }) => typeof cap === 'number')
      if (isFailed) {
        // With a lower cap the request would also have failed, and cost less.
        paid = { ...payment, ...cutPayment(payment, lowestCap(fits)) }
        shortened.set(payment, paid)
      } else {
        const sure = isUnsure ? [] : fits.filter(({ cap }) => cap !== 'unknown')
        const end = endBy(sure, payment) ?? endBy(fits.filter(exceedsBudget(payment)), payment)
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
    for (const { budget } of limited) budget.addRequest(paid)
  }
  return found(mayStopAt === undefined ? undefined : { kind: 'divergence', why: 'reserved', lap: mayStopAt, atMs: 0 })
}

/** Where budgets stop a run, and its turns with adjusted payments. */
export interface BudgetStop {
  readonly at: Stop | Divergence | undefined
  readonly turns: readonly PastTurn[]
}

function withPayments(turns: readonly PastTurn[], others: ReadonlyMap<PastPayment, PastPayment>): readonly PastTurn[] {
  if (others.size === 0) return turns
  return turns.map((turn) => ({ ...turn, payments: turn.payments.map((payment) => others.get(payment) ?? payment) }))
}

function stopAt({ fit, paid }: BudgetEnd, { lap, place, payment }: RunRequest): Stop {
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
 * Whether this is the run's own request with calls in its reply: the loop checks the budget before it runs them. A truncated reply is recovered
 * first, and has no calls. The last turn is excluded, because a limit equal to the total use is not tighter.
 */
function isAnswered({ lap, place, payment }: RunRequest, { turns }: Trajectory): boolean {
  const turn = turns[lap]
  if (turn === undefined || payment.of !== 'run' || payment.isAtWorst || payment.bounds === null) return false
  const isLast = turn.payments.findLastIndex(({ of }) => of === 'run') === place
  return isLast && turn.calls.length > 0 && lap < turns.length - 1
}

/** The run ends when its dollars are used up, or when it has used more tokens than allowed. */
function isUsedUpBy(payment: PastPayment): (of: LimitedBudget) => boolean {
  return ({ limit, budget, amountOf }) => {
    const left = budget.unspent - amountOf(payment)
    return isDollars(limit) ? left <= 0 : left < 0
  }
}

function isDollars(limit: LimitedBudget['limit']): boolean {
  return limit !== 'maxTotalTokens'
}

/** The budgets in the order in which the loop checks them: dollars first, and of two dollar limits the one with less left. */
function limitedBudgets({ limits, carried }: Trajectory, others: OtherLimits): readonly LimitedBudget[] {
  const usd = stricter(others.maxBudgetUsd, limits.maxBudgetUsd)
  const runUsd = stricter(others.maxRunUsd, limits.maxRunUsd)
  const tokens = stricter(others.maxTotalTokens, limits.maxTotalTokens)
  const nanosOfBoth = ({ nanos }: Amount): number => nanos
  const tokensOfBoth = ({ tokens: count }: Amount): number => count
  const dollars = [
    ...(usd === undefined
      ? []
      : [
          limitedBudget('maxBudgetUsd', usd, nanosOf(usd), nanosOf(limits.spentBeforeUsd) + carried.nanos, nanosOfBoth),
        ]),
    ...(runUsd === undefined ? [] : [limitedBudget('maxRunUsd', runUsd, nanosOf(runUsd), carried.nanos, nanosOfBoth)]),
  ]
  return [
    ...dollars.toSorted((a, b) => a.budget.unspent - b.budget.unspent),
    ...(tokens === undefined ? [] : [limitedBudget('maxTotalTokens', tokens, tokens, carried.tokens, tokensOfBoth)]),
  ]
}

function limitedBudget(
  limit: LimitedBudget['limit'],
  max: number,
  whole: number,
  before: number,
  amountOf: LimitedBudget['amountOf'],
): LimitedBudget {
  return { limit, max, whole, amountOf, budget: new Budget(whole - before, amountOf) }
}

/** Whether a request fits into what is left of one budget. */
interface BudgetFit {
  readonly of: LimitedBudget
  readonly left: number
  /** The number of tokens at which its reply is cut; the whole cap when it is not cut. */
  readonly cap: number | 'refused' | 'unknown'
  /** Whether the budget lowers the cap that the request had. */
  readonly isLowered: boolean
  /** Whether the reply fits into the cap. */
  readonly isWhole: boolean
}

function fitOf(payment: PastPayment, of: LimitedBudget, next: PastPayment | undefined): BudgetFit {
  const { budget, amountOf } = of
  const left = budget.leftAt(payment.beganMs)
  const cap = capOf(payment, left - budget.roomAfter(payment, next), amountOf)
  const isLowered = typeof cap === 'number' && cap < (payment.bounds?.capTokens ?? 0)
  // The worst case was charged for the cap that the request had.
  const fits = payment.isAtWorst && isLowered ? amountOf(payment) <= left : payment.outputTokens <= Number(cap)
  return { of, left, cap, isLowered, isWhole: typeof cap === 'number' && (!isLowered || fits) }
}

function capOf({ bounds }: PastPayment, left: number, amountOf: (of: Amount) => number): BudgetFit['cap'] {
  if (bounds === null || Number.isNaN(left)) return 'unknown'
  const [least, most] = [amountOf(bounds.least), amountOf(bounds.most)]
  const { usefulTokens, capTokens } = bounds
  if (left >= most) return capTokens
  if (left < least) return 'refused'
  return usefulTokens + Math.floor(((left - least) * (capTokens - usefulTokens)) / (most - least))
}

function exceedsBudget(payment: PastPayment): (fit: BudgetFit) => boolean {
  return ({ of, left, isWhole }) => !isWhole && of.amountOf(payment) > left
}

/** The budget that ends the run at a request, and what is paid for the request: null when it is not made. */
interface BudgetEnd {
  readonly fit: Pick<BudgetFit, 'of' | 'left'>
  readonly paid: Shortened | null
}

/** Undefined when the request is made unchanged. */
function endBy(fits: readonly BudgetFit[], payment: PastPayment): BudgetEnd | undefined {
  if (fits.every(({ isWhole }) => isWhole)) return undefined
  const refused = fits.find(({ cap }) => cap === 'refused')
  if (refused !== undefined) return { fit: refused, paid: null }
  const unknown = fits.find(({ cap }) => cap === 'unknown')
  if (unknown !== undefined) return { fit: unknown, paid: atMost(payment, unknown) }
  const fit = fits.find(({ isLowered }) => isLowered)
  return fit === undefined ? undefined : { fit, paid: cutPayment(payment, lowestCap(fits)) }
}

function lowestCap(fits: readonly BudgetFit[]): number {
  return Math.min(...fits.map(({ cap }) => Number(cap)))
}

/** A request without recorded bounds costs at most what was left. */
function atMost({ tokens, nanos }: PastPayment, { of, left }: BudgetFit): Shortened {
  const max = Math.max(0, left)
  return isDollars(of.limit) ? { tokens, nanos: Math.min(max, nanos) } : { tokens: Math.min(max, tokens), nanos }
}

type CutPayment = Pick<PastPayment, 'tokens' | 'nanos' | 'outputTokens' | 'isAtWorst' | 'bounds'>

/** The cost of a request whose reply is cut at this number of tokens. */
export function cutPayment({ tokens, nanos, outputTokens, isAtWorst, bounds }: CutPayment, cutAt: number): Shortened {
  if (bounds === null) return { tokens, nanos }
  const { least, most, usefulTokens, capTokens } = bounds
  const nanosEach = capTokens === usefulTokens ? 0 : (most.nanos - least.nanos) / (capTokens - usefulTokens)
  const more = cutAt - usefulTokens
  if (isAtWorst) return { tokens: least.tokens + more, nanos: Math.ceil(least.nanos + more * nanosEach) }
  const less = outputTokens - cutAt
  return { tokens: tokens - less, nanos: Math.ceil(nanos - less * nanosEach) }
}

/** The rest of a budget while requests begin and end. NaN when the record lacks the bounds of an open request. */
class Budget {
  readonly #amountOf: (of: Amount) => number
  #unspent: number
  #open: readonly PastPayment[] = []

  constructor(unspent: number, amountOf: (of: Amount) => number) {
    this.#unspent = unspent
    this.#amountOf = amountOf
  }

  /** The rest without the reservations of open requests. */
  get unspent(): number {
    return this.#unspent
  }

  /** Whether an open request belongs to someone other than the run. */
  get isShared(): boolean {
    return this.#open.some((payment) => payment.of !== 'run')
  }

  /** The rest at this moment, minus reservations of open requests. */
  leftAt(ms: number): number {
    const isOver = ({ endMs }: PastPayment): boolean => endMs <= ms
    for (const payment of this.#open) if (isOver(payment)) this.#unspent -= this.#amountOf(payment)
    this.#open = this.#open.filter((payment) => !isOver(payment))
    return this.#open.reduce((left, payment) => left - this.#maxOf(payment), this.#unspent)
  }

  /** What must be left after a request: a request in parallel to the run leaves room for the run's next request. */
  roomAfter(payment: PastPayment, next: PastPayment | undefined): number {
    return payment.of === 'beside' && next !== undefined ? this.#maxOf(next) : 0
  }

  addRequest(payment: PastPayment): void {
    this.#open = [...this.#open, payment]
  }

  #maxOf({ bounds }: PastPayment): number {
    return bounds === null ? NaN : this.#amountOf(bounds.most)
  }
}

/** The requests in the order in which they began. */
function requestsByStart({ turns }: Trajectory): readonly RunRequest[] {
  return turns
    .flatMap(({ payments }, lap) => payments.map((payment, place): RunRequest => ({ lap, place, payment })))
    .toSorted((a, b) => a.payment.beganMs - b.payment.beganMs)
}

function nextRequestOfRun(asked: readonly RunRequest[], index: number): PastPayment | undefined {
  for (let next = index + 1; next < asked.length; next++) {
    const payment = asked[next]?.payment
    if (payment?.of === 'run') return payment
  }
  return undefined
}

/**
 * The smallest budget, in nano-dollars or tokens, that would neither have stopped the run nor cut a reply. It is the maximum, over all requests, of
 * what was spent before plus what the request reserves. A request without recorded bounds counts with its cost.
 */
export function leastBudget(trajectory: Trajectory, currency: 'nanos' | 'tokens'): number {
  const amountOf = (of: Pick<PastPayment, 'nanos' | 'tokens'>): number => of[currency]
  // The budget starts at zero, so its rest is the negative of what is spent and reserved.
  const budget = new Budget(-trajectory.carried[currency], amountOf)
  const requests = requestsByStart(trajectory)
  let least = trajectory.carried[currency]
  for (const [index, each] of requests.entries()) {
    const { payment } = each
    const before = -budget.leftAt(payment.beganMs)
    const room = budget.roomAfter(payment, nextRequestOfRun(requests, index))
    // Before it runs calls, the loop ends a run whose dollars are used up completely.
    const more = currency === 'nanos' && isAnswered(each, trajectory) ? 1 : 0
    const spent = -budget.unspent + amountOf(payment) + more
    const reserved = before + Math.max(amountOf(payment), neededFor(payment, amountOf) + room)
    // Open requests without recorded bounds are ignored.
    least = Math.max(least, spent, Number.isNaN(reserved) ? 0 : reserved)
    budget.addRequest(payment)
  }
  return least
}

/** The rest that is needed so that the reply is not cut. */
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
