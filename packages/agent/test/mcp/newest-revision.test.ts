// Holds R-MCP-20 to R-MCP-20b of docs/spec: servers of revision 2026-07-28, which has no `initialize`.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { McpServerConfig } from '../../src/mcp/index.ts'
import { answerTo, type JsonFields, tool } from './in-process-server.ts'
import { call, readyServers, textOf, until } from './support.ts'

type Message = JsonFields & { readonly method?: string; readonly params?: JsonFields }

const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
const discovered = {
  ...cached,
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true } },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'new', version: '7' } },
}
const noMethod = { error: { code: -32_601, message: 'no such method' } }

/** The answers of a server with only the newest revision. */
function newest({ method }: Message, tools: readonly JsonFields[]): JsonFields | undefined {
  if (method === 'server/discover') return { result: discovered }
  if (method === 'tools/list') return { result: { ...cached, tools } }
  if (method === 'tools/call') return { result: { resultType: 'complete', content: [{ type: 'text', text: 'done' }] } }
  return noMethod
}

interface Heard {
  readonly server: McpServerConfig
  readonly methods: string[]
  readonly send: (message: JsonFields) => void
  readonly connections: () => number
}

/** A server in this process with these answers, and the requests that it received. */
function inProcess(answer: (message: Message) => JsonFields | undefined): Heard {
  const methods: string[] = []
  let connections = 0
  let theirs: { readonly send: (message: JsonFields) => Promise<void>; readonly start: () => Promise<void> } | undefined
  const send = (message: JsonFields): void => void theirs?.send({ jsonrpc: '2.0', ...message })
  const instance = {
    async connect(transport: never) {
      connections += 1
      theirs = transport as NonNullable<typeof theirs>
      const onmessage = (message: Message): void => {
        if (message.method !== undefined) methods.push(message.method)
        const answered = message.id === undefined ? undefined : answer(message)
        if (answered !== undefined) send({ id: message.id, ...answered })
      }
      Object.assign(theirs, { onmessage })
      await theirs.start()
    },
  }
  return { server: { type: 'sdk', instance }, methods, send, connections: () => connections }
}

describe('a server over a pipe', () => {
  test('that knows initialize gets no request before it', async () => {
    const heard = inProcess((message) => answerTo(message.method, message.params, [tool('a')], { content: [] }))
    await readyServers({ s: heard.server })
    expect(heard.methods).toEqual(['initialize', 'notifications/initialized', 'tools/list'])
  })

  test.each([
    ['an unknown method', noMethod],
    [
      'an unknown version',
      {
        error: { code: -32_022, message: 'unsupported', data: { supported: ['2026-07-28'], requested: '2025-11-25' } },
      },
    ],
    [
      'a version of its own',
      { result: { protocolVersion: '2026-07-28', capabilities: {}, serverInfo: { name: 'x', version: '1' } } },
    ],
  ])('that answers initialize with %s is asked for the newest revision, over the same pipe', async (_, initialize) => {
    const heard = inProcess((message) => (message.method === 'initialize' ? initialize : newest(message, [tool('a')])))
    const servers = await readyServers({ s: heard.server })
    expect(servers.statuses).toMatchObject([{ status: 'connected', tools: 1, info: { name: 'new', version: '7' } }])
    expect(textOf(await call(servers, 'mcp__s__a'))).toBe('done')
    expect([heard.connections(), heard.methods.slice(0, 3)]).toEqual([
      1,
      ['initialize', 'server/discover', 'tools/list'],
    ])
  })

  test('that supports no revision is reported as failed, with its own message', async () => {
    const heard = inProcess(() => ({ error: { code: -32_000, message: 'closed on Sundays' } }))
    const servers = await readyServers({ s: heard.server })
    expect(servers.statuses).toMatchObject([
      { status: 'failed', problem: expect.stringContaining('closed on Sundays') },
    ])
  })

  test('is asked to report changed lists', async () => {
    const tools = [tool('a')]
    const heard = inProcess((message) => {
      if (message.method === 'initialize') return noMethod
      if (message.method !== 'subscriptions/listen') return newest(message, tools)
      const meta = { 'io.modelcontextprotocol/subscriptionId': message.id }
      heard.send({
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true }, _meta: meta },
      })
      setTimeout(() => {
        tools.push(tool('b'))
        heard.send({ method: 'notifications/tools/list_changed', params: { _meta: meta } })
      }, 10)
      return undefined
    })
    const servers = await readyServers({ s: heard.server })
    await until(() => servers.names.length === 2)
    expect(servers.names).toEqual(['mcp__s__a', 'mcp__s__b'])
  })

  test('with one odd tool or block loses only that', async () => {
    const odd = { ...tool('odd'), inputSchema: { properties: null }, outputSchema: 7, description: null }
    const heard = inProcess((message) => {
      if (message.method === 'initialize') return noMethod
      if (message.method === 'tools/list') return { result: { resultType: 'complete', tools: [odd, 7, tool('a')] } }
      if (message.method !== 'tools/call') return newest(message, [])
      return {
        result: {
          resultType: 'complete',
          content: [{ type: 'video' }, { type: 'text', text: 'known' }],
          structuredContent: [1],
        },
      }
    })
    const servers = await readyServers({ s: heard.server })
    expect(servers.names).toEqual(['mcp__s__odd', 'mcp__s__a'])
    expect(textOf(await call(servers, 'mcp__s__odd'))).toBe('[video, not shown]\nknown')
  })

  test('may ask a user within a call, and a call with its questions has one time limit', async () => {
    let asked = 0
    const question = {
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: 'Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      },
    }
    const heard = inProcess((message) => {
      if (message.method === 'initialize') return noMethod
      if (message.method !== 'tools/call') return newest(message, [tool('a')])
      const { inputResponses } = message.params ?? {}
      if (inputResponses === undefined)
        return { result: { resultType: 'input_required', inputRequests: { q: question }, requestState: 'one' } }
      return { result: { resultType: 'complete', content: [{ type: 'text', text: JSON.stringify(inputResponses) }] } }
    })
    const servers = await readyServers(
      { s: heard.server },
      { elicit: async () => ((asked += 1), { action: 'accept', content: { name: 'Ada' } }) },
    )
    expect(textOf(await call(servers, 'mcp__s__a'))).toContain('"Ada"')
    expect(asked).toBe(1)
  })
})

describe('a server over HTTP', () => {
  /** Its answer to each message: only a status, or a message. */
  async function byHttp(answer: (message: Message, request: IncomingMessage) => number | JsonFields | undefined) {
    const methods: string[] = []
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        if (request.method !== 'POST') return response.writeHead(405).end()
        const message = JSON.parse(body) as Message
        methods.push(String(message.method))
        const answered = message.id === undefined ? 202 : answer(message, request)
        if (typeof answered === 'number') return response.writeHead(answered).end()
        // A silent one.
        if (answered === undefined) return
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answered }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    // A server that listens on TCP has such an address.
    const { port } = server.address() as AddressInfo
    return { methods, server: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} } as const }
  }

  const old = (message: Message) =>
    answerTo(message.method, message.params, [tool('a')], { content: [{ type: 'text', text: 'old' }] })

  test('with only the newest revision is connected, with its headers', async () => {
    const headers: unknown[] = []
    const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
    const { server } = await byHttp((message, request) => {
      if (message.method === 'tools/call')
        headers.push(request.headers['mcp-method'], request.headers['mcp-param-region'])
      return newest(message, [tool('a', { inputSchema })])
    })
    const servers = await readyServers({ s: server })
    expect(textOf(await call(servers, 'mcp__s__a', { region: 'eu' }))).toBe('done')
    expect(headers).toEqual(['tools/call', 'eu'])
  })

  test.each([
    ['an error of the protocol', noMethod],
    ['HTTP 400', 400],
    ['HTTP 404', 404],
    ['HTTP 500', 500],
    ['nothing that can be read', { result: 'none' }],
    ['nothing at all', undefined],
  ])('that answers unknown requests with %s uses an older revision', async (_, unknown) => {
    const { server, methods } = await byHttp((message) =>
      message.method === 'server/discover' ? unknown : old(message),
    )
    const servers = await readyServers({ s: server }, { limits: { connectMs: 1_500 } })
    expect(textOf(await call(servers, 'mcp__s__a'))).toBe('old')
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(1)
  })
})
