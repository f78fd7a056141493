// Holds rules of docs/spec: R-FLEET-4, R-FLEET-5: admission to a model, with calls that are repeated, late, and from clocks that differ.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  enter,
  leave,
  setLimits,
  newGate,
  advance,
  renew,
  tick,
  type Gate,
  type GateLimits,
  type GateChange,
} from '../../src/fleet/gate.ts'

type Call =
  | {
      readonly type: 'enter' | 'leave' | 'renew'
      readonly session: number
      readonly request: number
      readonly tokens: number
    }
  | { readonly type: 'time' | 'tick' }

interface GateCall {
  readonly ms: number
  readonly call: Call
}

const ticketOf = ({ session, request }: { readonly session: number; readonly request: number }): string =>
  `${session}.${request}`

function called(gate: Gate, { ms, call }: GateCall): GateChange {
  switch (call.type) {
    case 'enter': {
      const ticket = ticketOf(call)
      return enter(gate, ms, { ticket, session: String(call.session), tokens: call.tokens, awakeable: `a${ticket}` })
    }
    case 'leave':
      return leave(gate, ms, ticketOf(call))
    case 'renew':
      return renew(gate, ms, [ticketOf(call)])
    case 'time':
      return advance(gate, ms)
    case 'tick':
      return tick(gate, ms)
  }
}

const perMinute = 30
const limits: fc.Arbitrary<GateLimits> = fc.record({
  requests: fc.option(fc.integer({ min: 1, max: 4 })),
  requestsPerMinute: fc.option(fc.constant(perMinute)),
  tokensPerMinute: fc.option(fc.constant(1000)),
})
const call: fc.Arbitrary<Call> = fc.record({
  type: fc.constantFrom('enter', 'enter', 'enter', 'leave', 'renew', 'time', 'tick'),
  session: fc.nat({ max: 4 }),
  request: fc.nat({ max: 8 }),
  tokens: fc.nat({ max: 900 }),
})
/** Clocks of workers differ by some seconds. */
const calls: fc.Arbitrary<readonly GateCall[]> = fc
  .array(fc.record({ call, after: fc.nat({ max: 6_000 }), off: fc.integer({ min: -3_000, max: 3_000 }) }), {
    maxLength: 80,
  })
  .map((all) => {
    let ms = 100_000
    return all.map(({ call, after, off }) => ({ call, ms: (ms += after) + off }))
  })
const atGate = (limits: GateLimits): Gate => setLimits(newGate, 100_000, limits).gate

interface Admission {
  readonly ticket: string
  readonly tokens: number
  readonly ms: number
}

/** All admissions, in order. */
function admissionsOf(limits: GateLimits, all: readonly GateCall[], look?: (gate: Gate, change: GateChange) => void) {
  let gate = atGate(limits)
  const admissions: Admission[] = []
  for (const call of all) {
    const change = called(gate, call)
    look?.(gate, change)
    for (const { ticket, tokens } of change.admitted) admissions.push({ ticket, tokens, ms: change.gate.nowMs })
    gate = change.gate
  }
  return { gate, admissions }
}

test('the limit of requests inside holds, and a known ticket is admitted once', () => {
  fc.assert(
    fc.property(limits, calls, (limits, all) => {
      admissionsOf(limits, all, (_, { gate }) => {
        expect(gate.inside.length).toBeLessThanOrEqual(limits.requests ?? Infinity)
        const tickets = [...gate.inside, ...gate.waiting].map(({ ticket }) => ticket)
        expect(new Set(tickets).size).toBe(tickets.length)
        expect([...gate.order].toSorted()).toEqual([...new Set(gate.waiting.map(({ session }) => session))].toSorted())
      })
    }),
  )
})

test('within any time, no more are admitted than the buckets hold and refill', () => {
  fc.assert(
    fc.property(limits, calls, (limits, all) => {
      const { admissions } = admissionsOf(limits, all)
      for (const [first, { ms: from }] of admissions.entries()) {
        let tokens = 0
        for (const [later, { ms, tokens: each }] of admissions.slice(first).entries()) {
          tokens += each
          const minutes = (ms - from) / 60_000
          const most = (limit: number | null): number => (limit ?? Infinity) * (1 + minutes) + 1e-6
          expect(later + 1).toBeLessThanOrEqual(most(limits.requestsPerMinute))
          expect(tokens).toBeLessThanOrEqual(most(limits.tokensPerMinute))
        }
      }
    }),
  )
})

test('while a session waits, each other session is admitted at most once', () => {
  fc.assert(
    fc.property(limits, calls, (limits, all) => {
      /** By waiting session: how often others were admitted since. */
      const since = new Map<string, Map<string, number>>()
      admissionsOf(limits, all, (_, { gate, admitted }) => {
        const comes = new Set([...gate.order, ...admitted.map(({ session }) => session)])
        // A request that left no longer waits.
        for (const session of since.keys()) if (!comes.has(session)) since.delete(session)
        for (const { session } of admitted) {
          since.delete(session)
          for (const others of since.values()) {
            others.set(session, (others.get(session) ?? 0) + 1)
            expect(others.get(session)).toBe(1)
          }
        }
        for (const session of gate.order) if (!since.has(session)) since.set(session, new Map())
      })
    }),
  )
})

test('every waiting request is admitted or turned away if time passes and nobody inside renews', () => {
  fc.assert(
    fc.property(limits, calls, (limits, all) => {
      const answered = new Set<string>()
      const asked = new Set<string>()
      const remember = ({ gate, admitted, turnedAway }: GateChange): void => {
        for (const { ticket } of gate.waiting) asked.add(ticket)
        for (const { ticket } of [...admitted, ...turnedAway]) answered.add(ticket)
      }
      let { gate } = admissionsOf(limits, all, (_, each) => remember(each))
      for (let looks = 0; looks < 2 || gate.inside.length + gate.waiting.length > 0; looks++) {
        expect(looks).toBeLessThan(4)
        const each: GateChange = tick(gate, 0)
        remember(each)
        gate = each.gate
      }
      expect([...asked].filter((ticket) => !answered.has(ticket))).toEqual([])
      expect({ inside: gate.inside, waiting: gate.waiting, order: gate.order }).toEqual({
        inside: [],
        waiting: [],
        order: [],
      })
    }),
  )
})

const one: GateLimits = { requests: 1, requestsPerMinute: null, tokensPerMinute: null }
const asking = (ticket: string, session: string, tokens = 1) => ({ ticket, session, tokens, awakeable: ticket })
const names = (all: readonly { readonly ticket: string }[]): readonly string[] => all.map(({ ticket }) => ticket)

test('sessions take turns, however many requests one of them has', () => {
  let gate = atGate(one)
  for (const ticket of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'])
    gate = enter(gate, 100_000, asking(ticket, ticket[0]!)).gate
  const order: string[] = []
  while (gate.inside.length > 0) {
    const { ticket } = gate.inside[0]!
    order.push(ticket)
    ;({ gate } = leave(gate, 100_000, ticket))
  }
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
})

test('a worker that is gone loses its place, and one that renews keeps it', () => {
  const first = enter(atGate(one), 100_000, asking('a', 'a')).gate
  const second = enter(first, 100_000, asking('b', 'b')).gate
  const ticked = tick(renew(second, 100_000, ['a', 'b']).gate, 100_000)
  expect(names(ticked.gate.inside)).toEqual(['a'])
  const freed = tick(renew(ticked.gate, 100_000, ['b']).gate, 100_000)
  expect(names(freed.admitted)).toEqual(['b'])
  expect(freed.gate.expired).toBe(1)
})

test('the actual tokens of a request replace its maximum', () => {
  const tokens: GateLimits = { requests: null, requestsPerMinute: null, tokensPerMinute: 1000 }
  const first = enter(atGate(tokens), 100_000, asking('a', 'a', 900)).gate
  const second = enter(first, 100_000, asking('b', 'b', 500))
  expect(second.admitted).toEqual([])
  // 400 tokens are refilled within 24 s.
  expect(second.wakeMs).toBe(124_000)
  expect(names(leave(second.gate, 100_000, 'a', 300).admitted)).toEqual(['b'])
  // A request that is larger than the bucket is admitted when that is full.
  const large = enter(atGate(tokens), 100_000, asking('a', 'a', 5000))
  expect(names(large.admitted)).toEqual(['a'])
  // It has used five minutes' worth of tokens: the next one is admitted after them.
  expect(enter(large.gate, 100_000, asking('b', 'b', 1)).wakeMs).toBe(100_000 + 240_060)
})

test('a request that leaves before admission is turned away', () => {
  const { gate } = enter(enter(atGate(one), 100_000, asking('a', 'a')).gate, 100_000, asking('b', 'b'))
  const left = leave(gate, 100_000, 'b')
  expect(names(left.turnedAway)).toEqual(['b'])
  expect(names(leave(left.gate, 100_000, 'a').admitted)).toEqual([])
})
