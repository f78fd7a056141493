// Holds rules of docs/spec.md: R-FLEET-3, R-FLEET-6: what a worker asks of the fleet, over an ingress of which nothing is real but its answers.
import type { Model } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { newBudget, noLease, raiseLease, setBudgetLimit, type Leased } from '@halting/core/adapters'
import { ProviderGate, gatedModel } from '../../src/fleet/gated-model.ts'
import type { IngressOptions } from '../../src/fleet/ingress.ts'
import { LeaseDesk } from '../../src/fleet/lease-desk.ts'
import { TenantLease } from '../../src/fleet/tenant-lease.ts'

interface Asked {
  readonly path: string
  readonly body: unknown
  readonly key: string | null
}

/** Answers as an ingress does. `answer` gives a status, or what the handler gives back; undefined: it cannot be reached. */
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
    const given = await answer(one)
    if (given === undefined) throw new TypeError('fetch failed')
    return given instanceof Response ? given : Response.json(given)
  }
  return { asked, ingress: { url: 'http://engine', fetch: fake } }
}

const live = new AbortController().signal
const whose = { session: 's', began: 'inv', turn: 7, chunkUsd: 0.5 }
const deskOf = (ingress: IngressOptions): LeaseDesk => new LeaseDesk(ingress, 'acme & co')

function tenant(limitUsd: number) {
  let leased: Leased = { budget: setBudgetLimit(newBudget, limitUsd * 1e9), lease: noLease }
  return ingressOf(({ body }) => {
    return (body as { turn: number; nanos: number }[]).map(({ turn, nanos }) => {
      leased = raiseLease(leased, turn, nanos)
      return leased.lease.nanos
    })
  })
}

test('a lease begins with what the session has, and asks for some more than it needs', async () => {
  const { ingress, asked } = tenant(2)
  const lease = await TenantLease.open({ ...whose, desk: deskOf(ingress) }, live)
  expect([lease.usd, lease.name]).toEqual([0, 'the budget of acme & co'])
  await lease.growTo(1, { signal: live })
  expect(lease.usd).toBe(1.5)
  await lease.growTo(3, { signal: live })
  expect(lease.usd).toBe(2)
  const request = { session: 's', began: 'inv', turn: 7 }
  const path = '/halting_budget/acme%20%26%20co/raiseAll'
  expect(asked.map(({ key: _key, ...one }) => one)).toEqual([
    { path, body: [{ ...request, nanos: 0 }] },
    { path, body: [{ ...request, nanos: 1.5e9 }] },
    { path, body: [{ ...request, nanos: 3.5e9 }] },
  ])
  expect(new Set(asked.map(({ key }) => key)).size, 'each is a call of its own').toBe(3)
})

test('what another session paid counts in the session, and not for its tenant', async () => {
  const { ingress, asked } = tenant(2)
  const lease = await TenantLease.open({ ...whose, desk: deskOf(ingress), inheritedNanos: 3e9 }, live)
  expect(lease.usd).toBe(3)
  await lease.growTo(4, { signal: live })
  expect(lease.usd).toBe(4.5)
  expect(asked.at(-1)?.body).toMatchObject([{ nanos: 1.5e9 }])
  await lease.growTo(1e300, { signal: live })
  expect(lease.usd).toBe(5)
})

test('an engine that cannot be reached is asked again, until the wait is aborted', async () => {
  let isUp = true
  const { ingress, asked } = ingressOf(() => {
    if (isUp) return [1e9]
    return asked.length % 2 === 0 ? undefined : new Response('busy', { status: 503 })
  })
  const lease = await TenantLease.open({ ...whose, desk: deskOf(ingress) }, live)
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

test('what the engine refuses is an error, and not asked again', async () => {
  const { ingress, asked } = ingressOf(() => new Response('no', { status: 400 }))
  await expect(TenantLease.open({ ...whose, desk: deskOf(ingress) }, live)).rejects.toThrow(/HTTP 400.*no/)
  expect(asked).toHaveLength(1)
})

test('what sessions ask for while a call is under way goes with the next one, and who leaves holds up nobody', async () => {
  const answers: (() => void)[] = []
  const { ingress, asked } = ingressOf(async ({ body }) => {
    await new Promise<void>((resolve) => answers.push(resolve))
    return (body as { nanos: number }[]).map(({ nanos }) => nanos)
  })
  const desk = deskOf(ingress)
  const leaving = new AbortController()
  const raise = (session: string, nanos: number, signal = live): Promise<number> =>
    desk.raise({ session, began: 'inv', turn: 1, nanos }, signal)
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

test('a model is asked once its ticket is in, and the way out tells what it came to', async () => {
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

test('a ticket that was given up is taken anew', async () => {
  const answers = [false, true]
  const { ingress, asked } = ingressOf(({ path }) => (path === '/halting_pass/enter' ? answers.shift() : true))
  await gatedModel(scriptedModel(['answer']), new ProviderGate(ingress, 'key'), 's').call(request, options)
  const tickets = asked.filter(({ path }) => path === '/halting_pass/enter').map(({ key }) => key)
  expect(new Set(tickets).size).toBe(2)
})

test('whoever is aborted while they wait leaves the gate, and the model was not asked', async () => {
  const { ingress, asked } = ingressOf(({ path }) => (path === '/halting_pass/enter' ? new Promise(() => {}) : true))
  // As the runtime's own does.
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
