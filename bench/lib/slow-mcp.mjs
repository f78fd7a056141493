// An MCP server with one tool that answers its first request after this many milliseconds: `node slow-mcp.mjs 5000`.
import { createInterface } from 'node:readline'

const waitMs = Number(process.argv[2] ?? 0)
const tool = { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }
const results = {
  'initialize': ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } }),
  'tools/list': () => ({ tools: [tool] }),
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const result = results[method]?.(params) ?? {}
  const tell = () => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
  if (method === 'initialize' && waitMs > 0) setTimeout(tell, waitMs)
  else tell()
})
