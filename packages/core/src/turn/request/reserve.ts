import { lapsLeft } from '../../allowance.ts'
import type { BudgetLease } from '../../budget/lease.ts'
import {
  nothing,
  plus,
  type Amount,
  type HeldBack,
  type Ledger,
  type Reservation,
  type Room,
} from '../../budget/ledger.ts'
import { nanosOf, usdOf, type NanoUsd } from '../../budget/prices.ts'
import type { Run } from '../run.ts'
import { unreservedWorst, worstByReply, worstCase } from './charge.ts'
import { currentModel, outputCap } from './current-model.ts'
import type { Grant, OverBudget, RequestBounds } from './grant.ts'
import { inputBoundOf, requestOverhead, type Asking } from './input-bound.ts'

/** What an attempt may cost, and what was taken aside for it. */
export interface Reserved {
  readonly grant: Grant | OverBudget
  readonly reservation: Reservation | undefined
}

/** The same under a lease: that is asked for more where it is what has no room (spec R-BUD-17). It is asked once more when others took what it gave. */
export async function reserveGrowing(
  run: Run,
  bounds: RequestBounds,
  lease: BudgetLease,
  signal: AbortSignal,
): Promise<Reserved> {
  for (let asks = 0; asks < mostAsks && !signal.aborted; asks++) {
    const missingNanos = missingOnLease(run, bounds)
    if (missingNanos <= 0) break
    const wantedUsd = usdOf(nanosOf(lease.usd) + missingNanos)
    await lease.growTo(wantedUsd, { signal })
    if (lease.usd < wantedUsd) break
  }
  return reserveRequest(run, bounds)
}

/** Agents beside each other may each find that another took what was there. */
const mostAsks = 20

/** What the lease has too little for all that the other limits let the request have. */
function missingOnLease(run: Run, bounds: RequestBounds): NanoUsd {
  const worst = worstByReply(run, bounds)
  const held = ledgersOf(run, bounds)
  const most = mostTokens(
    held.map((each) => roomOn(each, worst, besideLease)),
    usefulOf(run, bounds),
    bounds.cap,
  )
  if (most === undefined) return 0
  return Math.max(
    ...held.map((each) => {
      const { needed, available } = roomOn(each, worst)
      return needed(most).nanos - available.nanos
    }),
  )
}

/** Reserves the worst case of a request, lowering the reply's cap to what fits (spec R-BUD-2, R-BUD-3). */
export function reserveRequest(run: Run, bounds: RequestBounds): Reserved {
  const { ledger } = run.ports
  const { model, cap } = bounds
  const useful = usefulOf(run, bounds)
  if (!ledger.limited) {
    const worst = unreservedWorst(run, bounds)
    const range = { least: worst(useful), most: worst(cap) }
    return {
      grant: { granted: true, model: model.id, ...nothing, ...range, maxTokens: cap, lowered: null },
      reservation: undefined,
    }
  }
  const worst = worstByReply(run, bounds)
  const held = ledgersOf(run, bounds)
  const rooms = held.map((each) => roomOn(each, worst))
  const maxTokens = mostTokens(rooms, useful, cap)
  const ofLease = (): { readonly isOfLease?: true } => {
    if (run.context.settings.lease === null) return {}
    const beside = mostTokens(
      held.map((each) => roomOn(each, worst, besideLease)),
      useful,
      cap,
    )
    return (beside ?? 0) > (maxTokens ?? 0) ? { isOfLease: true } : {}
  }
  if (maxTokens === undefined) {
    const missing = rooms.findLast(({ lacks }) => lacks(useful) !== undefined)
    const amount = missing?.needed(useful) ?? nothing
    return {
      grant: { ...overBudget(amount, missing?.available ?? nothing), ...ofLease() },
      reservation: undefined,
    }
  }
  const amount = worst(maxTokens)
  const lowered = maxTokens === cap ? null : rooms.some(({ lacks }) => lacks(cap) === 'usd') ? 'usd' : 'tokens'
  const reservation = ledger.reserve(amount)
  // Prices that say something else every time they are asked: what is not reserved is not asked for.
  if (reservation === undefined) return { grant: overBudget(amount, ledger.available()), reservation }
  return {
    grant: {
      granted: true,
      model: model.id,
      ...amount,
      least: worst(useful),
      most: worst(cap),
      maxTokens,
      lowered,
      ...(lowered === 'usd' && ofLease()),
    },
    reservation,
  }
}

function usefulOf(run: Run, { cap }: RequestBounds): number {
  return Math.min(cap, run.context.settings.minUsefulTokens)
}

/** Where a request has to fit, and what has to be left there. */
function ledgersOf({ ports }: Run, bounds: RequestBounds): readonly HeldBack[] {
  return [{ ledger: ports.ledger, room: holdNothing }, ...bounds.heldBack()]
}

/** The longest reply that fits everywhere; undefined where not even a useful one does. */
function mostTokens(rooms: readonly RoomOn[], useful: number, cap: number): number | undefined {
  const fits = (output: number): boolean => rooms.every(({ lacks }) => lacks(output) === undefined)
  if (!fits(useful)) return undefined
  return fits(cap) ? cap : largest(useful, cap, fits)
}

/** @param needed With what has to be left for a last answer. */
function overBudget(needed: Amount, available: Amount): OverBudget {
  return needed.nanos > available.nanos
    ? { granted: false, currency: 'usd', needed: needed.nanos, available: available.nanos }
    : { granted: false, currency: 'tokens', needed: needed.tokens, available: available.tokens }
}

const holdNothing: Room = () => nothing

interface RoomOn {
  readonly available: Amount
  readonly needed: Room
  readonly lacks: (outputTokens: number) => 'usd' | 'tokens' | undefined
}

const besideLease = (ledger: Ledger): Amount => ledger.availableBesideLease()

/** What a request needs on a ledger with what has to be left there, and what the ledger has. */
function roomOn({ ledger, room }: HeldBack, worst: Room, has = (of: Ledger): Amount => of.available()): RoomOn {
  const available = has(ledger)
  const needed = (output: number): Amount => plus(worst(output), room(output))
  const lacks = (output: number): 'usd' | 'tokens' | undefined => {
    const { nanos, tokens } = needed(output)
    if (nanos > available.nanos) return 'usd'
    return tokens > available.tokens ? 'tokens' : undefined
  }
  return { available, needed, lacks }
}

/** The largest number of tokens that fits; `low` does, `high` does not. */
function largest(low: number, high: number, fits: (tokens: number) => boolean): number {
  let fitting = low
  let failing = high
  while (failing - fitting > 1) {
    const middle = Math.floor((fitting + failing) / 2)
    if (fits(middle)) fitting = middle
    else failing = middle
  }
  return fitting
}

/** What is held back from the budget for the last answer of `wrapUp`, of this run or of the parent whose ledger it draws on (spec R-BUD-4). */
export function heldBackBy(run: Run): readonly HeldBack[] {
  const room = heldForLastAnswer(run)
  if (room === undefined) return run.ports.heldBack?.() ?? []
  return [{ ledger: run.ports.ledger, room }]
}

/** The same with the next request of this run: for what is asked beside it. */
export function heldForNextRequest(run: Run): readonly HeldBack[] {
  const { ledger } = run.ports
  if (!ledger.limited) return []
  const model = currentModel(run)
  const next = worstCase(run, model, inputBoundOf(run, model), outputCap(run, model))
  const held = heldBackBy(run).map((each) => ({ ...each, room: (output: number) => plus(each.room(output), next) }))
  return [{ ledger, room: () => next }, ...held]
}

/** Undefined where this run asks for no last answer. */
export function heldForLastAnswer(run: Asking): Room | undefined {
  const { spent, context } = run
  const wantsLastAnswer =
    context.settings.wrapUp && spent.closing === null && lapsLeft('wrap_up', spent.laps, context.limits) > 0
  if (!wantsLastAnswer) return undefined
  const model = currentModel(run)
  const useful = Math.min(outputCap(run, model), context.settings.minUsefulTokens)
  // The input of the last answer is all that came before it, and the message that asks for it.
  const input = inputBoundOf(run, model) + requestOverhead
  return (outputTokens) => worstCase(run, model, input + outputTokens, useful)
}
