// An MCP server over stdio with one tool. It can be configured to die before it answers.
import { createInterface } from 'node:readline'

const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
const inputSchema = { type: 'object', properties: { text: { type: 'string' }, isFatal: { type: 'boolean' } } }

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') {
    const serverInfo = { name: 'frail', version: '1' }
    return answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  }
  if (method === 'tools/list')
    return answer(id, {
      tools: [{ name: 'say', description: 'Says it.', inputSchema, annotations: { readOnlyHint: true } }],
    })
  if (method !== 'tools/call') return answer(id, {})
  if (params.arguments.isFatal) process.exit(1)
  return answer(id, { content: [{ type: 'text', text: `said ${params.arguments.text}` }] })
})
