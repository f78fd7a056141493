// Holds rules of docs/spec: R-MCP-5: a server that is lost while the model calls it again at once.
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { call, installProgram } from './support/program.ts'
import { given, one, projectWithServers } from './support/servers.ts'

installProgram()
const { runInProject } = projectWithServers()

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

test('repeats calls to a server that dies in every call, and ends with a result', async () => {
  const { status, stderr, lines, results } = await runInProject(
    ['-p', 'hi', '--mcp-config', given({ s: one('crash') }), '--allowedTools', 'mcp__s'],
    [{ content: [call('mcp__s__do', {})] }, { content: [call('mcp__s__do', {})] }, { content: 'Done.' }],
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(lines.at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'Done.' })
  expect(results.map(({ content }) => content)).toEqual([
    expect.stringContaining('Lost the connection to the MCP server s: it ended (exit code 9)'),
    expect.stringContaining('Lost the connection to the MCP server s: it ended (exit code 9)'),
  ])
})

test('repeats calls to a server that lost its HTTP session, and ends with a result', async () => {
  const url = await forgetfulServer()
  const { status, stderr, lines, results } = await runInProject(
    ['-p', 'hi', '--mcp-config', given({ s: { type: 'http', url } }), '--allowedTools', 'mcp__s'],
    [{ content: [call('mcp__s__do', {})] }, { content: [call('mcp__s__do', {})] }, { content: 'Done.' }],
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(lines.at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'Done.' })
  expect(results.map(({ content }) => content)).toEqual([
    expect.stringContaining('The MCP server s restarted and did not receive this call'),
    'did it in session 2',
  ])
})

/** A server that forgets its first session when it calls a tool. */
async function forgetfulServer(): Promise<string> {
  let sessions = 0
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const session = Number(request.headers['mcp-session-id'] ?? 0)
      if (request.method !== 'POST') return response.writeHead(405).end()
      const { id, method, params } = JSON.parse(body) as Request
      if (id === undefined) return response.writeHead(202).end()
      if (method === 'tools/call' && session === 1) return response.writeHead(404).end()
      if (method === 'initialize') sessions += 1
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': String(session || sessions) })
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params, session) }))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // True: it listens on a port, so its address is not a path.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

interface Request {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly protocolVersion?: string }
}

function resultOf(method: string, params: Request['params'], session: number): object {
  if (method === 'initialize') {
    const { protocolVersion } = params ?? {}
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'forgetful', version: '1' } }
  }
  if (method === 'tools/list') return { tools: [{ name: 'do', inputSchema: { type: 'object' } }] }
  return { content: [{ type: 'text', text: `did it in session ${session}` }] }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += String(piece)
  return body
}
