// Holds rules of docs/spec: R-STAND-11, R-STAND-13, R-STAND-14, R-STAND-15: whatever comes in whatever order, also with clocks that jump.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { periodOf } from '../../src/budgets/calendar.ts'
import { ledgerText, readLedger } from '../../src/budgets/ledger-json.ts'
import {
  areReservationsConsistent,
  correct,
  correctPeriod,
  emptyLedger,
  reserve,
  settle,
  settleDead,
  totalSince,
  type LedgerState,
  type PeriodPlace,
  type Reservation,
} from '../../src/budgets/ledger-state.ts'

const nobody = { pid: 1, began: '', host: 'h' }

function reservation(id: string, nanos: number, places: readonly PeriodPlace[], pid = 1): Reservation {
  return { id, process: { ...nobody, pid }, session: 's', model: 'm', repository: '', nanos, places, since: 0 }
}

const dayAt = (day: number): PeriodPlace => ({ scope: 'day', period: periodOf('day', new Date(2026, 0, 1 + day)) })
const monthAt = (day: number): PeriodPlace => ({
  scope: 'month',
  period: periodOf('month', new Date(2026, 0, 1 + day)),
})

type Call =
  | { readonly type: 'reserve'; readonly day: number; readonly nanos: number; readonly pid: number }
  | { readonly type: 'settle'; readonly nth: number; readonly nanos: number; readonly isKnown: boolean }
  | { readonly type: 'die'; readonly pid: number }
  | { readonly type: 'correct'; readonly nth: number; readonly nanos: number }
  | { readonly type: 'reread' }

const amount = fc.integer({ min: 0, max: 1_000 })
const calls: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('reserve' as const),
      day: fc.integer({ min: 0, max: 400 }),
      nanos: amount,
      pid: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('settle' as const),
      nth: fc.nat(200),
      nanos: amount,
      isKnown: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('die' as const), pid: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('correct' as const), nth: fc.nat(200), nanos: amount }) },
  { weight: 1, arbitrary: fc.constant({ type: 'reread' as const }) },
)

/** What every reader of the ledger should find: each charge by its id, on the day when it was made. */
interface Model {
  readonly charges: Map<string, { readonly day: number; nanos: number; isOpen: boolean; readonly pid: number }>
}

function apply(state: LedgerState, call: Call, { charges }: Model): LedgerState {
  const idOf = (nth: number): string => [...charges.keys()][nth % Math.max(1, charges.size)] ?? ''
  switch (call.type) {
    case 'reserve': {
      const id = `r${charges.size}`
      charges.set(id, { day: call.day, nanos: call.nanos, isOpen: true, pid: call.pid })
      return reserve(state, reservation(id, call.nanos, [dayAt(call.day), monthAt(call.day)], call.pid))
    }
    case 'settle': {
      const charge = charges.get(idOf(call.nth))
      const isLate =
        charge?.isOpen === false && state.correctable.some(({ id }) => id === idOf(call.nth)) && call.isKnown
      if (charge !== undefined && (charge.isOpen || isLate)) {
        charge.nanos = call.nanos
        charge.isOpen = false
      }
      return settle(state, { id: idOf(call.nth), nanos: call.nanos, isKnown: call.isKnown })
    }
    case 'die': {
      for (const charge of charges.values()) if (charge.pid === call.pid) charge.isOpen = false
      return settleDead(state, ({ process }) => process.pid === call.pid)
    }
    case 'correct': {
      const entry = state.correctable[call.nth % Math.max(1, state.correctable.length)]
      const charge = entry === undefined ? undefined : charges.get(entry.id)
      if (charge !== undefined) charge.nanos = call.nanos
      return correct(state, entry?.id ?? '', call.nanos)
    }
    case 'reread': {
      const read = readLedger(ledgerText(state))
      if (read.kind !== 'ledger') throw new Error(JSON.stringify(read))
      if (ledgerText(state) !== `${JSON.stringify({ version: 1, ...state })}\n`) throw new Error('another text')
      return read.state
    }
  }
}

test('a period has at least everything charged in it and later ones, and exactly that while none is merged', () => {
  fc.assert(
    fc.property(fc.array(calls, { maxLength: 150 }), (drawn) => {
      const model: Model = { charges: new Map() }
      let state = emptyLedger
      for (const call of drawn) {
        state = apply(state, call, model)
        expect(areReservationsConsistent(state)).toBe(true)
        for (const place of [dayAt, monthAt])
          for (const day of [0, 30, 31, 200, 400]) {
            const { period } = place(day)
            const counting = [...model.charges.values()].filter((charge) => place(charge.day).period >= period)
            const charged = counting.reduce((sum, { nanos }) => sum + nanos, 0)
            const sum = totalSince(state, place(day))
            expect(sum.leasedNanos).toBeGreaterThanOrEqual(charged)
            const names = Object.keys(state.scopes[place(day).scope] ?? {})
            // For periods before the first remaining one, everything ever spent counts, since older ones may be merged
            // into that one.
            const isBeforeAll = names.length > 0 && period <= (names[0] ?? '')
            const all = [...model.charges.values()].reduce((total, { nanos }) => total + nanos, 0)
            expect(sum.leasedNanos).toBe(isBeforeAll ? all : charged)
          }
      }
      const open = [...model.charges.values()].filter(({ isOpen }) => isOpen)
      expect(state.reservations).toHaveLength(open.length)
      expect(state.correctable.length).toBeLessThanOrEqual(100)
    }),
    { numRuns: 60 },
  )
})

describe('a clock', () => {
  test('that is set back reopens no period', () => {
    let state = reserve(emptyLedger, reservation('a', 5, [dayAt(10)]))
    state = settle(state, { id: 'a', nanos: 5, isKnown: true })
    for (const day of [10, 9, 0]) expect(totalSince(state, dayAt(day)).spentNanos).toBe(5)
    expect(totalSince(state, dayAt(11)).spentNanos).toBe(0)
  })

  test('that jumps forward day by day for a year, and back, reopens no period', () => {
    let state = reserve(emptyLedger, reservation('today', 500, [dayAt(0)]))
    state = settle(state, { id: 'today', nanos: 500, isKnown: true })
    for (let day = 1; day < 366; day++) {
      state = reserve(state, reservation(`d${day}`, 1, [dayAt(day)]))
      state = settle(state, { id: `d${day}`, nanos: 1, isKnown: true })
    }
    expect(totalSince(state, dayAt(0)).spentNanos).toBe(865)
    expect(totalSince(state, dayAt(365)).spentNanos).toBe(1)
    expect(Object.keys(state.scopes['day'] ?? {})).toHaveLength(62)
  })

  test('that was wrong can be corrected in the period that it wrote', () => {
    let state = reserve(emptyLedger, reservation('a', 5, [dayAt(100)]))
    state = settle(state, { id: 'a', nanos: 5, isKnown: false })
    state = reserve(state, reservation('open', 2, [dayAt(100)]))
    state = correctPeriod(state, dayAt(100), 0)
    expect(totalSince(state, dayAt(0))).toMatchObject({ leasedNanos: 2, spentNanos: 0, unknownNanos: 0 })
    expect(state.correctable).toEqual([])
    expect(areReservationsConsistent(settle(state, { id: 'open', nanos: 1, isKnown: true }))).toBe(true)
  })
})

test('beyond the limit the oldest entry can no longer be corrected, and stays charged', () => {
  let state = emptyLedger
  for (let nth = 0; nth < 101; nth++) {
    state = reserve(state, reservation(`r${nth}`, 1, [dayAt(0)]))
    state = settle(state, { id: `r${nth}`, nanos: 1, isKnown: false })
  }
  expect(state.correctable.map(({ id }) => id)).not.toContain('r0')
  expect(totalSince(state, dayAt(0))).toMatchObject({ spentNanos: 101, unknownNanos: 101 })
  expect(settle(state, { id: 'r0', nanos: 0, isKnown: true })).toBe(state)
})

test('beyond the limit the scope written longest ago is removed, unless it has a request in flight', () => {
  let state = reserve(emptyLedger, reservation('open', 1, [{ scope: 'day model=0', period: '2026-01-01' }]))
  for (let nth = 1; nth < 205; nth++) {
    const place = { scope: `day model=${nth}`, period: '2026-02-01' }
    state = settle(reserve(state, reservation(`r${nth}`, 1, [place])), { id: `r${nth}`, nanos: 1, isKnown: false })
  }
  expect(Object.keys(state.scopes)).toHaveLength(200)
  expect(state.scopes).toHaveProperty('day model=0')
  // What was charged there can no longer be corrected.
  for (const { id } of state.correctable) state = correct(state, id, 0)
  expect(areReservationsConsistent(state)).toBe(true)
  expect(readLedger(ledgerText(state)).kind).toBe('ledger')
})
