// Holds rules of docs/spec.md: R-MCP-3, R-MCP-3b, R-MCP-5, R-MCP-5a, R-MCP-7b, R-MCP-12: what servers say, by HTTP and in this process.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { boundedFetch } from '../../src/mcp/bounded-fetch.ts'
import type { McpServerConfig } from '../../src/mcp/index.ts'
import { call, readyServers, textOf, until } from './support.ts'

type Said = Readonly<Record<string, unknown>>

/** A server in this process that offers these tools, and gives this for each call. */
function saying(tools: readonly Said[], result: Said = { content: [] }): McpServerConfig {
  const instance = {
    async connect(transport: never) {
      const theirs = transport as {
        onmessage?: (message: Said & { readonly params?: Said }) => void
        start(): Promise<void>
        send(message: Said): Promise<void>
      }
      theirs.onmessage = ({ id, method, params }) => {
        const answer = answerTo(method, params, tools, result)
        if (answer !== undefined) void theirs.send({ jsonrpc: '2.0', id, ...answer })
      }
      await theirs.start()
    },
  }
  return { type: 'sdk', instance }
}

function answerTo(method: unknown, params: Said = {}, tools: readonly Said[], result: Said): Said | undefined {
  if (method === 'initialize')
    return {
      result: {
        protocolVersion: params['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      },
    }
  if (method === 'tools/list') return { result: { tools } }
  if (method === 'tools/call') return 'error' in result ? result : { result }
  return undefined
}

const tool = (name: string, more: Said = {}): Said => ({ name, inputSchema: { type: 'object' }, ...more })

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/mcp`
}

test('half a character is shown as none: no service takes it', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string', description: 'a\uD800', enum: ['\uDC00'] } } }
  const servers = await readyServers({
    s: saying([tool('a', { description: `${'d'.repeat(2_047)}\u{1F600}`, inputSchema: schema }), tool('b\uD800')], {
      content: [{ type: 'text', text: 'x\uD800' }],
      isError: true,
    }),
  })
  expect(servers.names).toEqual(['mcp__s__a', 'mcp__s__b_'])
  const said = JSON.stringify([
    ...servers.names.map((name) => [servers.tool(name)?.description, servers.tool(name)?.inputSchema]),
    await call(servers, 'mcp__s__a'),
  ])
  expect(said).not.toMatch(/\\ud[89a-f]/)
  expect(said).toContain('x\uFFFD')
})

test.each([
  { uniqueItems: 'yes' },
  { examples: 'one' },
  { minLength: -1 },
  { maxItems: 1.5 },
  { deprecated: 'soon' },
  { multipleOf: 0 },
  { type: ['string', 'string'] },
  { dependentRequired: { a: 'b' } },
  { $schema: 7 },
  { $anchor: 7 },
  { patternProperties: { '(': {} } },
])('a schema with %j is shown as any object: it is none', async (part) => {
  const inputSchema = { type: 'object', properties: { a: part } }
  const servers = await readyServers({ s: saying([tool('a', { inputSchema })]) })
  expect(servers.tool('mcp__s__a')?.inputSchema).toEqual({ type: 'object' })
})

test('a result of very many parts comes as one', async () => {
  const content = Array.from({ length: 5_000 }, (_, index) => ({ type: 'text', text: `${index % 10}` }))
  const output = await call(await readyServers({ s: saying([tool('a')], { content }) }), 'mcp__s__a')
  expect(output.content).toBe(content.map(({ text }) => text).join('\n'))
})

test('what a server says of time is no end of ours', async () => {
  const error = { code: -32_000, message: 'The query timed out' }
  const output = await call(await readyServers({ s: saying([tool('a')], { error }) }), 'mcp__s__a')
  expect([output.isError, textOf(output)]).toEqual([true, 'The query timed out'])
})

test('a search finds no tool that is denied', async () => {
  const servers = await readyServers(
    { s: saying([tool('look'), tool('look_deeper')]) },
    { contextWindow: 100, hides: (name) => name === 'mcp__s__look_deeper' },
  )
  const text = textOf(await call(servers, 'ToolSearch', { query: 'look' }))
  expect(text).toContain('mcp__s__look: ')
  expect(text).not.toContain('look_deeper')
})

test('a server that was started anew by its owner is connected to again, and no call is made twice', async () => {
  let session = 'first'
  const calls: unknown[] = []
  const url = await listening((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const { id, method, params } = JSON.parse(body) as Said & { readonly params?: Said }
      const isKnown = method === 'initialize' || request.headers['mcp-session-id'] === session
      if (method === 'tools/call') calls.push(isKnown)
      if (!isKnown) return response.writeHead(404).end()
      if (id === undefined) return response.writeHead(202).end()
      const answer = answerTo(method, params, [tool('a')], { content: [{ type: 'text', text: 'done' }] })
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
  })
  const servers = await readyServers({ s: { type: 'http', url, headers: {} } })
  expect(textOf(await call(servers, 'mcp__s__a'))).toBe('done')
  session = 'second'
  expect(textOf(await call(servers, 'mcp__s__a'))).toMatch(/started anew and did not take this.*call once more/)
  await until(() => servers.statuses[0]?.status === 'connected')
  expect(textOf(await call(servers, 'mcp__s__a'))).toBe('done')
  expect(calls).toEqual([true, false, true])
})

test.each([
  ['\n', 'data: x\n'],
  ['\r\n', 'data: x\r\n'],
  ['\r', 'data: x\r'],
])('an event of many lines that end with %j is as bounded as one of one line', async (_, line) => {
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(line.repeat(1_000))
  })
  const response = await boundedFetch(1_000)(url)
  await expect(response.text()).rejects.toThrow('too large')
  const small = await boundedFetch(20_000)(url)
  expect(await small.text()).toBe(line.repeat(1_000))
})

test('events that are small are as many as they like', async () => {
  const event = 'data: x\r\n\r\n'
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event.repeat(1_000))
  })
  expect(await (await boundedFetch(1_000)(url)).text()).toBe(event.repeat(1_000))
})
