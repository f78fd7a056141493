// Spec R-HOST-12: servers in the process of the host.
import { McpServers } from '@halting/agent/mcp'
import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { afterEach, expect, test } from 'vitest'
import { HostServers, rulesOfServers } from '../../src/host/host-servers.ts'
import { fakeHost } from './support/fake-host.ts'

const initialize = { sdkServers: ['calc'], sdkServerConfigs: {}, sdkServerManifests: {} }
const open = new Set<McpServers>()

afterEach(async () => {
  await Promise.all([...open].map((servers) => servers.dispose()))
  open.clear()
})

function serversOf(entries: ReturnType<HostServers['begin']>, toolMs = 20_000, connectMs = 20_000): McpServers {
  const limits = { toolMs, connectMs, waitMs: 20_000, waitAfterFirstMs: 20_000, killGraceMs: 100 }
  const made = new McpServers({ servers: entries, cwd: process.cwd(), limits })
  open.add(made)
  return made
}

const tools = { tools: [{ name: 'add', description: 'adds', inputSchema: { type: 'object' } }] }

interface Rpc {
  readonly id?: number
  readonly method?: string
  readonly params: JsonObject
}

function readRpc(request: JsonObject): Rpc {
  const { message } = request
  if (!isJsonObject(message)) throw new Error('no message')
  const { id, method, params } = message
  return {
    ...(id !== undefined && { id: Number(id) }),
    ...(typeof method === 'string' && { method }),
    params: isJsonObject(params) ? params : {},
  }
}

/** A server with one tool in the process of a host. */
function calc(call: (params: JsonObject) => JsonObject | undefined): (request: JsonObject) => JsonObject | undefined {
  return (request) => {
    const { id, method, params } = readRpc(request)
    const answer = (result: JsonObject): JsonObject => ({ mcp_response: { jsonrpc: '2.0', id: id ?? 0, result } })
    if (method === 'initialize')
      return answer({
        protocolVersion: params['protocolVersion'] ?? '',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'calc', version: '1.0' },
      })
    if (method === 'tools/list') return answer(tools)
    if (method !== 'tools/call') return answer({})
    const result = call(params)
    return result === undefined ? undefined : answer(result)
  }
}

const three = { content: [{ type: 'text', text: '3' }] }
const methods = (asked: readonly JsonObject[]) => asked.map((request) => readRpc(request).method)

test('greets, lists and calls a server through the host', async () => {
  const host = fakeHost(calc(() => three))
  const servers = serversOf(new HostServers(host.control).begin(initialize))
  await servers.ready()
  expect([servers.names, servers.statuses[0]?.info]).toEqual([['mcp__calc__add'], { name: 'calc', version: '1.0' }])
  expect(await servers.ask('mcp__calc__add', { a: 1 }, new AbortController().signal)).toBe('3')
  expect(methods(host.sentRequests())).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call'])
  expect(host.sentRequests()[3]).toMatchObject({ subtype: 'mcp_message', server_name: 'calc' })
})

test('uses the manifest of the host instead of requests, for the first connection only', async () => {
  const first = fakeHost(calc(() => three))
  const before = serversOf(new HostServers(first.control).begin(initialize))
  await before.ready()
  const { protocolVersion } = readRpc(first.sentRequests()[0] ?? {}).params
  const initializeResult = {
    protocolVersion: protocolVersion ?? '',
    capabilities: { tools: {} },
    serverInfo: { name: 'calc', version: '1.0' },
  }
  const manifests = { calc: { initializeResult, toolsListResult: tools } }
  const host = fakeHost(calc(() => three))
  const servers = serversOf(new HostServers(host.control).begin({ ...initialize, sdkServerManifests: manifests }))
  await servers.ready()
  expect([servers.names, host.sentRequests()]).toEqual([['mcp__calc__add'], []])
  await servers.reconnect('calc')
  expect(methods(host.sentRequests())).toEqual(['initialize', 'notifications/initialized', 'tools/list'])
})

test('ignores a manifest of another protocol version', async () => {
  const host = fakeHost(calc(() => three))
  const initializeResult = { protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
  const servers = serversOf(
    new HostServers(host.control).begin({ ...initialize, sdkServerManifests: { calc: { initializeResult } } }),
  )
  await servers.ready()
  expect([servers.names, methods(host.sentRequests())[0]]).toEqual([['mcp__calc__add'], 'initialize'])
})

test('an unanswered call times out, and is cancelled', async () => {
  const host = fakeHost(calc(() => undefined))
  const servers = serversOf(new HostServers(host.control).begin(initialize), 50)
  await servers.ready()
  const asked = servers.ask('mcp__calc__add', {}, new AbortController().signal)
  await expect(asked).rejects.toThrow(/timed out/i)
  expect([methods(host.sentRequests()).at(-1), host.cancelled()]).toEqual(['notifications/cancelled', [host.ids()[3]]])
})

test('the timeout of a server overrides the default one', async () => {
  const host = fakeHost(calc(() => undefined))
  const configs = { calc: { timeout: 1_000 } }
  const servers = serversOf(new HostServers(host.control).begin({ ...initialize, sdkServerConfigs: configs }), 60_000)
  await servers.ready()
  const asked = servers.ask('mcp__calc__add', {}, new AbortController().signal)
  await expect(asked).rejects.toThrow(/timed out/i)
})

test('a server that never answers fails after its timeout, and receives no more requests', async () => {
  const host = fakeHost()
  const servers = serversOf(new HostServers(host.control).begin(initialize), 20_000, 50)
  await servers.settled()
  expect([servers.statuses[0]?.status, servers.statuses[0]?.problem]).toEqual([
    'failed',
    expect.stringContaining('did not answer within'),
  ])
  expect(host.cancelled()).toEqual(host.ids().slice(0, 1))
})

test('an error of the host fails the call', async () => {
  const host = fakeHost(calc(() => undefined))
  const servers = serversOf(new HostServers(host.control).begin(initialize))
  await servers.ready()
  const asked = servers.ask('mcp__calc__add', {}, new AbortController().signal)
  await new Promise((resolve) => setImmediate(resolve))
  host.refuse(3, 'the handler broke')
  await expect(asked).rejects.toThrow('the handler broke')
})

test('a host that is gone fails pending calls', async () => {
  const host = fakeHost(calc(() => undefined))
  const servers = serversOf(new HostServers(host.control).begin(initialize))
  await servers.ready()
  const asked = servers.ask('mcp__calc__add', {}, new AbortController().signal)
  await new Promise((resolve) => setImmediate(resolve))
  host.control.disconnect('The host has gone.')
  await expect(asked).rejects.toThrow('The host has gone.')
})

test('receives messages of the server, such as a changed tool list', async () => {
  let listed = tools
  const host = fakeHost((request) => {
    const { id, method } = readRpc(request)
    if (method === 'tools/list') return { mcp_response: { jsonrpc: '2.0', id: id ?? 0, result: listed } }
    return calc(() => three)(request)
  })
  const own = new HostServers(host.control)
  const servers = serversOf(own.begin(initialize))
  await servers.ready()
  listed = { tools: [...tools.tools, { name: 'sub', description: 'takes away', inputSchema: { type: 'object' } }] }
  const changed = new Promise<void>((resolve) => void servers.onChange(resolve))
  own.receive({ server_name: 'calc', message: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } })
  await changed
  expect(servers.names).toEqual(['mcp__calc__add', 'mcp__calc__sub'])
  expect(() => own.receive({ server_name: 'none', message: {} })).toThrow('The host has no MCP server "none".')
  expect(() => own.receive({ server_name: 'calc' })).toThrow('mcp_message needs a message')
})

test('a new set keeps the servers of the host, and reads the others like settings', async () => {
  const host = fakeHost(calc(() => three))
  const own = new HostServers(host.control)
  const servers = serversOf(own.begin(initialize))
  await servers.ready()
  const given = { calc: { type: 'sdk', name: 'calc' }, odd: { type: 'ws' }, none: 7, gone: { command: '' } }
  const { added, removed, errors } = await servers.replace(await own.entries(given, {}))
  expect([added, removed, errors]).toEqual([
    ['odd', 'none', 'gone'],
    [],
    {
      odd: 'its type "ws" is not one of stdio, http, sse',
      none: 'it must be an object',
      gone: 'its command must be a text that is not empty',
    },
  ])
  expect(methods(host.sentRequests()).filter((method) => method === 'initialize').length).toBe(1)
  expect((await servers.replace(await own.entries({}, {}))).removed).toEqual(['calc', 'odd', 'none', 'gone'])
  await expect(own.entries([], {})).rejects.toThrow('mcp_set_servers needs servers')
})

test('policies of single tools become rules', async () => {
  const config = {
    tools: [
      { name: 'a', permission_policy: 'always_ask' },
      { name: 'b', permission_policy: 'always_deny' },
      { name: 'c', permission_policy: 'always_allow' },
      { name: 'd', permission_policy: 'sometimes' },
      { name: 'e' },
      { permission_policy: 'always_deny' },
    ],
  }
  expect(await rulesOfServers({ s: config, t: {}, u: { tools: 7 } })).toEqual({
    ask: ['mcp__s__a', 'mcp__s__d'],
    deny: ['mcp__s__b'],
  })
})
