// Holds rules of docs/spec: R-MCP-4, R-MCP-6.
import { McpServer } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { readMcpServer } from '../../src/mcp/index.ts'
import { mcpToolName, validServerName } from '@halting/policy'
import { call, hostile, readyServers, textOf, serversOf } from './support.ts'

// One server of each kind. Other behaviours need a process each: live-servers, hostile and real-servers.

describe('a server in a file', () => {
  const env = { NAME: 'srv', EMPTY: '', KEY: 'k1', LINES: 'k1\nk2' }

  test('has variables expanded in every field', () => {
    expect(
      readMcpServer(
        { command: '${NAME}', args: ['--k=${KEY}', '${NONE:-other}', '${EMPTY:-full}'], env: { A: '${KEY}!', B: 2 } },
        env,
      ),
    ).toEqual({ type: 'stdio', command: 'srv', args: ['--k=k1', 'other', 'full'], env: { A: 'k1!', B: '2' } })
    expect(
      readMcpServer({ type: 'http', url: 'https://${NAME}/mcp', headers: { Authorization: 'Bearer ${KEY}' } }, env),
    ).toEqual({
      type: 'http',
      url: 'https://srv/mcp',
      headers: { Authorization: 'Bearer k1' },
    })
    const oauth = { clientId: '${NAME}-id', callbackPort: 8_123 }
    expect(readMcpServer({ url: 'http://x/', oauth }, env)).toMatchObject({ oauth: { ...oauth, clientId: 'srv-id' } })
    expect(readMcpServer({ url: 'http://x/' }, env)).toEqual({ type: 'http', url: 'http://x/', headers: {} })
    expect(readMcpServer({ type: 'sse', url: 'http://x/' }, env)).toMatchObject({ type: 'sse' })
  })

  test.each([
    [{}, 'it has neither a command nor a url'],
    [{ command: 7 }, 'its command must be a text that is not empty'],
    [{ command: 'a', args: 'b' }, 'its args must be a list of texts'],
    [{ command: 'a', env: { A: {} } }, 'its env.A must be a text'],
    [{ type: 'ws', url: 'ws://x' }, 'its type "ws" is not one of stdio, http, sse'],
    [{ type: 'http', url: 'file:///etc/passwd' }, 'its url must begin with http:// or https://'],
    [{ command: '${NONE}' }, 'the variable NONE is not set; ${NONE:-default} sets a default'],
    [{ command: 'a', env: { 'A=B': 'c' } }, 'its env has a name that cannot be set'],
    [{ command: '${constructor}' }, 'the variable constructor is not set; ${constructor:-default} sets a default'],
    [
      { url: 'http://x/', headers: { A: 'Bearer ${LINES}' } },
      'its headers.A has a character that cannot be sent, such as a line end',
    ],
    [{ url: 'http://x/', headers: { 'A B': 'c' } }, 'its headers have a name that cannot be sent'],
    [{ url: 'http://x/', oauth: 'id' }, 'its oauth must be an object, such as {"clientId": "…"}'],
    [{ url: 'http://x/', oauth: { clientId: '' } }, 'its oauth.clientId must be a text that is not empty'],
    [{ url: 'http://x/', oauth: { callbackPort: '80' } }, 'its oauth.callbackPort must be a port, 1 to 65535'],
    [
      { url: 'http://x/', oauth: { clientSecret: 's' } },
      'its oauth has a clientSecret: give it in the variable MCP_CLIENT_SECRET to halting mcp login',
    ],
    [{ url: 'http://me:${KEY}@x/' }, 'its url contains a user name or password; put them in a header'],
  ])('%j is rejected with a message', (given, problem) => {
    expect(readMcpServer(given, env)).toEqual({ problem })
  })
})

test('gets names that services accept and that identify one server', () => {
  expect(mcpToolName('my server', 'do.it')).toBe('mcp__my_server__do_it')
  expect(validServerName('__a__b__')).toBe('a_b')
  expect(validServerName('äöü')).toBe('')
  expect(mcpToolName('s', 'x'.repeat(100))).toHaveLength(64)
  expect(mcpToolName('s', `${'x'.repeat(100)}1`)).not.toBe(mcpToolName('s', `${'x'.repeat(100)}2`))
})

test('declared read-only runs in parallel, others do not', async () => {
  const servers = await readyServers({ s: hostile('good') })
  expect([servers.tool('mcp__s__say')?.readOnly, servers.tool('mcp__s__do')?.readOnly]).toEqual([true, false])
  expect(textOf(await call(servers, 'mcp__s__say', { text: 'hello' }))).toBe(`say said hello in ${process.cwd()}`)
})

test('in this process works', async () => {
  const instance = new McpServer({ name: 'own', version: '1' })
  instance.registerTool(
    'add',
    { description: 'adds', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
    }),
  )
  const servers = await readyServers({ own: { type: 'sdk', instance } })
  expect(textOf(await call(servers, 'mcp__own__add', { a: 20, b: 22 }))).toBe('42')
})

test('that answers when nobody waits any more leaves no timer behind', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  // Timers that the test started are over by then.
  await (await readyServers({ early: hostile('good') })).dispose()
  const before = timers()
  const servers = serversOf({ late: hostile('slow', '', { SLOW_MS: '600' }) }, { limits: { waitMs: 500 } })
  await servers.ready()
  await servers.settled()
  expect(servers.statuses).toMatchObject([{ status: 'connected' }])
  await servers.dispose()
  expect(timers()).toBeLessThanOrEqual(before)
})
