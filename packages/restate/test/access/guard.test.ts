// Holds rules of docs/spec: R-CLU-16, R-CLU-16a.
import { ConfigurationError } from '@halting/core'
import { expect, test } from 'vitest'
import { requireProof, type HandlerGuard } from '../../src/access/guard.ts'
import { proofHeader, proofHeaders } from '../../src/access/proof.ts'
import { createClusterClient } from '../../src/client/cluster-client.ts'
import { budgetDefinition } from '../../src/fleet/budget-service.ts'
import { gateDefinition, passDefinition } from '../../src/fleet/gate-service.ts'
import { callHandler } from '../../src/fleet/ingress.ts'
import { sessionDefinition } from '../../src/service/session-object.ts'

const token = 'a token that nobody guesses'

interface Call {
  readonly service: string
  readonly handler: string
  readonly key?: string
  readonly body: string
  readonly headers: { readonly [name: string]: string }
}

/** The answer of a guarded service to a call: `done`, or the status of the refusal. */
async function answerTo(tokens: readonly string[] | undefined, call: Call): Promise<unknown> {
  const { service, handler, key, body, headers } = call
  const [provider] = requireProof(tokens, ['inner']).hooks ?? []
  const request = {
    target: { service, handler, ...(key !== undefined && { key }) },
    headers: new Map(Object.entries(headers)),
    body: new TextEncoder().encode(body),
  }
  // The guard reads nothing else.
  const hooks = provider?.({ request } as unknown as Parameters<typeof provider>[0])
  const intercept = hooks?.interceptor?.handler
  try {
    await intercept?.(() => Promise.resolve())
    return 'done'
  } catch (error) {
    return (error as { readonly code: unknown }).code
  }
}

const call = { service: 'halting_session', key: 'a/b c', handler: 'prompt', body: '{"content":"x"}' }
const path = '/halting_session/a%2Fb%20c/prompt'

test('a handler answers a call that proves knowledge of a token of the cluster, and refuses others', async () => {
  const headers = proofHeaders(token, path, call.body)
  expect(await answerTo([token], { ...call, headers })).toBe('done')
  expect(await answerTo(['another that nobody guesses', token], { ...call, headers })).toBe('done')
  expect(await answerTo([token], { ...call, headers: proofHeaders(token, `${path}/send`, call.body) })).toBe('done')
  expect(await answerTo([token], { ...call, headers: {} })).toBe(401)
  for (const proof of ['', 'x', token, '0'.repeat(64)])
    expect(await answerTo([token], { ...call, headers: { [proofHeader]: proof } })).toBe(403)
  expect(
    await answerTo([token], { ...call, headers: proofHeaders('another that nobody guesses', path, call.body) }),
  ).toBe(403)
})

test('a proof is valid for one body, one handler and one session', async () => {
  const headers = proofHeaders(token, path, call.body)
  expect(headers[proofHeader]).not.toContain(token)
  for (const other of [
    { body: '{"content":"y"}' },
    { handler: 'close' },
    { key: 'a' },
    { key: 'a/b c/prompt' },
    { service: 'halting_budget' },
  ])
    expect(await answerTo([token], { ...call, ...other, headers })).toBe(403)
  expect(await answerTo([token], { service: 'halting_session', handler: 'prompt', body: call.body, headers })).toBe(403)
})

test('internal handlers need no proof, and without tokens no handler does', async () => {
  expect(await answerTo([token], { ...call, handler: 'inner', headers: {} })).toBe('done')
  expect(await answerTo(undefined, { ...call, headers: {} })).toBe('done')
  expect(await answerTo([], { ...call, headers: {} })).toBe('done')
  expect(await answerTo([], { ...call, headers: { origin: 'https://elsewhere.example' } }), 'a web page').toBe(403)
})

test.each([
  ['an image of a page', { 'user-agent': 'Mozilla/5.0', accept: 'image/*', referer: 'https://elsewhere.example/' }],
  ['the same, of a browser that says so', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
  ['a name that leads here, and no referrer', { 'user-agent': 'Mozilla/5.0', host: 'rebound.example' }],
  ['a page that gives another name of its browser', { 'user-agent': 'x', 'accept-language': 'en' }],
])('without a token, a GET by a web page is refused: %s', async (_, headers) => {
  expect(await answerTo(undefined, { ...call, handler: 'remove', body: '', headers })).toBe(403)
})

test.each([
  ['curl', { 'user-agent': 'curl/7.88.1', accept: '*/*' }],
  ['Node.js', { 'user-agent': 'node', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'content-length': '0' }],
  ['Node.js behind a proxy', { 'user-agent': 'node', 'accept-language': '*', 'sec-fetch-mode': 'cors' }],
  ['Deno', { 'user-agent': 'Deno/2.5', 'accept-language': '*', 'content-length': '0' }],
])('without a token, a program is answered, also without input: %s', async (_, headers) => {
  expect(await answerTo(undefined, { ...call, handler: 'remove', body: '', headers })).toBe('done')
})

test('clients and workers prove that they know the token without sending it', async () => {
  const asked: Call[] = []
  const ask: typeof fetch = async (input, init) => {
    const parts = (input as URL).pathname.slice(1).split('/').map(decodeURIComponent)
    const [service = '', key = '', handler = ''] = parts.length === 2 ? [parts[0], undefined, parts[1]] : parts
    const headers = Object.fromEntries(new Headers(init?.headers))
    // Calls are JSON.
    const body = (init?.body ?? '') as string
    asked.push({ service, ...(parts.length > 2 && { key }), handler, body, headers })
    return Response.json(null)
  }
  const client = createClusterClient({ ingress: 'http://engine', token, fetch: ask })
  await client.status('a session & more')
  await client.result('a session', 'p')
  await client.request('a session', { type: 'prompt', content: 'ä' }, { id: 'p' })
  const { signal } = new AbortController()
  const ingress = { url: 'http://engine', token, fetch: ask }
  await callHandler(ingress, 'halting_pass/enter', { gate: 'key' }, { signal })
  await callHandler(ingress, `halting_gate/${encodeURIComponent('a key')}/leave/send`, { ticket: 't' }, { signal })
  expect(asked.length).toBe(5)
  for (const one of asked) {
    expect(await answerTo([token], one)).toBe('done')
    expect(JSON.stringify(one.headers)).not.toContain(token)
  }
})

test('handlers without a proof are private to the engine, and no others', () => {
  const options = {
    open: () => Promise.reject(new Error('Nothing is opened.')),
    tokens: [token],
  }
  for (const definition of [
    sessionDefinition(options),
    budgetDefinition([token]),
    gateDefinition([token]),
    passDefinition([token]),
  ]) {
    const { name, options: handlerOptions, ...parts } = definition as unknown as { name: string; options: HandlerGuard }
    const [handlers = {}] = Object.values(parts) as readonly Readonly<Record<string, object>>[]
    const isOpen = (handler: string): boolean =>
      // The guard reads nothing else.
      handlerOptions.hooks?.[0]?.({ request: { target: { service: name, handler } } } as never).interceptor ===
      undefined
    // The SDK stores the options of a handler under one of its symbols.
    const isInner = (handle: object): boolean =>
      Object.getOwnPropertySymbols(handle).some((symbol) => {
        const internals = Reflect.get(handle, symbol) as { readonly options?: { readonly ingressPrivate?: boolean } }
        return internals.options?.ingressPrivate === true
      })
    for (const [handler, handle] of Object.entries(handlers))
      expect({ name, handler, isOpen: isOpen(handler) }).toEqual({ name, handler, isOpen: isInner(handle) })
  }
})

test('a token that can be guessed is rejected', () => {
  expect(() => requireProof(['short'])).toThrow(ConfigurationError)
  expect(() => requireProof(['short'])).not.toThrow('"short"')
  expect(() => createClusterClient({ ingress: 'http://engine', token: 'short' })).toThrow(ConfigurationError)
})
