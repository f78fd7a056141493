// Holds rules of docs/spec: R-OPER-6.
import { assert, integer, property } from 'fast-check'
import { expect, test } from 'vitest'
import { atEngineTime, EngineClock } from '../../src/http/engine-clock.ts'
import { ClockWatch } from '../../src/worker/worker.ts'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'

/** The date format of the engine's answers. */
const dated = (ms: number): string => new Date(ms).toUTCString()
const began = Date.UTC(2026, 10, 30, 12)

test("the clock is within two seconds of the engine's, whatever the clock of the machine says", () => {
  assert(
    property(integer({ min: -90_000_000, max: 90_000_000 }), integer({ min: 0, max: 999 }), (offMs, partMs) => {
      const engineMs = began + partMs
      const clock = new EngineClock(() => engineMs + offMs)
      clock.ask()(dated(engineMs))
      expect(Math.abs(clock.now() - engineMs)).toBeLessThanOrEqual(2_501)
    }),
  )
})

test('a clock that agrees is not adjusted, and an offset does not jitter', () => {
  let ownMs = began
  const clock = new EngineClock(() => ownMs)
  clock.ask()(dated(began + 1_900))
  expect(clock.offsetMs).toBe(0)
  ownMs = began + 3_600_000
  clock.ask()(dated(began))
  const first = clock.offsetMs
  expect(Math.abs(first + 3_600_000)).toBeLessThanOrEqual(1_000)
  for (const ms of [100, 700, 1_500]) {
    ownMs = began + 3_600_000 + ms
    clock.ask()(dated(began + ms))
    expect(clock.offsetMs).toBe(first)
  }
  // A person has set it.
  ownMs = began + 2_000
  clock.ask()(dated(began + 2_000))
  expect(clock.offsetMs).toBe(0)
})

test("delays are converted by the engine's time, and nothing else is", () => {
  const own = Date.now
  const before = own()
  const seen = atEngineTime(() => Date.now(), { offsetMs: -3_600_000 })
  expect(seen - before).toBeLessThan(-3_590_000)
  expect(Date.now).toBe(own)
  expect(() =>
    atEngineTime(
      () => {
        throw new Error('refused')
      },
      { offsetMs: 3_600_000 },
    ),
  ).toThrow('refused')
  expect(Date.now).toBe(own)
})

test('an answer with a missing or invalid date has no effect', () => {
  const clock = new EngineClock(() => began)
  for (const date of [null, '', 'soon']) clock.ask()(date)
  expect(clock.now()).toBe(began)
})

test('a wrong clock is reported once until it is right again', () => {
  const events: WorkerEvent[] = []
  const clock = { offsetMs: 0 }
  const watch = new ClockWatch(clock, (event) => events.push(event))
  for (clock.offsetMs of [0, 29_000, -3_600_000, -3_600_000, 0, 3_600_000]) watch.update()
  expect(events.map((event) => (event.type === 'trouble' ? event.message : event.type))).toEqual([
    "The clock of this machine is 3600 s ahead of the engine's. Sessions use the engine's time; set the clock.",
    "The clock of this machine is 3600 s behind the engine's. Sessions use the engine's time; set the clock.",
  ])
})
