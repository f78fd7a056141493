import { iterationsLeft } from '../limits/transition-rules.ts'
import type { BudgetLease, LeaseShortage, LeaseWanted } from '../limits/lease.ts'
import {
  subtractAmounts,
  zeroAmount,
  addAmounts,
  type Amount,
  type Reserve,
  type Ledger,
  type Line,
  type Reservation,
  type Room,
} from '../limits/ledger.ts'
import { fieldsOf } from '../values/validators.ts'
import { sharedLimitOf, type SharedLimit } from '../limits/run-budget.ts'
import type { StandingReservation } from '../limits/standing-budgets.ts'
import { nanosOf, usdOf, type NanoUsd } from '../model/prices.ts'
import { waitUntilCutOff } from './question-timeout.ts'
import type { Run } from '../run/run.ts'
import { unreservedWorstCase, worstCaseByReply, worstCase } from './charge.ts'
import { currentModel, outputCap } from './current-model.ts'
import type { Grant, OverBudget, RequestBounds } from './grant.ts'
import { inputBoundOf, requestOverhead, type RequestBasis } from './input-bound.ts'

/** The grant of an attempt, and its reservation. */
export interface ReservedGrant {
  readonly kind: 'decided'
  readonly grant: Grant | OverBudget
  readonly reservation: Reservation | undefined
}

// Spec R-BUD-18.
/** The request would fit, or get a longer reply, if the reservations of others were returned. */
export interface Shortage {
  readonly kind: 'short'
  /** The cost of the full request. */
  readonly needed: Amount
  readonly shortOn: readonly Line[]
  /** What the limit that is too small has left, and what others have reserved of it. */
  readonly available: Amount
  readonly reservedBy: Amount & { readonly holders: number }
}

// Spec R-FUND-1.
/** The lease is too small, and other sessions may return their reservations. */
export interface LeaseShort extends LeaseWanted {
  readonly kind: 'lease_short'
  /** The maximum cost of the full request. */
  readonly needed: Amount
  readonly others: LeaseShortage
}

/** The outcome for a request that no longer waits for reservations to be returned: too little is left. */
export function refusedShortage({ needed, available }: Shortage): ReservedGrant {
  return { kind: 'decided', grant: overBudget(needed, available), reservation: undefined }
}

// Spec R-BUD-17.
/**
 * Reserves under a lease, and requests more from the lease if it is too small. If others reserved what it offered, the
 * request is repeated. Waits for the lease until an abort, or until the timeout of a question.
 * @param isWaitOver Whether
 * the request has reached the maximum wait in the budget's queue.
 */
export async function reserveGrowing(
  run: Run,
  bounds: RequestBounds & { readonly cutOff?: AbortSignal },
  lease: BudgetLease,
  { signal, isWaitOver }: { readonly signal: AbortSignal; readonly isWaitOver: boolean },
): Promise<ReservedGrant | Shortage | LeaseShort> {
  const { cutOff } = bounds
  const isOver = (): boolean => signal.aborted || cutOff?.aborted === true
  let others: LeaseShortage | undefined
  let wanted: LeaseWanted | undefined
  for (let asks = 0; asks < maxLeaseRequests && !isOver(); asks++) {
    wanted = wantedOfLease(run, bounds, lease)
    if (wanted === undefined) break
    const { usd, leastUsd } = wanted
    const how = { ...(bounds.isOptional !== true && { leastUsd }), ...(isWaitOver && asks === 0 && { isOver: true }) }
    const answer = await waitUntilCutOff(cutOff, signal, (leaseSignal) =>
      lease.growTo(usd, { signal: leaseSignal, ...how }),
    )
    others = isShortage(answer) ? answer : undefined
    if (lease.usd < usd) break
  }
  const reserved = reserveRequest(run, bounds)
  if (others === undefined || wanted === undefined || reserved.kind === 'short' || isOver()) return reserved
  return withOtherReservations(run, bounds, reserved, { wanted, others, canWait: lease.wait !== undefined })
}

/** JavaScript code may return anything. */
function isShortage(value: unknown): value is LeaseShortage {
  const { mayComeBack, reservedUsd, holders } = fieldsOf(value) ?? {}
  return typeof mayComeBack === 'boolean' && Number.isFinite(reservedUsd) && Number.isFinite(holders)
}

interface LeaseAnswer {
  readonly wanted: LeaseWanted
  readonly others: LeaseShortage
  readonly canWait: boolean
}

/** The result for a request that fits all limits except the lease: it waits, or its answer reports what others use. */
function withOtherReservations(
  run: Run,
  bounds: RequestBounds,
  reserved: ReservedGrant,
  { wanted, others, canWait }: LeaseAnswer,
): ReservedGrant | LeaseShort {
  const { grant, reservation } = reserved
  if (grant.isOfLease !== true) return reserved
  const ofLease = { reservedUsd: others.reservedUsd, holders: others.holders }
  if (!others.mayComeBack || !canWait || bounds.isOptional === true)
    return { ...reserved, grant: { ...grant, leaseOthers: ofLease } }
  if (reservation !== undefined) run.ports.ledger.settle(reservation, zeroAmount)
  return { kind: 'lease_short', needed: worstCaseByReply(run, bounds)(bounds.cap), ...wanted, others }
}

/** Parallel agents may repeatedly find that another agent has reserved what was available. */
const maxLeaseRequests = 20

/** The total that the request wants from the lease; undefined if the lease suffices for everything that the other limits allow. */
function wantedOfLease(run: Run, bounds: RequestBounds, lease: BudgetLease): LeaseWanted | undefined {
  const worst = worstCaseByReply(run, bounds)
  const reserves = ledgersOf(run, bounds)
  const longest = longestReply(
    reserves.map((each) => roomOn(each, worst, ignoringLease)),
    usefulReplyTokens(run, bounds),
    bounds.cap,
  )
  if (longest === undefined) return undefined
  const missing = (output: number): NanoUsd =>
    Math.max(
      ...reserves.map((each) => {
        const { needed, available } = roomOn(each, worst)
        return needed(output).nanos - available.nanos
      }),
    )
  const missingNanos = missing(longest)
  if (missingNanos <= 0) return undefined
  const hasNanos = nanosOf(lease.usd)
  const leastNanos = hasNanos + missing(Math.min(longest, usefulReplyTokens(run, bounds)))
  return { usd: usdOf(hasNanos + missingNanos), leastUsd: usdOf(Math.max(0, leastNanos)) }
}

// Spec R-BUD-2, R-BUD-3, R-BUD-18.
/**
 * Reserves the worst case of a request, and lowers the reply's cap to what fits. Reservations of others alone neither
 * lower the cap nor refuse the request: it waits for them to be returned, after the requests that already wait. No other
 * code reserves for a request.
 * @param ahead Lines that earlier requests wait for.
 */
export function reserveRequest(
  run: Run,
  bounds: RequestBounds,
  ahead: ReadonlySet<Line> = run.ports.ledger.queue.claimed,
): ReservedGrant | Shortage {
  const { ledger } = run.ports
  const { cap } = bounds
  const useful = usefulReplyTokens(run, bounds)
  if (!ledger.limited) return unlimitedGrant(run, bounds, useful)
  const worst = worstCaseByReply(run, bounds)
  const reserves = ledgersOf(run, bounds)
  const isBehind = ahead.size > 0 && reserves.some((each) => each.ledger.linesIn(ahead).length > 0)
  const now = isBehind
    ? undefined
    : longestReply(
        reserves.map((each) => roomOn(each, worst)),
        useful,
        cap,
      )
  if (now === cap) return granted(run, bounds, cap, worst)
  const afterwards = reserves.map((each) => roomOn(each, worst, ifAllReturned))
  const best = longestReply(afterwards, useful, cap)
  if (best === undefined) return refused(run, bounds, worst, afterwards)
  const shortageNow = shortage(reserves, worst, best, ahead)
  // If there is nothing to wait for, the difference comes from prices that are not stable.
  const canWait = bounds.isOptional !== true && (isBehind || shortageNow.reservedBy.holders > 0)
  if (canWait && now !== best) return shortageNow
  if (now !== undefined) return granted(run, bounds, now, worst)
  return refused(
    run,
    bounds,
    worst,
    reserves.map((each) => roomOn(each, worst)),
  )
}

function unlimitedGrant(run: Run, bounds: RequestBounds, useful: number): ReservedGrant {
  const { model, cap } = bounds
  const worst = unreservedWorstCase(run, bounds)
  const range = { least: worst(useful), most: worst(cap) }
  return {
    kind: 'decided',
    grant: {
      granted: true,
      model: model.id,
      ...zeroAmount,
      ...range,
      maxTokens: cap,
      lowered: null,
      ...ofWindow(bounds),
    },
    reservation: undefined,
  }
}

function granted(run: Run, bounds: RequestBounds, maxTokens: number, worst: Room): ReservedGrant {
  const { ledger } = run.ports
  const { model, cap } = bounds
  const amount = worst(maxTokens)
  const isWhole = maxTokens === cap
  const isShortOfUsd = (each: Reserve): boolean => roomOn(each, worst).shortIn(cap) === 'usd'
  const lowered = isWhole ? null : ledgersOf(run, bounds).some(isShortOfUsd) ? 'usd' : 'tokens'
  const ofLease = lowered === 'usd' ? isOfLease(run, bounds, worst, maxTokens) : undefined
  const reservation = ledger.reserve(amount)
  // The prices change with every call: without a reservation the request is not made.
  if (reservation === undefined)
    return { kind: 'decided', grant: overBudget(amount, ledger.available()), reservation: undefined }
  const ofShared =
    lowered === null ? undefined : sharedBudgetShortage(run, bounds, worst, { tokens: maxTokens, currency: lowered })
  const range = { least: worst(usefulReplyTokens(run, bounds)), most: worst(cap) }
  const grant: Grant = {
    granted: true,
    model: model.id,
    ...amount,
    ...range,
    maxTokens,
    lowered,
    ...ofLease,
    ...ofShared,
    ...(isWhole && ofWindow(bounds)),
  }
  return { kind: 'decided', grant, reservation }
}

/** The same reservation with the longest reply that the amount pays for. The reply is at least useful. */
export function loweredGrant(
  run: Run,
  bounds: RequestBounds,
  grant: Grant,
  { usd, short }: StandingReservation,
): Grant {
  const nanos = nanosOf(usd)
  const worst = worstCaseByReply(run, bounds)
  const useful = Math.min(grant.maxTokens, usefulReplyTokens(run, bounds))
  const maxTokens = largestFitting(useful, grant.maxTokens, (output) => worst(output).nanos <= nanos)
  const { isOfWindow: _, isOfLease: __, leaseOthers: ___, shared: ____, ...grantFields } = grant
  const standing = short && { name: short.name, resetsAt: short.resetsAt }
  return {
    ...grantFields,
    ...worst(maxTokens),
    maxTokens,
    lowered: 'usd',
    isOfStanding: true,
    ...(standing && { standing }),
  }
}

function ofWindow({ isOfWindow }: RequestBounds): Pick<Grant, 'isOfWindow'> {
  return isOfWindow === true ? { isOfWindow } : {}
}

function refused(run: Run, bounds: RequestBounds, worst: Room, rooms: readonly RoomOn[]): ReservedGrant {
  const useful = usefulReplyTokens(run, bounds)
  const missing = rooms.findLast(({ shortIn: lacks }) => lacks(useful) !== undefined)
  const amount = missing?.needed(useful) ?? zeroAmount
  const overBudgetGrant = overBudget(amount, missing?.available ?? zeroAmount)
  const currency = overBudgetGrant.currency === 'usd' ? 'nanos' : 'tokens'
  // Spending of others against the same limit is not in the figures of this run. The others are its parent, or agents that are still working.
  const isShared = run.identity.depth > 0 || (run.spent.openAgents ?? []).length > 0
  const sharedOf = !isShared ? undefined : { of: (missing?.ledger ?? run.ports.ledger).narrowest(currency) }
  const ofShared = sharedBudgetShortage(run, bounds, worst, { tokens: 0, currency: overBudgetGrant.currency })
  const grant = { ...overBudgetGrant, ...sharedOf, ...isOfLease(run, bounds, worst, 0), ...ofShared }
  return { kind: 'decided', grant, reservation: undefined }
}

function shortage(reserves: readonly Reserve[], worst: Room, tokens: number, ahead: ReadonlySet<Line>): Shortage {
  const shortLines = new Set(
    reserves.flatMap(({ ledger, room }) => ledger.linesShortOf(addAmounts(worst(tokens), room(tokens)))),
  )
  const waitedFor = [...shortLines, ...reserves.flatMap(({ ledger }) => ledger.linesIn(ahead))]
  const [longest] = waitedFor.toSorted(
    (a, b) => b.reserved.nanos - a.reserved.nanos || b.reserved.tokens - a.reserved.tokens,
  )
  const { limits, settled, reserved, holders } = longest ?? noLine
  return {
    kind: 'short',
    needed: worst(tokens),
    shortOn: [...shortLines],
    available: subtractAmounts(limits, addAmounts(settled, reserved)),
    reservedBy: { ...reserved, holders },
  }
}

const noLine = { limits: zeroAmount, settled: zeroAmount, reserved: zeroAmount, holders: 0 }

/** Whether only the lease is too small for more than this many tokens. */
function isOfLease(
  run: Run,
  bounds: RequestBounds,
  worst: Room,
  tokens: number,
): { readonly isOfLease?: true } | undefined {
  if (run.context.settings.lease === null) return undefined
  const rooms = ledgersOf(run, bounds).map((each) => roomOn(each, worst, ignoringLease))
  return (longestReply(rooms, usefulReplyTokens(run, bounds), bounds.cap) ?? 0) > tokens
    ? { isOfLease: true }
    : undefined
}

/** The budget shared by several runs, if only that is too small for more than this many tokens. */
function sharedBudgetShortage(
  run: Run,
  bounds: RequestBounds,
  worst: Room,
  { tokens, currency }: { readonly tokens: number; readonly currency: 'usd' | 'tokens' },
): { readonly shared: SharedLimit } | undefined {
  const { budget } = run.context.settings
  if (budget === null) return undefined
  const rooms = ledgersOf(run, bounds).map((each) => roomOn(each, worst, ignoringShared))
  const isShort = (longestReply(rooms, usefulReplyTokens(run, bounds), bounds.cap) ?? 0) > tokens
  return isShort ? { shared: sharedLimitOf(budget, currency) } : undefined
}

function usefulReplyTokens(run: Run, { cap }: RequestBounds): number {
  return Math.min(cap, run.context.settings.minUsefulTokens)
}

/** The ledgers on which a request must fit, and what must be left on each. */
function ledgersOf({ ports }: Run, bounds: RequestBounds): readonly Reserve[] {
  return [{ ledger: ports.ledger, room: reserveNothing }, ...bounds.reserves()]
}

/** The longest reply that fits on all ledgers; undefined if not even a useful one fits. */
function longestReply(rooms: readonly RoomOn[], useful: number, cap: number): number | undefined {
  const fits = (output: number): boolean => rooms.every(({ shortIn: lacks }) => lacks(output) === undefined)
  if (!fits(useful)) return undefined
  return fits(cap) ? cap : largestFitting(useful, cap, fits)
}

/** @param needed Includes the amount that must be left for a last answer. */
function overBudget(needed: Amount, available: Amount): OverBudget {
  return needed.nanos > available.nanos
    ? { granted: false, currency: 'usd', needed: needed.nanos, available: available.nanos }
    : { granted: false, currency: 'tokens', needed: needed.tokens, available: available.tokens }
}

const reserveNothing: Room = () => zeroAmount

interface RoomOn {
  readonly ledger: Ledger
  readonly available: Amount
  readonly needed: Room
  readonly shortIn: (outputTokens: number) => 'usd' | 'tokens' | undefined
}

const ignoringLease = (ledger: Ledger): Amount => ledger.availableIgnoringLease()
const ignoringShared = (ledger: Ledger): Amount => ledger.availableIgnoringShared()
const ifAllReturned = (ledger: Ledger): Amount => ledger.unspent()

/** What a request needs on a ledger, including what must be left there, and what the ledger has. */
function roomOn({ ledger, room }: Reserve, worst: Room, has = (of: Ledger): Amount => of.available()): RoomOn {
  const available = has(ledger)
  const needed = (output: number): Amount => addAmounts(worst(output), room(output))
  const lacks = (output: number): 'usd' | 'tokens' | undefined => {
    const { nanos, tokens } = needed(output)
    if (nanos > available.nanos) return 'usd'
    return tokens > available.tokens ? 'tokens' : undefined
  }
  return { ledger, available, needed, shortIn: lacks }
}

/** Binary search for the largest number of tokens that fits; `low` fits, `high` does not. */
function largestFitting(low: number, high: number, fits: (tokens: number) => boolean): number {
  let fitting = low
  let failing = high
  while (failing - fitting > 1) {
    const middle = Math.floor((fitting + failing) / 2)
    if (fits(middle)) fitting = middle
    else failing = middle
  }
  return fitting
}

// Spec R-BUD-4.
/** The amount that is reserved for the last answer of `wrapUp`: of this run, or of the parent whose ledger it uses. */
export function reservesOf(run: Run): readonly Reserve[] {
  const room = lastAnswerReserve(run)
  if (room === undefined) return run.ports.parentReserves?.() ?? []
  return [{ ledger: run.ports.ledger, room }]
}

/** Works like `reservesOf`, and adds the next request of this run. For side questions. */
export function reservesForNextRequest(run: Run): readonly Reserve[] {
  const { ledger } = run.ports
  if (!ledger.limited) return []
  const model = currentModel(run)
  const next = worstCase(run, model, inputBoundOf(run, model), outputCap(run, model))
  const reserves = reservesOf(run).map((each) => ({
    ...each,
    room: (output: number) => addAmounts(each.room(output), next),
  }))
  return [{ ledger, room: () => next }, ...reserves]
}

/** The reserve for the last answer; undefined if this run requests none. */
export function lastAnswerReserve(run: RequestBasis): Room | undefined {
  const { spent, context } = run
  const wantsLastAnswer =
    context.settings.wrapUp && spent.closing === null && iterationsLeft('wrap_up', spent.laps, context.limits) > 0
  if (!wantsLastAnswer) return undefined
  const model = currentModel(run)
  const useful = Math.min(outputCap(run, model), context.settings.minUsefulTokens)
  // The input of the last answer is the whole conversation plus the message that requests the answer.
  const input = inputBoundOf(run, model) + requestOverhead
  return (outputTokens) => worstCase(run, model, input + outputTokens, useful)
}
