import {
  closeLease,
  newBudget,
  noLease,
  raiseLease,
  releaseLease,
  type BudgetPer,
  type Lease,
  type Leased,
  type SharedBudget,
} from '@halting/core/adapters'
import type { ProcessIdentity } from '@halting/journal/files'

// The state of the ledger of standing budgets, and its transitions. Amounts are whole nano-dollars.

/** A period of a scope, such as `day` and `2026-11-29`. */
export interface PeriodPlace {
  readonly scope: string
  readonly period: string
}

/** An amount that a process has reserved for one request. */
export interface Reservation {
  readonly id: string
  readonly process: ProcessIdentity
  readonly session: string
  readonly model: string
  readonly repository: string
  readonly nanos: number
  readonly places: readonly PeriodPlace[]
  /** Time of the reservation, in milliseconds since 1970. */
  readonly since: number
}

/** A charge that was never reported, or that a user has corrected. */
export interface Correctable {
  readonly id: string
  readonly why: 'process ended' | 'not reported' | 'corrected'
  readonly session: string
  readonly model: string
  readonly repository: string
  readonly nanos: number
  readonly places: readonly PeriodPlace[]
  readonly since: number
}

/** A request that waits for amounts that others have reserved. */
export interface Waiter {
  readonly id: string
  readonly process: ProcessIdentity
  /** Scopes with too little left for the request. Later requests must not reserve from these scopes. */
  readonly scopes: readonly string[]
  readonly since: number
}

/** Periods of a scope by name, in order of time. */
export type Periods = Readonly<Record<string, SharedBudget>>

/** The whole state of the ledger. */
export interface LedgerState {
  readonly scopes: Readonly<Record<string, Periods>>
  readonly reservations: readonly Reservation[]
  readonly correctable: readonly Correctable[]
  readonly waiters: readonly Waiter[]
}

export const emptyLedger: LedgerState = Object.freeze({ scopes: {}, reservations: [], correctable: [], waiters: [] })

/** Beyond this number the oldest entry can no longer be corrected: it stays charged at its worst case. */
const maxCorrectable = 100
/** Beyond this number the oldest period is merged into the next one. */
const maxPeriods: Readonly<Record<BudgetPer, number>> = { day: 62, month: 24 }
/** Beyond this number the scope whose last period is oldest is removed. */
const maxScopes = 200

/** The length of the periods of a scope. */
export function periodLengthOf(scope: string): BudgetPer {
  return scope.startsWith('month') ? 'month' : 'day'
}

/**
 * Returns the total that counts against a period: all entries of that period or a later one. So neither a clock that
 * was set back nor a time zone further west reopens a period.
 */
export function totalSince(state: LedgerState, { scope, period }: PeriodPlace): SharedBudget {
  let sum = newBudget
  for (const [name, budget] of Object.entries(state.scopes[scope] ?? {})) {
    if (name < period) continue
    sum = {
      limitNanos: null,
      leasedNanos: sum.leasedNanos + budget.leasedNanos,
      spentNanos: sum.spentNanos + budget.spentNanos,
      unknownNanos: sum.unknownNanos + budget.unknownNanos,
      holders: sum.holders + budget.holders,
    }
  }
  return sum
}

/** Reserves the amount in all of its periods. The caller has verified that the amount fits. */
export function reserve(state: LedgerState, reservation: Reservation): LedgerState {
  const changed = changeLeases(state, reservation.places, noLease, (leased) => raiseLease(leased, 1, reservation.nanos))
  return { ...changed, reservations: [...state.reservations, reservation] }
}

/** The actual cost of a request. */
export interface Settlement {
  readonly id: string
  readonly nanos: number
  readonly isKnown: boolean
}

/**
 * Replaces a reservation with the actual cost. If the process was assumed dead, corrects the entry that replaced the
 * reservation. Otherwise changes nothing: the request was already settled, or is too old to be corrected.
 */
export function settle(state: LedgerState, { id, nanos, isKnown }: Settlement): LedgerState {
  const reservation = state.reservations.find((each) => each.id === id)
  if (reservation === undefined) return isKnown ? withoutCorrectable(correct(state, id, nanos), id) : state
  return settled(state, reservation, nanos, isKnown ? undefined : 'not reported')
}

function settled(
  state: LedgerState,
  reservation: Reservation,
  nanos: number,
  unknown: Correctable['why'] | undefined,
): LedgerState {
  const { process: _, ...entry } = reservation
  const spent = { nanos, unknownNanos: unknown === undefined ? 0 : nanos }
  const changed = changeLeases(state, reservation.places, heldLease(reservation.nanos), (leased) =>
    releaseLease(leased, 1, spent),
  )
  return {
    ...changed,
    reservations: state.reservations.filter((each) => each !== reservation),
    correctable:
      unknown === undefined
        ? state.correctable
        : [...state.correctable, { ...entry, nanos, why: unknown }].slice(-maxCorrectable),
  }
}

/** Sets the actual cost of a correctable entry. Returns the same state if there is no such entry. */
export function correct(state: LedgerState, id: string, nanos: number): LedgerState {
  const entry = state.correctable.find((each) => each.id === id)
  if (entry === undefined) return state
  const unknownNanos = entry.why === 'corrected' ? 0 : entry.nanos
  const lease: Lease = { nanos: entry.nanos, spentNanos: entry.nanos, unknownNanos, turn: 1, isHeld: false }
  const changed = changeLeases(state, entry.places, lease, (leased) =>
    // A later turn of the holder reports its total.
    closeLease(raiseLease(leased, 2, 0), { nanos, unknownNanos: 0 }),
  )
  const corrected: Correctable = { ...entry, nanos, why: 'corrected' }
  return { ...changed, correctable: state.correctable.map((each) => (each === entry ? corrected : each)) }
}

function withoutCorrectable(state: LedgerState, id: string): LedgerState {
  const correctable = state.correctable.filter((each) => each.id !== id)
  return correctable.length === state.correctable.length ? state : { ...state, correctable }
}

/** Sets the spending of a period that a wrong clock created, without its reservations. */
export function correctPeriod(state: LedgerState, { scope, period }: PeriodPlace, nanos: number): LedgerState {
  const budget = state.scopes[scope]?.[period]
  if (budget === undefined) return state
  const reserved = budget.leasedNanos - budget.spentNanos
  const corrected = { ...budget, leasedNanos: reserved + nanos, spentNanos: nanos, unknownNanos: 0 }
  // Once a period is corrected as a whole, its parts can no longer be corrected.
  const correctable = state.correctable.filter(
    ({ places }) => !places.some((each) => each.scope === scope && placeIn(state, each) === period),
  )
  return { ...withPeriod(state, scope, period, corrected), correctable }
}

/**
 * Charges reservations of dead processes at their worst case and removes their waiters. Returns the same state if all
 * are alive.
 */
export function settleDead(state: LedgerState, isDead: (entry: Reservation | Waiter) => boolean): LedgerState {
  let changed = state
  for (const reservation of state.reservations.filter(isDead))
    changed = settled(changed, reservation, reservation.nanos, 'process ended')
  const waiters = state.waiters.filter((waiter) => !isDead(waiter))
  return waiters.length === state.waiters.length ? changed : { ...changed, waiters }
}

/**
 * Returns the scopes that earlier waiting requests need. A process that cannot proceed retains its position without
 * blocking others.
 */
export function scopesOfEarlierWaiters(
  state: LedgerState,
  id: string,
  canTake: (waiter: Waiter) => boolean,
): ReadonlySet<string> {
  const at = state.waiters.findIndex((waiter) => waiter.id === id)
  const before = at === -1 ? state.waiters : state.waiters.slice(0, at)
  return new Set(before.filter(canTake).flatMap(({ scopes }) => scopes))
}

/** Adds scopes that a request waits for; a new waiter goes to the end of the queue. */
export function withWaiter(state: LedgerState, waiter: Waiter): LedgerState {
  const present = state.waiters.find(({ id }) => id === waiter.id)
  if (present === undefined) return { ...state, waiters: [...state.waiters, waiter] }
  const scopes = [...new Set([...present.scopes, ...waiter.scopes])]
  if (scopes.length === present.scopes.length) return state
  return { ...state, waiters: state.waiters.map((each) => (each === present ? { ...each, scopes } : each)) }
}

/** Removes a waiter. */
export function withoutWaiter(state: LedgerState, id: string): LedgerState {
  const waiters = state.waiters.filter((waiter) => waiter.id !== id)
  return waiters.length === state.waiters.length ? state : { ...state, waiters }
}

/** Whether the reserved amount of each period equals the sum of its reservations, as in every unedited ledger. */
export function areReservationsConsistent(state: LedgerState): boolean {
  const reserved = new Map<string, { nanos: number; holders: number }>()
  for (const { nanos, places } of state.reservations)
    for (const place of places) {
      const key = JSON.stringify([place.scope, placeIn(state, place)])
      const sum = reserved.get(key) ?? { nanos: 0, holders: 0 }
      reserved.set(key, { nanos: sum.nanos + nanos, holders: sum.holders + 1 })
    }
  let found = 0
  const isSum = Object.entries(state.scopes).every(([scope, periods]) =>
    Object.entries(periods).every(([period, { leasedNanos, spentNanos, holders }]) => {
      const sum = reserved.get(JSON.stringify([scope, period]))
      if (sum !== undefined) found += 1
      return leasedNanos - spentNanos === (sum?.nanos ?? 0) && holders === (sum?.holders ?? 0)
    }),
  )
  return isSum && found === reserved.size
}

function heldLease(nanos: number): Lease {
  return { nanos, spentNanos: 0, unknownNanos: 0, turn: 1, isHeld: true }
}

function changeLeases(
  state: LedgerState,
  places: readonly PeriodPlace[],
  lease: Lease,
  change: (leased: Leased) => Leased,
): LedgerState {
  let changed = state
  for (const place of places) {
    const period = lease === noLease ? place.period : placeIn(changed, place)
    const budget = changed.scopes[place.scope]?.[period]
    // The ledger has no data about a scope that was removed for lack of room.
    if (budget === undefined && lease !== noLease) continue
    changed = withPeriod(changed, place.scope, period, change({ budget: budget ?? newBudget, lease }).budget)
  }
  return changed
}

/**
 * Returns the period that now contains an amount: if the original period was merged into later ones, the first of
 * those.
 */
function placeIn(state: LedgerState, { scope, period }: PeriodPlace): string {
  const periods = state.scopes[scope]
  if (periods === undefined || periods[period] !== undefined) return period
  return Object.keys(periods).find((name) => name > period) ?? period
}

function withPeriod(state: LedgerState, scope: string, period: string, budget: SharedBudget): LedgerState {
  const present = state.scopes[scope] ?? {}
  // Keeps the position of an existing period.
  if (present[period] !== undefined)
    return { ...state, scopes: { ...state.scopes, [scope]: { ...present, [period]: budget } } }
  const named = Object.entries({ ...present, [period]: budget }).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const scopes = { ...state.scopes, [scope]: Object.fromEntries(folded(named, maxPeriods[periodLengthOf(scope)])) }
  return { ...state, scopes: withinBound(scopes, scope, state.reservations) }
}

/**
 * Merges the oldest periods into the next one if there are too many. Spending still counts for all earlier periods.
 */
function folded(
  named: readonly (readonly [string, SharedBudget])[],
  most: number,
): readonly (readonly [string, SharedBudget])[] {
  const [oldest, next, ...others] = named
  if (named.length <= most || oldest === undefined || next === undefined) return named
  const [, a] = oldest
  const [name, b] = next
  const sum: SharedBudget = {
    limitNanos: null,
    leasedNanos: a.leasedNanos + b.leasedNanos,
    spentNanos: a.spentNanos + b.spentNanos,
    unknownNanos: a.unknownNanos + b.unknownNanos,
    holders: a.holders + b.holders,
  }
  return folded([[name, sum], ...others], most)
}

function withinBound(
  scopes: Readonly<Record<string, Periods>>,
  own: string,
  reservations: readonly Reservation[],
): Readonly<Record<string, Periods>> {
  const names = Object.keys(scopes)
  if (names.length <= maxScopes) return scopes
  const inUse = new Set(reservations.flatMap(({ places }) => places.map(({ scope }) => scope)))
  const lastOf = (name: string): string => Object.keys(scopes[name] ?? {}).at(-1) ?? ''
  const oldest = names
    .filter((name) => name !== own && !inUse.has(name))
    .toSorted((one, other) => (lastOf(one) < lastOf(other) ? -1 : 1))[0]
  if (oldest === undefined) return scopes
  const { [oldest]: _, ...others } = scopes
  return others
}
