import { lapsLeft } from '../../allowance.ts'
import { nothing, plus, type Amount, type HeldBack, type Reservation, type Room } from '../../budget/ledger.ts'
import type { Run } from '../run.ts'
import { worstCase } from './charge.ts'
import { currentModel, outputCap } from './current-model.ts'
import type { Grant, OverBudget, RequestBounds } from './grant.ts'
import { inputBoundOf, requestOverhead, type Asking } from './input-bound.ts'

/** Reserves the worst case of a request, lowering the reply's cap to what fits (spec R-BUD-2, R-BUD-3). */
export function reserveRequest(
  run: Run,
  bounds: RequestBounds,
): { readonly grant: Grant | OverBudget; readonly reservation: Reservation | undefined } {
  const { ledger } = run.ports
  const { model, cap } = bounds
  const free: Grant = { granted: true, model: model.id, nanos: 0, tokens: 0, maxTokens: cap, lowered: null }
  if (!ledger.limited) return { grant: free, reservation: undefined }
  const input = bounds.inputBound(model)
  const useful = Math.min(cap, run.context.settings.minUsefulTokens)
  const worst = (output: number): Amount => worstCase(run, model, input, output)
  const rooms = [{ ledger, room: holdNothing }, ...bounds.heldBack()].map((held) => roomOn(held, worst))
  const fits = (output: number): boolean => rooms.every(({ lacks }) => lacks(output) === undefined)
  const missing = rooms.findLast(({ lacks }) => lacks(useful) !== undefined)
  if (missing !== undefined)
    return { grant: overBudget(missing.needed(useful), missing.available), reservation: undefined }
  const maxTokens = fits(cap) ? cap : largest(useful, cap, fits)
  const amount = worst(maxTokens)
  const lowered = maxTokens === cap ? null : rooms.some(({ lacks }) => lacks(cap) === 'usd') ? 'usd' : 'tokens'
  const reservation = ledger.reserve(amount)
  // Prices that say something else every time they are asked: what is not reserved is not asked for.
  if (reservation === undefined) return { grant: overBudget(amount, ledger.available()), reservation }
  return {
    grant: { granted: true, model: model.id, ...amount, maxTokens, lowered },
    reservation,
  }
}

/** @param needed With what has to be left for a last answer. */
function overBudget(needed: Amount, available: Amount): OverBudget {
  return needed.nanos > available.nanos
    ? { granted: false, currency: 'usd', needed: needed.nanos, available: available.nanos }
    : { granted: false, currency: 'tokens', needed: needed.tokens, available: available.tokens }
}

const holdNothing: Room = () => nothing

/** What a request needs on a ledger with what has to be left there, and what the ledger has. */
function roomOn({ ledger, room }: HeldBack, worst: Room) {
  const available = ledger.available()
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
