// Holds rules of docs/spec: R-GROW-3, R-GROW-3a, R-GROW-3b, R-OPER-6
import { expect, test, vi } from 'vitest'
import { engineClock } from '../../src/http/engine-clock.ts'
import type { SessionStatus } from '../../src/service/status.ts'
import { Retention, type RetentionPorts } from '../../src/worker/retention.ts'
import type { WorkOfSession } from '../../src/worker/engine-admin.ts'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'

const hour = 3_600_000
const day = 24 * hour

class Engine implements RetentionPorts {
  readonly sessions = new Map<string, SessionStatus>()
  /** Sessions that became active after they were seen. */
  readonly alive = new Set<string>()
  /** Sessions whose removal never ends. */
  readonly hangs = new Set<string>()
  readonly asked: string[] = []

  add(session: string, status: Partial<SessionStatus>): void {
    this.sessions.set(session, { state: 'idle', turns: 1, usd: 0, tokens: 0, questions: [], records: 7, ...status })
  }

  async idle(after: string, limit: number) {
    return [...this.sessions]
      .map(([session, status]) => ({ session, status }))
      .filter(({ session, status }) => session > after && status.state === 'idle')
      .toSorted((a, b) => (a.session < b.session ? -1 : 1))
      .slice(0, limit)
  }

  async remove(session: string, records: number, signal: AbortSignal) {
    this.asked.push(session)
    if (this.hangs.has(session)) await new Promise((_, reject) => signal.addEventListener('abort', reject))
    if (this.alive.has(session) || this.sessions.get(session)?.records !== records) return false
    return this.sessions.delete(session)
  }
}

/** A worker whose clock the test sets. */
function worker(engine: Engine, retainMs = 30 * day) {
  const events: WorkerEvent[] = []
  const clock = { now: 100 * day }
  const retention = new Retention({
    ports: engine,
    retainMs,
    report: (event) => void events.push(event),
    now: () => clock.now,
    patienceMs: 1,
  })
  const look = async (isHere = true, resting: readonly WorkOfSession[] = []): Promise<void> => {
    retention.update({ isHere, resting }, new AbortController().signal)
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
  }
  return { clock, look, events }
}

test('sessions that were not used for long are removed, unless something is pending in them', async () => {
  const engine = new Engine()
  engine.add('old', { changedMs: 60 * day })
  engine.add('new', { changedMs: 90 * day })
  engine.add('asks', { changedMs: 60 * day, questions: [{ callId: 'c', key: 'k' }] })
  engine.add('runs', { changedMs: 60 * day, state: 'running' })
  engine.add('alive', { changedMs: 60 * day })
  engine.alive.add('alive')
  const { clock, look, events } = worker(engine)
  await look()
  expect(engine.asked, 'not as soon as the worker begins').toEqual([])
  clock.now += hour
  await look(false)
  expect(engine.asked, 'not by a worker that new sessions do not go to').toEqual([])
  await look()
  expect(engine.asked).toEqual(['alive', 'old'])
  expect([...engine.sessions.keys()].toSorted()).toEqual(['alive', 'asks', 'new', 'runs'])
  expect(events).toEqual([{ type: 'sessions_removed', count: 1 }])
  clock.now += hour / 2
  await look()
  expect(engine.asked.length, 'once an hour').toBe(2)
})

test('a session of an earlier version is removed after it was seen unchanged for long', async () => {
  const engine = new Engine()
  engine.add('still', {})
  engine.add('moves', {})
  const { clock, look } = worker(engine, 10 * hour)
  for (let hours = 1; hours <= 11; hours++) {
    clock.now += hour
    if (hours === 5) engine.add('moves', { records: 9 })
    await look()
  }
  expect([...engine.sessions.keys()]).toEqual(['moves'])
})

test('many old sessions are removed in batches, soon after each other', async () => {
  const engine = new Engine()
  for (let at = 0; at < 1_200; at++) engine.add(String(at).padStart(5, '0'), { changedMs: day })
  const { clock, look, events } = worker(engine)
  clock.now += hour
  const left: number[] = []
  for (let minutes = 0; minutes < 4; minutes++) {
    await look()
    for (let turns = 0; turns < 2_000 && engine.sessions.size % 500 !== 200; turns++) await new Promise(setImmediate)
    left.push(engine.sessions.size)
    clock.now += 61_000
  }
  expect(left).toEqual([700, 200, 0, 0])
  expect(events.map((event) => (event.type === 'sessions_removed' ? event.count : 0))).toEqual([500, 500, 200])
})

test('a session that cannot be removed does not block others, and one with paused work is skipped', async () => {
  const engine = new Engine()
  for (const session of ['a', 'b', 'c', 'd']) engine.add(session, { changedMs: day })
  engine.hangs.add('a')
  const { clock, look, events } = worker(engine)
  clock.now += hour
  await look(true, [{ id: 'inv_1', sessionId: 'b', status: 'paused', deployment: null, failure: null }])
  await vi.waitFor(() => expect([...engine.sessions.keys()]).toEqual(['a', 'b']))
  expect(engine.asked).toEqual(['a', 'c', 'd'])
  await vi.waitFor(() => expect(events.map(({ type }) => type)).toEqual(['trouble', 'sessions_removed']))
})

test("the age of a session is measured by the engine's clock", async () => {
  const engine = new Engine()
  const now = Date.now()
  engine.add('young', { changedMs: now - day })
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  try {
    const retention = new Retention({ ports: engine, retainMs: 30 * day, report: () => {} })
    vi.setSystemTime(now + 60 * day)
    engineClock.ask()(new Date(now).toUTCString())
    vi.advanceTimersByTime(hour)
    retention.update({ isHere: true, resting: [] }, new AbortController().signal)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    expect(engine.asked).toEqual([])
    vi.setSystemTime(now + 100 * day)
    engineClock.ask()(new Date(now + 40 * day).toUTCString())
    vi.advanceTimersByTime(hour)
    retention.update({ isHere: true, resting: [] }, new AbortController().signal)
    await vi.waitFor(() => expect(engine.asked).toEqual(['young']))
  } finally {
    vi.useRealTimers()
    engineClock.ask()(new Date().toUTCString())
  }
})
