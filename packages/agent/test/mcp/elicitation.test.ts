// Holds R-MCP-11 to R-MCP-11d of docs/spec: questions of servers to a person, as forms and as pages to open.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { ElicitationAnswer, ElicitationRequest, McpOptions, McpServerConfig } from '../../src/mcp/index.ts'
import {
  pagesRefused,
  pagesUnfinished,
  pagesUnusable,
  pageUnopened,
  questionUnanswered,
} from '../../src/mcp/elicitation-texts.ts'
import { call, readyServers, textOf } from './support.ts'

const host = 'auth.example.com'

function asking(env: Readonly<Record<string, string>> = {}): { readonly s: McpServerConfig } {
  const script = fileURLToPath(new URL('asking-server.mjs', import.meta.url))
  return { s: { type: 'stdio', command: process.execPath, args: [script], env } }
}

/** Servers with a user who answers like this; `asked` has what they saw. */
async function withPerson(
  says: (request: ElicitationRequest, signal: AbortSignal) => ElicitationAnswer | Promise<ElicitationAnswer>,
  options: Partial<McpOptions> = {},
  env: Readonly<Record<string, string>> = {},
) {
  const asked: ElicitationRequest[] = []
  const servers = await readyServers(asking(env), {
    ...options,
    elicit: async (_server, request, signal) => {
      asked.push(request)
      return says(request, signal)
    },
  })
  return { servers, asked }
}

const accept = (): ElicitationAnswer => ({ action: 'accept' })

test('announces that forms and pages can be shown', async () => {
  const { servers } = await withPerson(accept)
  expect(servers.statuses[0]?.info?.version).toBe('{"form":{},"url":{}}')
})

test.each<readonly [tool: string, answer: ElicitationAnswer, reply: object]>([
  ['form', { action: 'accept', content: { name: 'Ada' } }, { action: 'accept', content: { name: 'Ada' } }],
  ['form', { action: 'decline' }, { action: 'decline' }],
  ['form', { action: 'cancel' }, { action: 'cancel' }],
  // A page has no fields.
  ['page', { action: 'accept', content: { name: 'Ada' } }, { action: 'accept' }],
  ['page', { action: 'decline' }, { action: 'decline' }],
  ['page', { action: 'cancel' }, { action: 'cancel' }],
])('passes an answer to a %s to its server: %j', async (tool, answer, reply) => {
  const { servers } = await withPerson(() => answer)
  expect(JSON.parse(textOf(await call(servers, `mcp__s__${tool}`)))).toEqual(reply)
})

test('shows the whole address of a page, never fetches it, and reports when it is finished', async () => {
  let fetched = 0
  const site = createServer((_request, response) => {
    fetched += 1
    response.end()
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/connect?state=abc`
  let finished = false
  const { servers, asked } = await withPerson(
    ({ completed }) => {
      completed?.addEventListener('abort', () => (finished = true))
      return accept()
    },
    {},
    { PAGE_URL: url },
  )
  await call(servers, 'mcp__s__page')
  await expect.poll(() => finished).toBe(true)
  expect(asked).toEqual([
    expect.objectContaining({ mode: 'url', message: 'Connect your account', url, elicitationId: 'page-1' }),
  ])
  expect(fetched).toBe(0)
  site.close()
})

test('declines an address that no browser should open, and asks nobody', async () => {
  const { servers, asked } = await withPerson(accept)
  expect(JSON.parse(textOf(await call(servers, 'mcp__s__bad-page')))).toEqual({ action: 'decline' })
  expect(await call(servers, 'mcp__s__needs-nothing')).toMatchObject({ isError: true, content: pagesUnusable('s') })
  expect(asked).toEqual([])
})

test.each([
  // To some URL parsers the host is what follows the @.
  ['https://good.example\\@evil.example/x', 'https://good.example/@evil.example/x'],
  ['https:evil.example', 'https://evil.example/'],
  ['https://b\u00FCcher.example/\u202Egro.elpmaxe', 'https://xn--bcher-kva.example/%E2%80%AEgro.elpmaxe'],
  [' https://a.exa\nmple/\u001B[2J ', 'https://a.example/%1B[2J'],
])('shows an address as a browser parses it: %j', async (url, shown) => {
  const { servers, asked } = await withPerson(accept, {}, { PAGE_URL: url })
  await call(servers, 'mcp__s__page')
  expect(asked.map((request) => request.url)).toEqual([shown])
})

test.each(['https://good.example@evil.example/', 'https://:key@evil.example/'])(
  'declines an address with a user name or password: %s',
  async (url) => {
    const { servers, asked } = await withPerson(accept, {}, { PAGE_URL: url })
    expect(JSON.parse(textOf(await call(servers, 'mcp__s__page')))).toEqual({ action: 'decline' })
    expect(asked).toEqual([])
  },
)

test('shows ten of many questions at once, and declines the rest', async () => {
  const { servers, asked } = await withPerson(async () => {
    await setTimeout(200)
    return { action: 'accept', content: { name: 'Ada' } }
  })
  const actions = textOf(await call(servers, 'mcp__s__many')).split(' ')
  expect(actions.filter((action) => action === 'accept')).toHaveLength(10)
  expect(actions.filter((action) => action === 'decline')).toHaveLength(20)
  expect(asked).toHaveLength(10)
})

test('declines a server that keeps asking after ten refusals, until it is called again', async () => {
  const notices: string[] = []
  const { servers, asked } = await withPerson(() => ({ action: 'decline' }), {
    onUnanswered: (text) => void notices.push(text),
  })
  expect(textOf(await call(servers, 'mcp__s__again'))).toBe('decline '.repeat(30).trim())
  expect(asked).toHaveLength(10)
  await call(servers, 'mcp__s__form')
  expect(asked).toHaveLength(11)
  expect(notices).toEqual([expect.stringContaining('The MCP server s asks too many questions')])
})

test('answers two questions at once separately', async () => {
  const { servers } = await withPerson(({ mode }) =>
    mode === 'url' ? { action: 'decline' } : { action: 'accept', content: { name: 'Ada' } },
  )
  expect(JSON.parse(textOf(await call(servers, 'mcp__s__two')))).toEqual(
    expect.arrayContaining([{ action: 'accept', content: { name: 'Ada' } }, { action: 'decline' }]),
  )
})

test.each(['form', 'page', 'needs'])('an abort withdraws the question of %s', async (tool) => {
  let withdrawn = false
  const abort = new AbortController()
  const { servers } = await withPerson((_request, signal) => {
    signal.addEventListener('abort', () => (withdrawn = true))
    abort.abort()
    return new Promise(() => undefined)
  })
  await expect(call(servers, `mcp__s__${tool}`, {}, abort.signal)).rejects.toThrow('aborted')
  // Even if the server does not withdraw it.
  await expect.poll(() => withdrawn).toBe(true)
})

test('a server that dies withdraws its question', async () => {
  let withdrawn = false
  const { servers } = await withPerson((_request, signal) => {
    signal.addEventListener('abort', () => (withdrawn = true))
    return new Promise(() => undefined)
  })
  expect(await call(servers, 'mcp__s__die')).toMatchObject({ isError: true })
  await expect.poll(() => withdrawn).toBe(true)
})

test('repeats a call that needs a page once the server reports that the user has finished', async () => {
  const { servers, asked } = await withPerson(accept)
  const started = performance.now()
  expect(textOf(await call(servers, 'mcp__s__needs'))).toBe('connected')
  expect(asked).toHaveLength(1)
  expect(performance.now() - started).toBeLessThan(20_000)
})

test.each<readonly [answer: ElicitationAnswer['action'], text: string]>([
  ['decline', pagesRefused('s', [host], 'declined')],
  ['cancel', pagesRefused('s', [host], 'declined')],
  ['accept', pagesUnfinished('s', [host])],
])('returns an error with advice for a call that needs a page: %s', async (action, text) => {
  const { servers, asked } = await withPerson(() => ({ action }), { limits: { pageMs: 50 } })
  expect(await call(servers, 'mcp__s__needs-still')).toMatchObject({ isError: true, content: text })
  expect(asked).toHaveLength(1)
})

test('reports in the result and a notice what was declined if nobody can answer', async () => {
  const notices: string[] = []
  const servers = await readyServers(asking(), { onUnanswered: (text) => void notices.push(text) })
  for (let times = 0; times < 2; times++) {
    expect(textOf(await call(servers, 'mcp__s__form'))).toBe(
      `{"action":"decline"}\n${questionUnanswered('s', 'Your name?')}`,
    )
    expect(textOf(await call(servers, 'mcp__s__page'))).toBe(`{"action":"decline"}\n${pageUnopened('s', host)}`)
  }
  expect(await call(servers, 'mcp__s__needs-still')).toMatchObject({
    isError: true,
    content: pagesRefused('s', [host], 'no user'),
  })
  expect(notices).toEqual([
    expect.stringContaining('The MCP server s asked "Your name?". Nobody can answer here'),
    expect.stringContaining(`asked to open https://${host}/connect?state=abc (host: ${host})`),
  ])
})
