// Tests R-FLEET-1, R-FLEET-2: a budget that several sessions share, with late, repeated and reordered calls.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  closeLease,
  newBudget,
  noLease,
  raiseLease,
  releaseLease,
  setBudgetLimit,
  type Lease,
  type SharedBudget,
} from '../../src/limits/shared-budget.ts'

type Call =
  | {
      readonly type: 'raise' | 'release' | 'close'
      readonly session: number
      readonly turn: number
      readonly nanos: number
    }
  | { readonly type: 'limit'; readonly nanos: number | null }

interface Fleet {
  readonly budget: SharedBudget
  readonly leases: readonly Lease[]
}

const sessions = 4
const empty: Fleet = { budget: newBudget, leases: Array.from({ length: sessions }, () => noLease) }

function called(fleet: Fleet, call: Call): Fleet {
  if (call.type === 'limit') return { ...fleet, budget: setBudgetLimit(fleet.budget, call.nanos) }
  const leased = { budget: fleet.budget, lease: fleet.leases[call.session]! }
  const spent = { nanos: call.nanos, unknownNanos: Math.floor(call.nanos / 3) }
  const { budget, lease } =
    call.type === 'raise'
      ? raiseLease(leased, call.turn, call.nanos)
      : call.type === 'close'
        ? closeLease(leased, spent)
        : releaseLease(leased, call.turn, spent)
  return { budget, leases: fleet.leases.with(call.session, lease) }
}

const amount = fc.nat({ max: 100 })
const onSession = { session: fc.nat({ max: sessions - 1 }), turn: fc.integer({ min: 1, max: 5 }), nanos: amount }
const raise = fc.record({ type: fc.constant('raise' as const), ...onSession })
const releaseCall = fc.record({ type: fc.constant('release' as const), ...onSession })
const closeCall = fc.record({ type: fc.constant('close' as const), ...onSession })
const limit = fc.record({ type: fc.constant('limit' as const), nanos: fc.option(amount) })
const sum = (leases: readonly Lease[]): number => leases.reduce((all, { nanos }) => all + nanos, 0)

test('the tenant has the sum of its leases, and counts the lease holders', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(raise, releaseCall, limit, closeCall)), (calls) => {
      const { budget, leases } = calls.reduce(called, empty)
      expect(budget.leasedNanos).toBe(sum(leases))
      expect(budget.spentNanos).toBe(leases.reduce((all, { spentNanos }) => all + spentNanos, 0))
      expect(budget.unknownNanos).toBe(leases.reduce((all, { unknownNanos }) => all + unknownNanos, 0))
      // Amounts that are not settled are leased to a session that may spend them.
      for (const { nanos, spentNanos, isHeld } of leases)
        expect(isHeld ? nanos : spentNanos).toBeGreaterThanOrEqual(isHeld ? spentNanos : nanos)
      expect(budget.holders).toBe(leases.filter(({ isHeld }) => isHeld).length)
    }),
  )
})

test('no raise takes the sum above the limit, and none takes from a session', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(raise, releaseCall, limit, closeCall)), raise, (calls, last) => {
      const before = calls.reduce(called, empty)
      const after = called(before, last)
      const { limitNanos } = before.budget
      expect(after.budget.leasedNanos).toBeLessThanOrEqual(Math.max(limitNanos ?? Infinity, before.budget.leasedNanos))
      expect(after.leases[last.session]!.nanos).toBeGreaterThanOrEqual(before.leases[last.session]!.nanos)
      expect(after.leases[last.session]!.nanos).toBeLessThanOrEqual(
        Math.max(last.nanos, before.leases[last.session]!.nanos),
      )
    }),
  )
})

test('sessions that spend only what they leased never pass the limit together', () => {
  // Each call as a session makes it: turns increase, the spent amount never decreases and is at most what was leased.
  const step = fc.record({
    session: onSession.session,
    wanted: amount,
    spends: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const work = fc.array(step, { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(fc.nat({ max: 200 }), work, (limitNanos, steps) => {
      const spent = Array.from({ length: sessions }, () => 0)
      let fleet = called(empty, { type: 'limit', nanos: limitNanos })
      for (const [index, { session, wanted, spends }] of steps.entries()) {
        const turn = index + 1
        fleet = called(fleet, { type: 'raise', session, turn, nanos: spent[session]! + wanted })
        const had = fleet.leases[session]!.nanos
        expect(had).toBeGreaterThanOrEqual(spent[session]!)
        spent[session] = spent[session]! + Math.floor((had - spent[session]!) * spends)
        expect(spent.reduce((all, nanos) => all + nanos, 0)).toBeLessThanOrEqual(limitNanos)
        if (index % 3 > 0) fleet = called(fleet, { type: 'release', session, turn, nanos: spent[session] })
        expect(fleet.budget.leasedNanos).toBeLessThanOrEqual(limitNanos)
      }
    }),
  )
})

test('a repeated call changes nothing', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(raise, releaseCall)),
      fc.oneof(raise, releaseCall, limit, closeCall),
      (calls, again) => {
        const unlimited = calls.reduce(called, empty)
        const once = called(unlimited, again)
        expect(called(once, again)).toEqual(once)
      },
    ),
  )
})

test('a late call, for a past turn or from before it, changes nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(raise, releaseCall)), fc.oneof(raise, releaseCall), amount, (calls, late, spent) => {
      const afterEnd = called(calls.reduce(called, empty), {
        type: 'raise',
        session: late.session,
        turn: 6,
        nanos: spent,
      })
      expect(called(afterEnd, late)).toEqual(afterEnd)
      const released = called(afterEnd, { type: 'release', session: late.session, turn: 6, nanos: spent })
      expect(called(released, { ...late, turn: 6 })).toEqual(released)
    }),
  )
})

test('a released amount is available to others', () => {
  const one = called(called(empty, { type: 'limit', nanos: 10 }), { type: 'raise', session: 0, turn: 1, nanos: 10 })
  const refused = called(one, { type: 'raise', session: 1, turn: 1, nanos: 5 })
  expect(refused.leases[1]!.nanos).toBe(0)
  const released = called(refused, { type: 'release', session: 0, turn: 1, nanos: 7 })
  expect(called(released, { type: 'raise', session: 1, turn: 1, nanos: 5 }).leases[1]!.nanos).toBe(3)
})

test('nothing is reserved after all have ended, and the tenant has what they spent', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(raise, releaseCall, limit)), fc.array(amount, { minLength: 4 }), (calls, spent) => {
      const before = calls.reduce(called, empty)
      const ends = before.leases.map(({ turn }, session) => ({
        type: 'release' as const,
        session,
        turn: turn + 1,
        nanos: spent[session]!,
      }))
      const { budget } = ends.reduce(called, before)
      expect({ reserved: budget.leasedNanos - budget.spentNanos, holders: budget.holders }).toEqual({
        reserved: 0,
        holders: 0,
      })
      expect(budget.spentNanos).toBe(spent.slice(0, 4).reduce((all, nanos) => all + nanos, 0))
    }),
  )
})

test('a session that is gone gets nothing more, whatever it still asks, and its spending remains', () => {
  const late = fc.array(fc.oneof(raise, releaseCall, closeCall))
  fc.assert(
    fc.property(fc.array(fc.oneof(raise, releaseCall, limit)), late, (calls, later) => {
      const closed = called(calls.reduce(called, empty), { type: 'close', session: 0, turn: 0, nanos: 7 })
      const after = later.map((call) => ({ ...call, session: 0 })).reduce(called, closed)
      expect(after).toEqual(closed)
    }),
  )
})
