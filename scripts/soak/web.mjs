// Servers that the sessions of a soak reach by HTTP: a page, and a server of the Model Context Protocol with a stream that stays open until the client leaves.
import { createServer } from 'node:http'

const tools = [
  { name: 'say', description: 'Says it', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
]
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'web', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: `web said ${params.arguments?.text ?? ''}` }] }),
}

/** @returns {Promise<{ readonly url: string, close(): void }>} */
export async function startWeb() {
  const server = createServer((request, response) => {
    if (request.url === '/mcp') return void protocol(request, response)
    return void response.writeHead(200, { 'content-type': 'text/plain' }).end('a page of this soak')
  })
  await new Promise((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
}

async function protocol(request, response) {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
    return
  }
  if (request.method === 'DELETE') return void response.writeHead(200).end()
  const parts = []
  for await (const part of request) parts.push(part)
  const { id, method, params } = JSON.parse(Buffer.concat(parts).toString())
  if (id === undefined) return void response.writeHead(202).end()
  const said = answers[method]
  const rest = said === undefined ? { error: { code: -32601, message: 'no such method' } } : { result: said(params) }
  response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
}
