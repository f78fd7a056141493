// Tests R-BUD-1, R-BUD-6, R-BUD-7.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HaltingError } from '../../src/index.ts'
import { Ledger, type Reservation } from '../../src/entries/steps.ts'
import { nanosOf, usdOf } from '../../src/model/prices.ts'

const amount = (nanos: number, tokens = nanos) => ({ nanos, tokens })
const zero = amount(0)

describe('a ledger', () => {
  test('reserves an amount, then settles what was really spent', () => {
    const ledger = Ledger.create({ nanos: 100, tokens: 1_000 })
    const reservation = ledger.reserve({ nanos: 60, tokens: 600 })!
    expect(ledger.figures()).toEqual({
      settled: zero,
      reserved: { nanos: 60, tokens: 600 },
      unknown: zero,
      available: { nanos: 40, tokens: 400 },
    })
    ledger.settle(reservation, { nanos: 10, tokens: 100 })
    expect(ledger.figures()).toEqual({
      settled: { nanos: 10, tokens: 100 },
      reserved: zero,
      unknown: zero,
      available: { nanos: 90, tokens: 900 },
    })
  })

  test('refuses what does not fit, in either currency, and changes nothing', () => {
    const ledger = Ledger.create({ nanos: 100, tokens: 1_000 })
    expect([ledger.reserve(amount(101, 1)), ledger.reserve(amount(1, 1_001))]).toEqual([undefined, undefined])
    expect(ledger.figures().reserved).toEqual(zero)
    expect(ledger.reserve(amount(100, 1_000))).toBeDefined()
    expect(ledger.reserve(amount(0, 1))).toBeUndefined()
  })

  test('settles a reservation once', () => {
    const ledger = Ledger.create({ nanos: 100 })
    const reservation = ledger.reserve(amount(50))!
    ledger.settle(reservation, amount(20))
    ledger.settle(reservation, amount(20))
    ledger.settle(reservation, { nanos: 0, tokens: 0 })
    expect(ledger.figures().settled).toEqual(amount(20))
    expect(ledger.figures().reserved).toEqual(zero)
  })

  test('does not settle a reservation of another ledger', () => {
    const [a, b] = [Ledger.create({ nanos: 100 }), Ledger.create({ nanos: 100 })]
    b.settle(a.reserve(amount(50))!, amount(50))
    expect([a.figures().reserved, b.figures().settled]).toEqual([amount(50), zero])
  })

  test('counts attempts whose cost was never reported', () => {
    const ledger = Ledger.create()
    ledger.settle(ledger.reserve(amount(7))!, amount(7), false)
    expect(ledger.figures()).toEqual({
      settled: amount(7),
      reserved: zero,
      unknown: amount(7),
      available: amount(Infinity),
    })
  })

  test('releases a reservation', () => {
    const ledger = Ledger.create({ nanos: 100 })
    ledger.settle(ledger.reserve(amount(50))!, { nanos: 0, tokens: 0 })
    expect(ledger.available().nanos).toBe(100)
  })

  test('restores what a record says was spent', () => {
    const ledger = Ledger.create({ nanos: 100 })
    ledger.restore(amount(60), amount(10))
    expect(ledger.figures()).toEqual({
      settled: amount(60),
      reserved: zero,
      unknown: amount(10),
      available: { nanos: 40, tokens: Infinity },
    })
    expect(ledger.reserve(amount(41))).toBeUndefined()
  })

  test.each([Number.NaN, -1, -Infinity])('rejects %d as an amount', (bad) => {
    for (const wrong of [amount(bad), amount(1, bad), amount(bad, 1)]) {
      const ledger = Ledger.create({ nanos: 100, tokens: 100 })
      const reservation = ledger.reserve(amount(40))!
      expect(() => ledger.reserve(wrong)).toThrow(HaltingError)
      expect(() => ledger.restore(wrong)).toThrow(HaltingError)
      expect(() => ledger.restore(amount(1), wrong)).toThrow(HaltingError)
      // A request was made: its cost is its reservation, since no better figure is known.
      ledger.settle(reservation, wrong)
      const worst = { settled: amount(40), reserved: zero, unknown: amount(40), available: amount(60) }
      expect(ledger.figures()).toEqual(worst)
    }
  })

  test('reports whether it limits anything', () => {
    expect(
      [
        Ledger.create(),
        Ledger.create({ tokens: 1 }),
        Ledger.create({ nanos: 1 }),
        Ledger.create().branch({ tokens: 1 }),
        Ledger.create({ nanos: 1 }).branch(),
      ].map(({ limited }) => limited),
    ).toEqual([false, true, true, true, true])
  })
})

describe('a branch', () => {
  test('draws on its parent, which sees it at once', () => {
    const parent = Ledger.create({ nanos: 100 })
    const child = parent.branch()
    const reservation = child.reserve(amount(60))!
    expect([parent.available().nanos, parent.reserve(amount(41))]).toEqual([40, undefined])
    child.settle(reservation, amount(50))
    expect([parent.figures().settled.nanos, child.figures().settled.nanos, child.available().nanos]).toEqual([
      50, 50, 50,
    ])
  })

  test('may have a narrower limit of its own, never a wider one', () => {
    const parent = Ledger.create({ nanos: 100 })
    expect([parent.branch({ nanos: 30 }).available().nanos, parent.branch({ nanos: 300 }).available().nanos]).toEqual([
      30, 100,
    ])
  })

  test('has figures of its own', () => {
    const parent = Ledger.create({ nanos: 100 })
    const [a, b] = [parent.branch(), parent.branch()]
    a.settle(a.reserve(amount(10))!, amount(10))
    expect([a.figures().settled.nanos, b.figures().settled.nanos, b.available().nanos]).toEqual([10, 0, 90])
  })
})

test('never exceeds a limit and never goes below zero, in any tree and any order', () => {
  const action = fc.record({
    kind: fc.constantFrom('reserve', 'settle', 'branch'),
    which: fc.nat(),
    nanos: fc.nat(60),
    tokens: fc.nat(60),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), fc.array(action, { maxLength: 80 }), (nanos, tokens, actions) => {
      const limits = [{ nanos, tokens }]
      const ledgers = [Ledger.create({ nanos, tokens })]
      const open: [number, Reservation][] = []
      for (const { kind, which, share, ...spent } of actions) {
        const index = which % ledgers.length
        const ledger = ledgers[index]!
        if (kind === 'branch') {
          ledgers.push(ledger.branch(spent))
          limits.push(spent)
        } else if (kind === 'reserve') {
          const reservation = ledger.reserve(spent)
          if (reservation !== undefined) open.push([index, reservation])
        } else if (open.length > 0) {
          const [[owner, reservation]] = open.splice(which % open.length, 1) as [[number, Reservation]]
          ledgers[owner]!.settle(reservation, {
            nanos: Math.floor(reservation.amount.nanos * share),
            tokens: Math.floor(reservation.amount.tokens * share),
          })
        }
        for (const [place, each] of ledgers.entries()) {
          const { settled, reserved, available } = each.figures()
          for (const currency of ['nanos', 'tokens'] as const) {
            expect(settled[currency] + reserved[currency]).toBeLessThanOrEqual(limits[place]![currency])
            expect(Math.min(settled[currency], reserved[currency], available[currency])).toBeGreaterThanOrEqual(0)
          }
        }
      }
    }),
  )
})

describe('money', () => {
  test('is counted in whole nano-dollars, without rounding errors and never too low', () => {
    // The smallest real price: a millionth of a dollar for a million tokens.
    expect([nanosOf(0.018192500001), nanosOf(12.000000000001)]).toEqual([18_192_501, 12_000_000_001])
    expect([nanosOf(0.1 + 0.2), nanosOf(1e-9), nanosOf(1.5e-9), nanosOf(0), usdOf(300_000_000)]).toEqual([
      300_000_000, 1, 2, 0, 0.3,
    ])
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (nanos) => {
        expect(nanosOf(usdOf(nanos))).toBe(nanos)
      }),
    )
  })
})
