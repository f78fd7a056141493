// Holds rules of docs/spec: R-MCP-3, R-MCP-3b, R-MCP-3c, R-MCP-5, R-MCP-5a, R-MCP-7b, R-MCP-8, R-MCP-12, R-MCP-16l: what servers say, by HTTP and in this process.
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '@halting/core'
import { expect, onTestFinished, test } from 'vitest'
import { boundedFetch } from '../../src/mcp/bounded-fetch.ts'
import { Flood } from '../../src/mcp/flood.ts'
import type { McpServerConfig } from '../../src/mcp/index.ts'
import { outputOfCall } from '../../src/mcp/results.ts'
import { answerTo, type JsonFields, saying, tool } from './in-process-server.ts'
import { call, hostile, readyServers, textOf, until } from './support.ts'

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

test('removes half a character: no service accepts it', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string', description: 'a\uD800', enum: ['\uDC00'] } } }
  const servers = await readyServers({
    s: saying([tool('a', { description: `${'d'.repeat(2_047)}\u{1F600}`, inputSchema: schema }), tool('b\uD800')], {
      content: [{ type: 'text', text: 'x\uD800' }],
      isError: true,
    }),
  })
  expect(servers.names).toEqual(['mcp__s__a', 'mcp__s__b_'])
  const message = JSON.stringify([
    ...servers.names.map((name) => [servers.tool(name)?.description, servers.tool(name)?.inputSchema]),
    await call(servers, 'mcp__s__a'),
  ])
  expect(message).not.toMatch(/\\ud[89a-f]/)
  expect(message).toContain('x\uFFFD')
})

test('joins a result of very many parts', async () => {
  const content = Array.from({ length: 5_000 }, (_, index) => ({ type: 'text', text: `${index % 10}` }))
  const output = await call(await readyServers({ s: saying([tool('a')], { content }) }), 'mcp__s__a')
  expect(output.content).toBe(content.map(({ text }) => text).join('\n'))
})

test("a server's own timeout message is not our timeout", async () => {
  const error = { code: -32_000, message: 'The query timed out' }
  const output = await call(await readyServers({ s: saying([tool('a')], { error }) }), 'mcp__s__a')
  expect([output.isError, textOf(output)]).toEqual([true, 'The query timed out'])
})

test('a search finds no denied tool', async () => {
  const servers = await readyServers(
    { s: saying([tool('look'), tool('look_deeper')]) },
    { contextWindow: 100, hides: (name) => name === 'mcp__s__look_deeper' },
  )
  const text = textOf(await call(servers, 'ToolSearch', { query: 'look' }))
  expect(text).toContain('mcp__s__look: ')
  expect(text).not.toContain('look_deeper')
})

/** A server over HTTP that handles a call, and a request for events, with the listener. */
async function byHttp(
  call: (message: JsonFields & { readonly params?: JsonFields }, response: ServerResponse) => unknown,
  events: (response: ServerResponse) => unknown = (response) => response.writeHead(405).end(),
): Promise<McpServerConfig> {
  const url = await listening((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      if (request.method !== 'POST') return events(response)
      const message = JSON.parse(body) as JsonFields & { readonly params?: JsonFields }
      if (message.method === 'tools/call') return call(message, response)
      if (message.id === undefined) return response.writeHead(202).end()
      return respond(response, message)
    })
  })
  return { type: 'http', url, headers: {} }
}

function respond(response: ServerResponse, { id, method, params }: JsonFields & { readonly params?: JsonFields }) {
  const answer = answerTo(method, params, [tool('a')], { content: [{ type: 'text', text: 'done' }] })
  response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
  return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}

test('reconnects to a restarted server, and repeats no call', async () => {
  const calls: string[] = []
  const server = await byHttp((message, response) => {
    calls.push(calls.length === 1 ? 'unknown' : 'known')
    return calls.at(-1) === 'known' ? respond(response, message) : response.writeHead(404).end()
  })
  const servers = await readyServers({ s: server })
  expect(textOf(await call(servers, 'mcp__s__a'))).toBe('done')
  expect(textOf(await call(servers, 'mcp__s__a'))).toMatch(/restarted and did not receive this call.*call again/)
  await until(() => servers.statuses[0]?.status === 'connected')
  expect(textOf(await call(servers, 'mcp__s__a'))).toBe('done')
  expect(calls).toEqual(['known', 'unknown', 'known'])
})

test('ends a call whose stream ends without an answer, with unknown outcome', async () => {
  const server = await byHttp((_said, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begun\n\n', () => response.destroy())
  })
  const output = await call(await readyServers({ s: server }), 'mcp__s__a')
  expect([output.isError, textOf(output)]).toEqual([
    true,
    'The MCP server closed the connection before it answered. The call may have taken effect: check before you repeat it.',
  ])
})

test('reconnects an ended event stream with a pause, even if its server wants none', async () => {
  let streams = 0
  const server = await byHttp(
    (message, response) => respond(response, message),
    (response) => {
      streams += 1
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\n\n')
    },
  )
  const servers = await readyServers({ s: server })
  for (let calls = 0; calls < 60; calls++) await call(servers, 'mcp__s__a')
  expect(streams).toBeLessThan(15)
})

test('counts many unsolicited bytes as a flood, even in few messages', () => {
  const flood = new Flood()
  const bytes = 16 * 1024 * 1024
  const taken = Array.from({ length: 200 }, () => flood.accepts('answer', bytes))
  expect([taken[0], taken.at(-1)]).toEqual([true, false])
})

test('does not ask a denied server for resources', async () => {
  const servers = await readyServers(
    { s: hostile('good'), open: hostile('good') },
    { hides: (name) => name.startsWith('mcp__s__') },
  )
  expect(textOf(await call(servers, 'ListMcpResources'))).toMatch(/^open: 1 resource\n/)
  expect(textOf(await call(servers, 'ReadMcpResource', { server: 's', uri: 'mem://one' }))).toMatch(/No MCP server "s"/)
})

test.each([
  ['\n', 'data: x\n'],
  ['\r\n', 'data: x\r\n'],
  ['\r', 'data: x\r'],
])('limits an event of many lines that end with %j like one of one line', async (_, line) => {
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(line.repeat(1_000))
  })
  const response = await boundedFetch(1_000)(url)
  await expect(response.text()).rejects.toThrow('too large')
  const small = await boundedFetch(20_000)(url)
  expect(await small.text()).toBe(line.repeat(1_000))
})

test('accepts any number of small events', async () => {
  const event = 'data: x\r\n\r\n'
  const url = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event.repeat(1_000))
  })
  expect(await (await boundedFetch(1_000)(url)).text()).toBe(event.repeat(1_000))
})

test('needs no more memory for deep data than its characters', async () => {
  let deep: Json = Array.from({ length: 50_000 }, () => 7)
  for (let level = 0; level < 490; level++) deep = [deep]
  const { content } = await outputOfCall(
    { structuredContent: deep },
    { limits: { outputTokens: 1_000, imagesOfResult: 1 }, fitImage: () => Promise.reject(new Error('no image')) },
  )
  // Indented it had 50 million characters.
  expect(content).toMatch(/\[\.\.\. 9\d{4} characters omitted here/)
  const small = await outputOfCall(
    { structuredContent: { a: [1] } },
    { limits: { outputTokens: 1_000, imagesOfResult: 1 }, fitImage: () => Promise.reject(new Error('no image')) },
  )
  expect(small.content).toBe(JSON.stringify({ a: [1] }, undefined, 2))
})

const asked = {
  method: 'POST',
  body: '{"id":1}',
  headers: { 'x-api-key': 'mine', authorization: 'Bearer mine', 'content-type': 'application/json' },
}

test.each([301, 302, 303, 307, 308])(
  'sends headers and requests to no other server: a redirect by %d',
  async (status) => {
    let requests = 0
    const other = await listening((_request, response) => {
      requests += 1
      response.end('{}')
    })
    const url = await listening((_request, response) => void response.writeHead(status, { location: other }).end())
    await expect(boundedFetch(1_000)(url, asked)).rejects.toThrow(`redirects to ${new URL(other).origin}`)
    await expect(boundedFetch(1_000)(url, { headers: asked.headers })).rejects.toThrow('is not asked')
    expect(requests).toBe(0)
  },
)

test('follows a redirect on the server itself, such as to the address with a slash', async () => {
  const seen: unknown[] = []
  const url = await listening((request, response) => {
    const { url: path, method } = request
    if (path === '/mcp') return void response.writeHead(307, { location: '/mcp/' }).end()
    if (path === '/old') return void response.writeHead(302, { location: 'mcp/' }).end()
    if (path === '/ring') return void response.writeHead(308, { location: '/ring' }).end()
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      seen.push([method, request.headers['x-api-key'], body])
      response.end('{}')
    })
  })
  await boundedFetch(1_000)(url, asked)
  await boundedFetch(1_000)(url.replace('/mcp', '/old'), asked)
  expect(seen).toEqual([
    ['POST', 'mine', '{"id":1}'],
    ['GET', 'mine', ''],
  ])
  await expect(boundedFetch(1_000)(url.replace('/mcp', '/ring'), asked)).rejects.toThrow('without end')
})
