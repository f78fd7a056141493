// Holds rules of docs/spec: R-FLEET-3, R-FLEET-6, R-FUND-5: a worker's calls to the fleet, over a fake ingress.
import type { Model } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { ProviderGate, gatedModel } from '../../src/fleet/gated-model.ts'
import type { IngressOptions } from '../../src/fleet/ingress.ts'
import { LeaseDesk } from '../../src/fleet/lease-desk.ts'
import { TenantLease } from '../../src/fleet/tenant-lease.ts'
import { TenantMoney, type LeaseAsk } from '../../src/fleet/tenant-money.ts'

interface Asked {
  readonly path: string
  readonly body: unknown
  readonly key: string | null
}

/** Answers like an ingress. `answer` returns a status, or the result of the handler; undefined: unreachable. */
function ingressOf(answer: (asked: Asked) => unknown) {
  const asked: Asked[] = []
  const fake: typeof fetch = async (input, init) => {
    const one: Asked = {
      path: (input as URL).pathname,
      // Calls are JSON.
      body: JSON.parse(init?.body as string),
      key: new Headers(init?.headers).get('idempotency-key'),
    }
    asked.push(one)
    const granted = await answer(one)
    if (granted === undefined) throw new TypeError('fetch failed')
    return granted instanceof Response ? granted : Response.json(granted)
  }
  return { asked, ingress: { url: 'http://engine', fetch: fake } }
}

const live = new AbortController().signal
const log = { flush: () => undefined, batches: 0, confirmed: () => Promise.resolve(), hold: () => () => {} }
const nothing = { nanos: 0, unknownNanos: 0 }
const identity = {
  session: 's',
  began: 'inv',
  turn: 7,
  chunkUsd: 0.5,
  log,
  committed: nothing,
  get gone() {
    return new AbortController().signal
  },
}
const deskOf = (ingress: IngressOptions): LeaseDesk => new LeaseDesk(ingress, 'acme & co')
const signal = live

function tenant(limitUsd: number) {
  const money = new TenantMoney(null, null)
  money.setLimit(limitUsd * 1e9)
  return ingressOf(({ body }) => {
    const answers = (body as LeaseAsk[]).map((ask) => money.ask(ask))
    for (let missing = money.serve(); missing !== undefined; missing = money.serve()) money.load(missing, null)
    return answers.map((answer) => ({ ...answer, waiting: money.queue.length }))
  })
}

test('a lease begins with what the session has, and requests more than it needs', async () => {
  const { ingress, asked } = tenant(2)
  const lease = await TenantLease.open({ ...identity, desk: deskOf(ingress) })
  expect([lease.usd, lease.name]).toEqual([0, 'the budget of acme & co'])
  expect(await lease.growTo(1, { signal, leastUsd: 0.5 })).toBeUndefined()
  expect(lease.usd).toBe(1.5)
  expect(await lease.growTo(3, { signal, leastUsd: 2.5 })).toEqual({ mayComeBack: false, reservedUsd: 0, holders: 0 })
  expect(lease.usd).toBe(1.5)
  await lease.growTo(3, { signal })
  expect(lease.usd).toBe(2)
  const path = '/halting_budget/acme%20%26%20co/ask'
  const [opening] = asked.flatMap(({ body }) => body as LeaseAsk[])
  const process = opening?.process
  const of = { session: 's', began: 'inv', turn: 7, process }
  const chunkNanos = 5e8
  expect(asked.map(({ key: _key, ...one }) => one)).toEqual([
    { path, body: [{ ...of, sequence: 1, kind: 'open' }] },
    { path, body: [{ ...of, sequence: 2, kind: 'raise', nanos: 1e9, leastNanos: 5e8, chunkNanos }] },
    { path, body: [{ ...of, sequence: 3, kind: 'raise', nanos: 3e9, leastNanos: 2.5e9, chunkNanos }] },
    { path, body: [{ ...of, sequence: 4, kind: 'raise', nanos: 3e9, chunkNanos }] },
  ])
  expect(new Set(asked.map(({ key }) => key)).size, 'each is a call of its own').toBe(4)
})

test('spending that another session paid counts for the session but not for its tenant', async () => {
  const { ingress, asked } = tenant(2)
  const inherited = { nanos: 3e9, unknownNanos: 0 }
  const lease = await TenantLease.open({ ...identity, desk: deskOf(ingress), inherited, committed: inherited })
  expect(lease.usd).toBe(3)
  await lease.growTo(4, { signal })
  expect(lease.usd).toBe(4)
  expect(asked.at(-1)?.body).toMatchObject([{ nanos: 1e9 }])
  await lease.growTo(1e300, { signal })
  expect(lease.usd).toBe(5)
})

/** Lets real timers pass. */
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('money that a session no longer uses is returned once that is on record', async () => {
  const { ingress, asked } = tenant(2)
  let isOnRecord = (): void => {}
  const waits = new Promise<void>((resolve) => (isOnRecord = resolve))
  const slow = { ...log, flush: () => waits }
  const lease = await TenantLease.open({ ...identity, desk: deskOf(ingress), log: slow })
  await lease.growTo(1, { signal, leastUsd: 1 })
  lease.uses({ usd: 0.25, settledUsd: 0.25, unknownUsd: 0.125 })
  await pass(200)
  // Here it may spend no more; the budget learns of it later.
  expect([asked.length, lease.usd]).toEqual([2, 0.25])
  isOnRecord()
  while (asked.length < 3) await pass(5)
  await pass(5)
  expect(asked[2]?.body).toMatchObject([
    { kind: 'report', nanos: 2.5e8, spent: { nanos: 2.5e8, unknownNanos: 1.25e8 }, chunkNanos: 0 },
  ])
  expect(lease.usd).toBe(0.25)
})

test('the next process returns what a lost one had beyond its records', async () => {
  const { ingress, asked } = tenant(2)
  const lost = await TenantLease.open({ ...identity, desk: deskOf(ingress) })
  await lost.growTo(1, { signal, leastUsd: 1 })
  const next = await TenantLease.open({
    ...identity,
    desk: deskOf(ingress),
    committed: { nanos: 5e8, unknownNanos: 1e8 },
  })
  expect(next.usd).toBe(0.5)
  while (asked.length < 4) await pass(5)
  expect(asked[3]?.body).toMatchObject([{ kind: 'report', nanos: 5e8 }])
  // Late calls of the lost process are ignored.
  expect(await lost.growTo(1.9, { signal, leastUsd: 1.9 })).toBeUndefined()
})

test('a session waits in the queue of the budget, is woken by its message, and leaves', async () => {
  const { ingress, asked } = tenant(2)
  const desk = deskOf(ingress)
  const other = await TenantLease.open({ ...identity, session: 'other', desk })
  await other.growTo(1.8, { signal, leastUsd: 1.8 })
  const lease = await TenantLease.open({ ...identity, desk, invocation: 'work' })
  expect(await lease.growTo(1, { signal, leastUsd: 0.9 })).toEqual({ mayComeBack: true, reservedUsd: 2, holders: 1 })
  let woken = 0
  const leave = lease.wait?.({ usd: 1, leastUsd: 0.9 }, () => woken++)
  while (desk.waiting === 0) await pass(1)
  const joined = asked.flatMap(({ body }) => body as LeaseAsk[]).filter(({ kind }) => kind === 'join')
  expect(joined).toMatchObject([{ nanos: 1e9, leastNanos: 9e8, invocation: 'work' }])
  // While others wait, money is returned at once.
  other.uses({ usd: 0.1, settledUsd: 0.1, unknownUsd: 0 })
  while (desk.waiting > 0) await pass(1)
  expect(woken).toBe(0)
  lease.wakeWaiters()
  lease.wakeWaiters()
  expect(woken).toBe(1)
  expect([await lease.growTo(1, { signal, leastUsd: 0.9 }), lease.usd]).toEqual([undefined, 1.5])
  lease.uses({ usd: 0, settledUsd: 0, unknownUsd: 0 })
  leave?.()
  const ofLease = () => asked.flatMap(({ body }) => body as LeaseAsk[]).filter(({ session }) => session === 's')
  while (ofLease().at(-1)?.kind !== 'report') await pass(1)
  expect([lease.usd, ...ofLease().slice(-2)]).toMatchObject([0, { kind: 'leave' }, { kind: 'report', nanos: 0 }])
})

test('an unreachable engine is called again until the wait is aborted', async () => {
  let isUp = true
  const { ingress, asked } = ingressOf(() => {
    if (isUp) return [{ kind: 'has', nanos: 1e9, reservedNanos: 0, holders: 0, waiting: 0 }]
    return asked.length % 2 === 0 ? undefined : new Response('busy', { status: 503 })
  })
  const lease = await TenantLease.open({
    ...identity,
    desk: deskOf(ingress),
    committed: { nanos: 1e9, unknownNanos: 0 },
  })
  isUp = false
  const abort = new AbortController()
  const grown = lease.growTo(5, { signal: abort.signal })
  while (asked.length < 3) await new Promise(setImmediate)
  abort.abort()
  await grown
  expect(lease.usd).toBe(1)
  const keys = asked.slice(1).map(({ key }) => key)
  expect(keys[0], 'the same call, so that none waits its turn twice').toMatch(/./)
  expect(new Set(keys).size).toBe(1)
})

test('a refusal of the engine is an error and is not retried', async () => {
  const { ingress, asked } = ingressOf(() => new Response('no', { status: 400 }))
  await expect(TenantLease.open({ ...identity, desk: deskOf(ingress) })).rejects.toThrow(/HTTP 400.*no/)
  expect(asked).toHaveLength(1)
})

test('requests made during a call go with the next one, and a caller that leaves blocks nobody', async () => {
  const answers: (() => void)[] = []
  const { ingress, asked } = ingressOf(async ({ body }) => {
    await new Promise<void>((resolve) => answers.push(resolve))
    return (body as { nanos: number }[]).map(({ nanos }) => ({ nanos, waiting: 0 }))
  })
  const desk = deskOf(ingress)
  const leaving = new AbortController()
  const of = { began: 'inv', turn: 1, process: 'p', sequence: 1, kind: 'raise' } as const
  const raise = async (session: string, nanos: number, ends = live): Promise<number> =>
    (await desk.ask({ session, nanos, ...of }, ends)).nanos
  const first = raise('a', 1)
  const [second, third, gone] = [raise('b', 2), raise('c', 3), raise('d', 4, leaving.signal)]
  leaving.abort(new Error('left'))
  await expect(gone).rejects.toThrow('left')
  answers.shift()?.()
  expect(await first).toBe(1)
  while (answers.length === 0) await new Promise(setImmediate)
  answers.shift()?.()
  expect(await Promise.all([second, third])).toEqual([2, 3])
  expect(asked.map(({ body }) => (body as unknown[]).length)).toEqual([1, 2])
})

const request: Parameters<Model['call']>[0] = {
  system: '',
  messages: [{ role: 'user', content: 'go' }],
  tools: [],
  maxOutputTokens: 100,
  idempotencyKey: 'k',
}
const options = { signal: live, emit: () => {} }

test('a model is called once its ticket is admitted, and leaving reports its tokens', async () => {
  let inside = 0
  const { ingress, asked } = ingressOf(({ path }) => {
    if (path === '/halting_pass/enter') inside++
    return true
  })
  const model = scriptedModel(() => {
    expect(inside).toBe(1)
    return { text: 'answer', usage: { input_tokens: 30, output_tokens: 12 } }
  })
  await gatedModel(model, new ProviderGate(ingress, 'key'), 's').call(request, options)
  const [entered, left] = asked
  const { ticket, tokens } = entered!.body as { ticket: string; tokens: number }
  expect(entered).toEqual({
    path: '/halting_pass/enter',
    body: { gate: 'key', ticket, session: 's', tokens },
    key: ticket,
  })
  expect(left).toEqual({ path: '/halting_gate/key/leave/send', body: { ticket, tokens: 42 }, key: null })
})

test('a dropped ticket is replaced by a new one', async () => {
  const answers = [false, true]
  const { ingress, asked } = ingressOf(({ path }) => (path === '/halting_pass/enter' ? answers.shift() : true))
  await gatedModel(scriptedModel(['answer']), new ProviderGate(ingress, 'key'), 's').call(request, options)
  const tickets = asked.filter(({ path }) => path === '/halting_pass/enter').map(({ key }) => key)
  expect(new Set(tickets).size).toBe(2)
})

test('a caller that is aborted while it waits leaves the gate, and the model is not called', async () => {
  const { ingress, asked } = ingressOf(({ path }) => (path === '/halting_pass/enter' ? new Promise(() => {}) : true))
  // Like the runtime's own.
  const heeding: typeof fetch = (input, init) =>
    Promise.race([
      ingress.fetch(input, init),
      new Promise<never>((_resolve, reject) =>
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      ),
    ])
  const model = scriptedModel(['never'])
  const abort = new AbortController()
  const gated = gatedModel(model, new ProviderGate({ ...ingress, fetch: heeding }, 'key'), 's')
  const called = gated.call(request, { ...options, signal: abort.signal })
  while (asked.length === 0) await new Promise(setImmediate)
  abort.abort()
  await expect(called).rejects.toMatchObject({ billed: 'nothing', neverConnected: true })
  expect(asked.map(({ path }) => path)).toEqual(['/halting_pass/enter', '/halting_gate/key/leave/send'])
  expect(model.requests).toEqual([])
})
