// Holds rules of docs/spec: R-CLU-4a, R-WORK-4a: how stalled work is handled, and a worker that gives its sessions to another.
import { expect, test } from 'vitest'
import { Departure, LeftError } from '../../src/worker/departure.ts'
import type { WorkOfSession } from '../../src/worker/engine-admin.ts'
import { decideMove } from '../../src/worker/hand-over.ts'

const mismatch = (theirs: number): string => `name: records of format ${theirs} != records of format 7`
const left = `[500 Internal] ${new LeftError().message}`
const work = (status: WorkOfSession['status'], failure: string | null = null, deployment = 'old'): WorkOfSession => ({
  id: 'inv',
  sessionId: 'session',
  status,
  deployment,
  failure,
})
const moved = (one: WorkOfSession, takesOver = true, format = 1) =>
  decideMove(one, { ownDeployment: 'new', takesOver, boundTo: { format, takesOver: false } })

test('a worker that takes over continues abandoned and suspended work', () => {
  expect(moved(work('suspended'))).toBe('here')
  expect(moved(work('backing-off', left))).toBe('pause, then here')
  expect(moved(work('paused', left)), 'a worker was lost in the middle of it').toBe('here')
})

test('it does not move its own, failed or paused work, or work of another format', () => {
  expect(moved(work('suspended', null, 'new'))).toBeUndefined()
  expect(moved(work('backing-off', 'Connection refused'))).toBeUndefined()
  expect(moved(work('paused'))).toBeUndefined()
  expect(moved(work('suspended'), true, 3)).toBeUndefined()
  const ofUnknown = decideMove(work('backing-off', left), { ownDeployment: 'new', takesOver: true, boundTo: undefined })
  expect(ofUnknown).toBeUndefined()
  expect(moved(work('suspended'), false), 'nor does one that does not take over').toBeUndefined()
})

test('a format mismatch is paused, and resumed by a worker that reads the format', () => {
  expect(moved(work('backing-off', mismatch(3)), false)).toBe('pause')
  expect(moved(work('paused', mismatch(3)), false)).toBeUndefined()
  expect(moved(work('paused', mismatch(1)), false)).toBe('here')
  expect(moved(work('backing-off', mismatch(1)), false)).toBe('pause, then here')
  expect(moved(work('backing-off', mismatch(1), 'new'), false), 'the engine tries it again').toBeUndefined()
})

test('a worker that gives way may stay after all, and one that ends may not', () => {
  const departure = new Departure()
  departure.giveWay()
  const { soon } = departure
  expect(soon.aborted).toBe(true)
  departure.stay()
  expect([departure.soon.aborted, soon.aborted]).toEqual([false, true])
  departure.begin()
  departure.stay()
  expect(departure.soon.aborted).toBe(true)
})
