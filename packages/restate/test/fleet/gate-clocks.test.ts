// Holds rules of docs/spec: R-FLEET-5, R-FLEET-5a: a gate whose engine is away for a while, and whose workers have jumping clocks.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  enter,
  hasTickets,
  leave,
  setLimits,
  newGate,
  renew,
  renewMs,
  tick,
  tickMs,
  type Gate,
  type GateChange,
} from '../../src/fleet/gate.ts'

const most = 2

/** A gate as the engine runs it: it ticks as scheduled, or when the engine is back. */
class ServedGate {
  gate: Gate
  /** The engine's clock, which nobody can change. */
  nowMs = 1_000_000
  /** Requests of living processes. */
  readonly inside = new Set<string>()
  readonly waiting = new Set<string>()
  #tickMs: number | undefined

  constructor() {
    this.gate = setLimits(newGate, this.nowMs, { requests: most, requestsPerMinute: null, tokensPerMinute: null }).gate
  }

  call(offMs: number, how: (gate: Gate, nowMs: number) => GateChange): void {
    const { gate, admitted, turnedAway } = how(this.gate, this.nowMs + offMs)
    this.gate = gate
    for (const { ticket } of admitted) if (this.waiting.delete(ticket)) this.inside.add(ticket)
    for (const { ticket } of turnedAway) this.waiting.delete(ticket)
    if (hasTickets(gate)) this.#tickMs ??= this.nowMs + tickMs
  }

  /** Time passes. Workers renew while they can reach the engine; the engine makes its scheduled calls. */
  passTime(ms: number, offMs: number): void {
    for (const untilMs = this.nowMs + ms; this.nowMs < untilMs;) {
      this.nowMs = Math.min(untilMs, this.nowMs + renewMs)
      this.look(offMs)
      const tickets = [...this.inside, ...this.waiting]
      if (tickets.length > 0) this.call(offMs, (gate, nowMs) => renew(gate, nowMs, tickets))
    }
  }

  /** The engine was away. Scheduled calls come before those of workers. */
  beAway(ms: number, offMs: number): void {
    this.nowMs += ms
    this.look(offMs)
    this.passTime(renewMs, offMs)
  }

  look(offMs: number): void {
    if (this.#tickMs === undefined || this.#tickMs > this.nowMs) return
    this.#tickMs = undefined
    this.call(offMs, tick)
  }
}

const hourMs = 3_600_000
const off = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3_000, max: 3_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(hourMs, -hourMs, 24 * hourMs) },
)
const step = fc.record({
  type: fc.constantFrom('enter', 'enter', 'leave', 'kill', 'time', 'away'),
  session: fc.nat({ max: 4 }),
  ms: fc.nat({ max: 20_000 }),
  off,
})

test('the limit of requests inside holds, whatever the clocks say and however long the engine is away', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const served = new ServedGate()
      for (const [index, { type, session, ms, off: offMs }] of steps.entries()) {
        const [first] = served.inside
        if (type === 'enter') {
          const ticket = `${session}.${index}`
          served.waiting.add(ticket)
          served.call(offMs, (gate, nowMs) =>
            enter(gate, nowMs, { ticket, session: String(session), tokens: 1, awakeable: ticket }),
          )
        } else if (type === 'leave' && first !== undefined) {
          served.inside.delete(first)
          served.call(offMs, (gate, nowMs) => leave(gate, nowMs, first))
        } else if (type === 'kill' && first !== undefined) {
          // It has ended without leaving.
          served.inside.delete(first)
        } else if (type === 'time') {
          served.passTime(ms, offMs)
        } else if (type === 'away') {
          served.beAway(ms * 30, offMs)
        }
        expect(served.inside.size).toBeLessThanOrEqual(most)
        // A living request that was admitted has its place.
        const places = served.gate.inside.map(({ ticket }) => ticket)
        expect([...served.inside].filter((ticket) => !places.includes(ticket))).toEqual([])
      }
      // Killed requests keep others out for at most three checks.
      served.passTime(3 * tickMs, 0)
      expect(served.gate.inside.map(({ ticket }) => ticket).toSorted()).toEqual([...served.inside].toSorted())
      expect(served.inside.size).toBe(Math.min(most, served.inside.size + served.waiting.size))
    }),
  )
})

const asking = (ticket: string, process: string, atMs: number) => ({
  ticket,
  session: 's',
  tokens: 1,
  awakeable: ticket,
  by: { process, atMs },
})
const one = (): Gate => setLimits(newGate, 1_000, { requests: 1, requestsPerMinute: null, tokensPerMinute: null }).gate
const names = (all: readonly { readonly ticket: string }[]): readonly string[] => all.map(({ ticket }) => ticket)

test('tickets of a session in a process that it has left are dropped when it asks in the next one', () => {
  const first = enter(one(), 1_000, asking('a1', 'p1', 10)).gate
  const beside = enter(first, 1_001, asking('a2', 'p1', 11))
  expect([names(beside.gate.inside), names(beside.gate.waiting)]).toEqual([['a1'], ['a2']])
  const next = enter(beside.gate, 1_002, asking('b1', 'p2', 12))
  expect([names(next.gate.inside), names(next.admitted), names(next.turnedAway)]).toEqual([['b1'], ['b1'], ['a2']])
  expect([next.gate.expired, next.gate.order]).toEqual([2, []])
  // A late request of the first process takes nothing from the second.
  const late = enter(next.gate, 1_003, asking('a3', 'p1', 11))
  expect([names(late.gate.inside), names(late.gate.waiting)]).toEqual([['b1'], ['a3']])
})

test('processes that share a session name without saying so keep their turns', () => {
  const { by: _by, ...plain } = asking('a', 'p1', 1)
  const first = enter(one(), 1_000, plain).gate
  expect(names(enter(first, 1_000, asking('b', 'p2', 2)).gate.inside)).toEqual(['a'])
})
