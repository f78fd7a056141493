// A server of the Model Context Protocol over stdio, as small as one can be: `node server.mjs MODE`.
// good: answers; crash: exits at a call; hang: never answers a call; deaf: does not exit when it is asked to.
import { createInterface } from 'node:readline'

const mode = process.argv[2] ?? 'good'
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
const tools = [{ name: 'say', description: 'Says it', inputSchema, annotations: { readOnlyHint: true } }]

if (mode === 'deaf') {
  process.on('SIGTERM', () => {})
  setInterval(() => {}, 1_000)
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: mode, version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: input }) => {
    if (mode === 'crash') process.exit(9)
    return mode === 'hang' ? undefined : { content: [{ type: 'text', text: `said ${input?.text ?? ''}` }] }
  },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  const answer = answers[method]
  if (answer === undefined) return say({ id, error: { code: -32601, message: 'no such method' } })
  const result = answer(params)
  if (result !== undefined) say({ id, result })
})
