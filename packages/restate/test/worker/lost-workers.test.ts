// Holds rules of docs/spec: R-LOST-1 to R-LOST-5: how work bound to a worker that does not come back is handled.
import * as fc from 'fast-check'
import { storageFormat } from '../../src/engine/format.ts'
import { expect, test } from 'vitest'
import { Departure } from '../../src/worker/departure.ts'
import { LostWorkers } from '../../src/worker/lost-workers.ts'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'
import { FakeAdmin } from '../support/fake-admin.ts'

/** Number of looks, one every two seconds, after which a silent worker counts as lost. */
const failuresUntilLost = 5

interface Looks {
  /** How often in a row it looks. */
  readonly times?: number
  readonly canOpen?: (session: string) => boolean
  readonly departure?: Departure
  readonly events?: WorkerEvent[]
  /** Whether this worker gets an answer. Default: as the engine does. */
  readonly probe?: (address: string) => boolean
}

/** A worker that looks. */
function workerAt(url: string, admin: FakeAdmin, { canOpen, departure, events, probe }: Looks = {}) {
  let now = 0
  const lost = new LostWorkers({
    now: () => now,
    admin: admin.asked,
    departure: departure ?? new Departure(),
    report: (event) => events?.push(event),
    canOpen: canOpen && (({ sessionId }) => canOpen(sessionId)),
    probe: async (address) => (probe ?? ((at) => admin.living.has(at)))(address),
  })
  return {
    of: (session: string) => lost.stallOf(session),
    async looks(times = failuresUntilLost) {
      for (let left = times; left > 0; left--) {
        await lost.update(admin.seenBy(url))
        now += 2_000
      }
    },
  }
}

/** Worker a has sessions and is lost; b is alive. */
function lostA(): FakeAdmin {
  const admin = new FakeAdmin()
  admin.add('dp_b', 'b')
  admin.add('dp_a', 'a')
  admin.bind('works', 'dp_a', 'running')
  admin.bind('waits', 'dp_a', 'suspended')
  admin.bind('others', 'dp_b', 'suspended')
  admin.lose('a')
  return admin
}
const addressOf = (admin: FakeAdmin, session: string): string | undefined =>
  admin.deployments.get(admin.work.get(session)?.deployment ?? '')?.uri

test('another worker takes over everything bound to a lost one in one change, and suspended work stays suspended', async () => {
  const admin = lostA()
  const events: WorkerEvent[] = []
  await workerAt('b', admin, { events }).looks()
  expect(admin.changes).toEqual(['announce b', 'readdress dp_a b'])
  expect(admin.work.get('works')).toMatchObject({ status: 'running', at: 'b' })
  expect(admin.work.get('waits')).toMatchObject({ status: 'suspended' })
  expect(addressOf(admin, 'waits')).toBe('b')
  expect(events).toEqual([
    { type: 'worker_lost', address: 'a' },
    { type: 'session_moved', session: 'works', from: 'a', to: 'b' },
    { type: 'session_moved', session: 'waits', from: 'a', to: 'b' },
  ])
})

test('a worker is not considered lost before several polls without an answer, while the engine reaches it, or after it answered', async () => {
  const admin = lostA()
  await workerAt('b', admin).looks(failuresUntilLost - 1)
  expect(admin.changes).toEqual([])
  const reached = lostA()
  reached.living.add('a')
  await workerAt('b', reached, { probe: () => false }).looks(20)
  expect(reached.changes).toEqual([])
  const answered = lostA()
  let asked = 0
  await workerAt('b', answered, { probe: () => ++asked % failuresUntilLost === 0 }).looks(20)
  expect(answered.changes).toEqual([])
})

test('a worker that lacks some folders takes over the sessions whose folders it has, and the others report what they wait for', async () => {
  const admin = lostA()
  admin.bind('elsewhere', 'dp_a', 'suspended')
  const worker = workerAt('b', admin, { canOpen: (session) => session !== 'elsewhere' })
  await worker.looks()
  expect(admin.work.get('works')).toMatchObject({ at: 'b', deployment: 'dp_b' })
  expect(addressOf(admin, 'waits')).toBe('b')
  expect(addressOf(admin, 'elsewhere')).toBe('a')
  expect(worker.of('elsewhere')).toMatchObject({ kind: 'worker_lost', worker: 'a', needsResume: false })
  expect(worker.of('elsewhere')?.message).toContain('--workspaces')
  expect(worker.of('works')).toBeUndefined()
})

test('sessions of a deployment that serves other programs are taken one by one, and its other calls stay', async () => {
  const admin = lostA()
  admin.shared.add('dp_a')
  await workerAt('b', admin).looks()
  expect(admin.deployments.get('dp_a')?.uri).toBe('a')
  expect(admin.work.get('works')).toMatchObject({ at: 'b', deployment: 'dp_b' })
  expect(addressOf(admin, 'waits')).toBe('b')
})

test('work paused by a person stays paused; work paused by a worker that was then lost is moved', async () => {
  const admin = lostA()
  admin.bind('elsewhere', 'dp_a', 'suspended')
  admin.bind('stopped', 'dp_a', 'paused')
  Object.assign(admin.work.get('works') ?? {}, { status: 'paused' })
  await workerAt('b', admin, { canOpen: (session) => session !== 'elsewhere' }).looks()
  expect(admin.work.get('stopped')).toMatchObject({ status: 'paused', deployment: 'dp_a' })
  expect(admin.work.get('works')).toMatchObject({ status: 'running', at: 'b' })
})

test('sessions of another format wait for a worker of that version; new sessions go to a living one', async () => {
  const admin = new FakeAdmin()
  admin.add('dp_b', 'b')
  admin.add('dp_a', 'a', storageFormat + 1)
  admin.bind('later', 'dp_a', 'running')
  admin.bind('new', null, 'backing-off')
  admin.lose('a')
  const worker = workerAt('b', admin)
  await worker.looks()
  expect(addressOf(admin, 'later')).toBe('a')
  expect(worker.of('later')?.message).toContain('another storage format')
  expect(admin.latest).toBe('dp_b')
  expect(admin.work.get('new')).toMatchObject({ status: 'running', at: 'b' })
})

test('a worker that ends or is unknown to the engine takes over nothing, and reports what the sessions wait for', async () => {
  const ending = new Departure()
  ending.begin()
  const admin = lostA()
  const worker = workerAt('b', admin, { departure: ending })
  await worker.looks()
  expect(admin.changes).toEqual([])
  expect(worker.of('works')).toMatchObject({ kind: 'worker_lost', worker: 'a' })
  const stranger = workerAt('c', admin)
  await stranger.looks()
  expect(admin.changes).toEqual([])
  expect(stranger.of('works')?.message).toContain('halting serve --register')
})

test('a worker that was mistaken for lost gets its work back when the engine reaches it, without interruption', async () => {
  const admin = lostA()
  admin.living.add('a')
  const a = workerAt('a', admin)
  await a.looks(1)
  admin.living.delete('a')
  const b = workerAt('b', admin)
  await b.looks()
  expect(addressOf(admin, 'waits')).toBe('b')
  await a.looks(1)
  expect(addressOf(admin, 'waits'), 'the engine does not reach it').toBe('b')
  admin.living.add('a')
  await a.looks(1)
  expect(addressOf(admin, 'waits')).toBe('a')
  expect(admin.work.get('works'), 'what is under way goes on where it is').toMatchObject({ status: 'running', at: 'b' })
  expect(admin.interrupted).toEqual([])
})

test('all work continues without interruption, whichever workers are lost and however the others interleave', async () => {
  const statuses = fc.constantFrom('running' as const, 'suspended' as const, 'backing-off' as const)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(3), statuses), { maxLength: 12 }),
      fc.uniqueArray(fc.nat(3), { maxLength: 3 }),
      fc.array(fc.nat(3), { maxLength: 4 }),
      fc.boolean(),
      async (sessions, lost, pauses, someAreElsewhere) => {
        const admin = new FakeAdmin()
        for (const index of [0, 1, 2, 3]) admin.add(`dp_${index}`, `w${index}`)
        for (const [index, [worker, status]] of sessions.entries()) admin.bind(`s${index}`, `dp_${worker}`, status)
        for (const index of lost) admin.lose(`w${index}`)
        const living = [0, 1, 2, 3].filter((index) => !lost.includes(index))
        await Promise.all(
          living.map(async (index) => {
            for (let left = pauses[index] ?? 0; left > 0; left--) await new Promise(setImmediate)
            const canOpen = (session: string): boolean => !someAreElsewhere || session !== 's0'
            const worker = workerAt(`w${index}`, admin, { canOpen })
            // They look at the same time, every two seconds, so that none is a look ahead.
            for (let left = failuresUntilLost + 5; left > 0; left--) {
              await worker.looks(1)
              for (let turns = 60; turns > 0; turns--) await new Promise(setImmediate)
            }
          }),
        )
        admin.attempt()
        for (const [session, { status }] of admin.work) {
          if (someAreElsewhere && session === 's0') continue
          expect(admin.living.has(addressOf(admin, session) ?? ''), `${session} is bound to a worker that lives`).toBe(
            true,
          )
          expect(status).not.toBe('backing-off')
        }
        expect(admin.living.has(admin.seenBy('').latest.uri)).toBe(true)
        expect(admin.interrupted).toEqual([])
      },
    ),
    { numRuns: 60 },
  )
})
