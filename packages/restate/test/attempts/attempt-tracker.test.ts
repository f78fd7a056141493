// Holds rules of docs/spec: R-POIS-1 to R-POIS-4: what a process records about its attempts, and what the next one reads.
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import {
  accompanyAttempt,
  beginAttempt,
  excuseAttempt,
  iterationsOfProgress,
  noAttempts,
  confirmProgress,
  type BeginAttempt,
} from '../../src/attempts/deaths.ts'
import { AttemptTracker, ProcessAttempts } from '../../src/attempts/attempt-tracker.ts'
import { decodeNote } from '../../src/service/notes.ts'
import { Departure } from '../../src/worker/departure.ts'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'

/** The object of a session's attempts, behind the engine's ingress. */
class FakeAttempts {
  state = noAttempts
  readonly calls: string[] = []
  isRegistered = true

  readonly fetch: typeof fetch = async (url, init) => {
    await Promise.resolve()
    const handler = new Request(url).url.split('/').at(-1) ?? ''
    if (!this.isRegistered) return Response.json({ message: 'service not found' }, { status: 404 })
    this.calls.push(handler)
    // `AttemptTracker` sends it.
    const body = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as BeginAttempt & {
      readonly attempt: string
    }
    switch (handler) {
      case 'begin': {
        const { attempts, begun } = beginAttempt(this.state, body)
        this.state = attempts
        return Response.json(begun)
      }
      case 'excuse':
        this.state = excuseAttempt(this.state, body.turn, body.attempt)
        break
      case 'prove':
        this.state = confirmProgress(this.state, body.attempt)
        break
      case 'accompany':
        this.state = accompanyAttempt(this.state, body.attempt)
        break
    }
    return Response.json(true)
  }

  process(events: WorkerEvent[] = [], departure?: Departure): ProcessAttempts {
    return new ProcessAttempts({
      ingress: { url: 'http://engine', fetch: this.fetch },
      workerUrl: () => 'http://w1:9080',
      onEvent: (event) => events.push(event),
      ...(departure !== undefined && { departure }),
    })
  }
}

const turns = async (): Promise<void> => {
  for (let left = 20; left > 0; left--) await new Promise(setImmediate)
}

function workIn(process: ProcessAttempts): { readonly work: AttemptTracker; readonly gone: AbortController } {
  const gone = new AbortController()
  return { work: new AttemptTracker(process, { sessionId: 's', tenant: 'acme', turn: 1, gone: gone.signal }), gone }
}

// As the loop writes it, reduced to what is read here.
const lap = { type: 'lap', lap: { scope: '' } } as unknown as StepRecord

test('the first attempt of a turn costs no call, and the next one reads its note', async () => {
  const attempts = new FakeAttempts()
  const { work: first, gone } = workIn(attempts.process())
  const note = first.firstNote()
  await first.begin(gone.signal)
  expect(attempts.calls).toEqual([])
  // Its process dies.
  const next = workIn(attempts.process())
  next.work.onBatch({ records: [], notes: note === undefined ? [] : [note] })
  await next.work.begin(next.gone.signal)
  const [death] = attempts.state.deaths
  expect(note === undefined ? undefined : decodeNote(note)).toMatchObject({ type: 'attempt', attempt: death?.attempt })
  expect(death?.worker).toBe('http://w1:9080')
})

test('after three deaths of its process a session is set aside, which is reported once, and no worker starts it', async () => {
  const attempts = new FakeAttempts()
  const events: WorkerEvent[] = []
  for (let count = 0; count < 3; count++) {
    const { work, gone } = workIn(attempts.process(events))
    await work.begin(gone.signal)
  }
  const process = attempts.process(events)
  for (let count = 0; count < 2; count++) {
    const { work, gone } = workIn(process)
    await expect(work.begin(gone.signal)).rejects.toThrow('This session is set aside: its work has ended three workers')
  }
  expect(events).toEqual([
    expect.objectContaining({ type: 'session_set_aside', session: 's', tenant: 'acme' }) as WorkerEvent,
  ])
  const other = new AttemptTracker(process, {
    sessionId: 'o',
    tenant: undefined,
    turn: 1,
    gone: new AbortController().signal,
  })
  expect(other.firstNote(), 'nobody waits for it').toBeDefined()
})

test('an attempt is excused if it fails, is interrupted or its process departs, but not if it is resting or done', async () => {
  const departure = new Departure()
  const endings: readonly (readonly [string, (made: ReturnType<typeof workIn>) => unknown, number])[] = [
    ['failed', ({ work }) => work.failed(), 1],
    ['cut off', ({ gone }) => gone.abort(new Error('gone')), 1],
    ['terminated', () => departure.begin(), 1],
    ['done', ({ work }) => work.done(), 0],
    [
      'at rest',
      ({ work, gone }) => {
        work.onBatch({ records: [], restMs: null })
        gone.abort(new Error('gone'))
      },
      0,
    ],
  ]
  for (const [name, end, excuses] of endings) {
    const attempts = new FakeAttempts()
    const made = workIn(attempts.process([], departure))
    made.work.firstNote()
    await made.work.begin(made.gone.signal)
    await end(made)
    await turns()
    expect({ name, calls: attempts.calls }).toEqual({ name, calls: excuses === 1 ? ['excuse'] : [] })
  }
})

test('a suspected session waits until no other session is running, and then others wait until it has made progress', async () => {
  const attempts = new FakeAttempts()
  for (let count = 0; count < 2; count++) {
    const { work, gone } = workIn(attempts.process())
    await work.begin(gone.signal)
  }
  const process = attempts.process()
  const other = new AttemptTracker(process, {
    sessionId: 'o',
    tenant: undefined,
    turn: 1,
    gone: new AbortController().signal,
  })
  let hasMadeWay = false
  const otherGone = new AbortController()
  other.onYieldRequest(() => (hasMadeWay = true))
  other.firstNote()
  await other.begin(otherGone.signal)
  const suspect = workIn(process)
  let hasBegun = false
  const begins = suspect.work.begin(suspect.gone.signal).then(() => (hasBegun = true))
  await turns()
  expect({ hasMadeWay, hasBegun }).toEqual({ hasMadeWay: true, hasBegun: false })
  otherGone.abort(new Error('it leaves at its lap'))
  await begins
  expect(suspect.work.leavesAtRest).toBe(true)
  let isBack = false
  const back = other.begin(new AbortController().signal).then(() => (isBack = true))
  suspect.work.onBatch({ records: Array.from({ length: iterationsOfProgress - 1 }, () => lap) })
  await turns()
  expect(isBack).toBe(false)
  suspect.work.onBatch({ records: [lap] })
  await back
  expect(attempts.state.deaths).toEqual([])
  expect(suspect.work.leavesAtRest).toBe(false)
})

test('a session starts even if no worker has registered the object', async () => {
  const attempts = new FakeAttempts()
  attempts.isRegistered = false
  for (let count = 0; count < 4; count++) {
    const { work, gone } = workIn(attempts.process())
    await work.begin(gone.signal)
  }
  expect(attempts.calls).toEqual([])
})

test('an attempt that has ended occupies no slot, whenever it ends', async () => {
  for (let ticks = 0; ticks < 40; ticks++) {
    const attempts = new FakeAttempts()
    const process = attempts.process()
    const never = new AbortController().signal
    const inside = await process.isolation.enter(never)
    attempts.state = {
      ...noAttempts,
      turn: 1,
      deaths: ['a1', 'a2'].map((attempt) => ({ attempt, process: 'lost', worker: null, atMs: 1, laps: 0 })),
    }
    const { work, gone } = workIn(process)
    void work.begin(gone.signal).catch(() => work.failed())
    await turns()
    inside.leave()
    for (let left = ticks; left > 0; left--) await Promise.resolve()
    gone.abort(new Error('gone'))
    await turns()
    expect(process.isolation.tryEnter(), `gone after ${ticks} ticks`).toBeDefined()
  }
})

test('an attempt that ended before its first note occupies no slot', () => {
  const process = new FakeAttempts().process()
  const { work, gone } = workIn(process)
  gone.abort(new Error('gone'))
  expect(() => work.firstNote()).toThrow('leaves the session')
  expect(process.isolation.tryEnter()).toBeDefined()
})
