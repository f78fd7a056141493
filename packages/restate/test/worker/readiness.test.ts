// Holds rules of docs/spec: R-WORK-6, R-OPER-1, R-OPER-2.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { array, assert, asyncProperty, boolean, constantFrom } from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { EnginePulse } from '../../src/worker/engine-pulse.ts'
import { answerProbe, type Probes } from '../../src/worker/probes.ts'
import { Readiness, type ReadinessOptions } from '../../src/worker/readiness.ts'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'

type Engine = 'writes' | 'hangs' | 'refuses'

/** An engine that accepts calls, or does not. */
function engine(): { state: Engine; readonly keys: string[]; readonly fetch: typeof fetch } {
  const known = {
    state: 'writes' as Engine,
    keys: [] as string[],
    fetch: (async (_url, init) => {
      known.keys.push(new Headers(init?.headers).get('idempotency-key') ?? '')
      if (known.state === 'writes') return Response.json({ status: 'Accepted' }, { status: 202 })
      if (known.state === 'refuses') throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
      return new Promise<Response>((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      })
    }) satisfies typeof fetch,
  }
  return known
}

test('an engine that accepts a call can write, and is not called again at once', async () => {
  const known = engine()
  const pulse = new EnginePulse({ url: 'http://engine', fetch: known.fetch }, 10)
  expect(await pulse.whyNot()).toBeUndefined()
  expect(await pulse.whyNot()).toBeUndefined()
  expect(known.keys).toEqual(['pulse-0', 'pulse-1'])
})

test('an engine that never accepted a call cannot write, whatever else it answers, until it does', async () => {
  const known = engine()
  const pulse = new EnginePulse({ url: 'http://engine', fetch: known.fetch }, 10)
  known.state = 'hangs'
  expect(await pulse.whyNot()).toMatch(
    /^the engine cannot write: no answer to a durable call for \d+ s \(disk full\?\)$/,
  )
  known.state = 'refuses'
  expect(await pulse.whyNot()).toBe('the engine does not accept requests at http://engine: connect ECONNREFUSED')
  known.state = 'writes'
  expect(await pulse.whyNot()).toBeUndefined()
})

test('calls use few keys, so nothing piles up in an engine that accepts them later', async () => {
  await assert(
    asyncProperty(array(constantFrom<Engine>('writes', 'refuses'), { maxLength: 40 }), async (states) => {
      const known = engine()
      const pulse = new EnginePulse({ url: 'http://engine', fetch: known.fetch }, 10)
      for (const state of states) {
        known.state = state
        await pulse.whyNot()
      }
      expect(new Set(known.keys).size).toBeLessThanOrEqual(16)
    }),
    { numRuns: 30 },
  )
})

function readiness(options: Partial<ReadinessOptions>): { readonly of: Readiness; readonly events: WorkerEvent[] } {
  const events: WorkerEvent[] = []
  const of = new Readiness({
    handOver: { successor: undefined },
    departure: { soon: new AbortController().signal },
    engine: { whyUnknown: async () => undefined },
    url: 'http://worker',
    watch: { failure: undefined },
    pulse: { whyNot: async () => undefined },
    report: (event) => events.push(event),
    ...options,
  })
  return { of, events }
}

test('a worker reports the first reason why it is not ready', async () => {
  const ended = new AbortController()
  ended.abort()
  const cases: readonly (readonly [Partial<ReadinessOptions>, string])[] = [
    [{ handOver: { successor: 'http://b' } }, 'http://b takes over the sessions of this worker'],
    [{ departure: { soon: ended.signal } }, 'this worker is about to end'],
    [{ engine: { whyUnknown: async () => 'it is not known' }, pulse: { whyNot: async () => 'no' } }, 'it is not known'],
    [{ pulse: { whyNot: async () => 'the engine cannot write' } }, 'the engine cannot write'],
    [
      { watch: { failure: { since: performance.now() - 60_000, because: '500 x' } } },
      'the engine cannot say which sessions rest: 500 x',
    ],
  ]
  for (const [options, because] of cases) {
    const { of } = readiness(options)
    expect(await of.whyNot()).toBe(because)
  }
  // A node that is starting answers soon.
  const { of } = readiness({ watch: { failure: { since: performance.now(), because: '500 x' } } })
  expect(await of.whyNot()).toBeUndefined()
})

test('each change is reported once, at the next request', async () => {
  await assert(
    asyncProperty(array(boolean(), { minLength: 1, maxLength: 20 }), async (answers) => {
      let isReady = true
      const { of, events } = readiness({ pulse: { whyNot: async () => (isReady ? undefined : 'no room') } })
      for (isReady of answers) await of.whyNot()
      const changes = answers.filter((each, at) => at === 0 || each !== answers[at - 1])
      expect(events).toEqual(
        changes.map((each) => ({ type: 'ready', isReady: each, ...(!each && { because: 'no room' }) })),
      )
    }),
  )
})

test('the engine is called once for concurrent callers, and again for later ones', async () => {
  let asked = 0
  let answer: (because: string | undefined) => void = () => {}
  const whyUnknown = (): Promise<string | undefined> => {
    asked++
    return new Promise((resolve) => (answer = resolve))
  }
  const { of, events } = readiness({ engine: { whyUnknown } })
  const first = Array.from({ length: 1_000 }, () => of.whyNot())
  answer('it is not known')
  expect(new Set(await Promise.all(first))).toEqual(new Set(['it is not known']))
  const later = of.whyNot()
  answer(undefined)
  expect(await later).toBeUndefined()
  expect(asked).toBe(2)
  expect(events).toHaveLength(2)
})

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function served(probes: Partial<Probes>): Promise<string> {
  const all: Probes = { whyNotReady: async () => undefined, unchecked: undefined, metrics: undefined, ...probes }
  const server = createServer((request, response) => void answerProbe(request, response, all))
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  closing.push(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('probes report what they found and what they did not check', async () => {
  const ready = await served({ unchecked: 'whether it can write' })
  expect(await (await fetch(`${ready}/live`)).json()).toEqual({ live: true })
  expect(await (await fetch(`${ready}/ready`)).json()).toEqual({ ready: true, unchecked: 'whether it can write' })
  const not = await fetch(`${await served({ whyNotReady: async () => 'no room' })}/ready`)
  expect([not.status, await not.json()]).toEqual([503, { ready: false, because: 'no room' }])
  const statuses = ['/', '/metrics', '/ready'].map(async (path) => {
    const { status } = await fetch(`${ready}${path}`, path === '/ready' ? { method: 'POST' } : {})
    return status
  })
  expect(await Promise.all(statuses)).toEqual([404, 404, 405])
})

test('metrics are readable on this machine or with the token', async () => {
  const read = async (): Promise<string> => 'halting_up 1\n'
  const own = await served({ metrics: { read } })
  const answer = await fetch(`${own}/metrics`)
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    'halting_up 1\n',
  ])
  const none = await served({ metrics: { read, token: null } })
  expect((await fetch(`${none}/metrics`)).status).toBe(403)
  const guarded = await served({ metrics: { read, token: 'worker-token-0123456789' } })
  expect((await fetch(`${guarded}/metrics`)).status).toBe(401)
  const headers = { authorization: 'Bearer worker-token-0123456789' }
  expect((await fetch(`${guarded}/metrics`, { headers })).status).toBe(200)
  const wrong = await served({ metrics: { read: () => Promise.reject(new Error('no')) } })
  expect((await fetch(`${wrong}/metrics`)).status).toBe(500)
})
