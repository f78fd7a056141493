// Holds rules of docs/spec: R-LOAD-6
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordReport, sessionsToGiveAway, type KnownPlaces } from '../../src/fleet/free-places.ts'

test('a worker learns what the others have, and a worker that is silent for long has nothing', () => {
  const first = recordReport({}, 1_000, { worker: 'a', free: 3, waiting: 0 })
  expect(first.others).toEqual({ workers: 0, free: 0, waiting: 0 })
  const second = recordReport(first.known, 2_000, { worker: 'b', free: 0, waiting: 7 })
  expect(second.others).toEqual({ workers: 1, free: 3, waiting: 0 })
  expect(recordReport(second.known, 3_000, { worker: 'a', free: 0, waiting: 0 }).others).toEqual({
    workers: 1,
    free: 0,
    waiting: 7,
  })
  const later = recordReport(second.known, 31_500, { worker: 'b', free: 0, waiting: 7 })
  expect(later.others).toEqual({ workers: 0, free: 0, waiting: 0 })
  expect(Object.keys(later.known)).toEqual(['b'])
  // A clock that is behind silences no worker.
  expect(recordReport(second.known, -1e9, { worker: 'b', free: 0, waiting: 7 }).others).toEqual({
    workers: 1,
    free: 3,
    waiting: 0,
  })
})

test('workers with queues give away enough to fill free places, but no more than their excess or share', () => {
  const count = fc.nat({ max: 50 })
  fc.assert(
    fc.property(fc.array(count, { minLength: 1, maxLength: 6 }), fc.array(count, { maxLength: 4 }), (queues, rooms) => {
      let known: KnownPlaces = {}
      const workers = [
        ...queues.map((waiting, index) => ({ worker: `q${index}`, free: 0, waiting })),
        ...rooms.map((free, index) => ({ worker: `r${index}`, free, waiting: 0 })),
      ]
      for (const worker of workers) ({ known } = recordReport(known, 1, worker))
      const givenAway = workers.map((own) => sessionsToGiveAway(own, recordReport(known, 1, own).others))
      const free = rooms.reduce((sum, room) => sum + room, 0)
      const waiting = queues.reduce((sum, queue) => sum + queue, 0)
      const mean = waiting / workers.length
      for (const [index, one] of givenAway.entries()) {
        const own = queues[index] ?? 0
        expect(one).toBeLessThanOrEqual(own)
        expect(one).toBeLessThanOrEqual(Math.max(0, own - mean, Math.ceil((free * own) / Math.max(1, waiting))))
      }
      expect(givenAway.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(Math.min(free, waiting))
      expect(free > 0 || givenAway.every((one) => one === 0)).toBe(true)
    }),
  )
})

test('invented workers neither fill the engine nor hide real ones for long', () => {
  const madeUp = Array.from({ length: 1_500 }, (_, atMs) => [`made up ${atMs}`, { free: 1, waiting: 0, atMs }] as const)
  let known: KnownPlaces = Object.fromEntries(madeUp)
  ;({ known } = recordReport(known, 1_500, { worker: 'made up', free: 1, waiting: 0 }))
  expect(Object.keys(known)).toHaveLength(1_000)
  expect(Object.keys(known)).toContain('made up 1499')
  ;({ known } = recordReport(known, 2_000, { worker: 'real', free: 4, waiting: 0 }))
  expect(known['real']).toMatchObject({ free: 4 })
  expect(Object.keys(known)).toHaveLength(1_000)
})
