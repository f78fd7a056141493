// An MCP server over stdio with two tools: one returns the text of a ticket, the other closes a ticket.
import { createInterface } from 'node:readline'

const tickets = new Map([
  [7, { text: 'Customers pay 297 cents for 250 cents and 19 % tax. It must be 298.', isOpen: true }],
])
const number = { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] }
const tools = [
  { name: 'read', description: 'The text of a ticket', inputSchema: number, annotations: { readOnlyHint: true } },
  { name: 'close', description: 'Closes a ticket', inputSchema: number },
]

function call({ name, arguments: { number: asked } }) {
  const ticket = tickets.get(asked)
  if (ticket === undefined) return { content: [{ type: 'text', text: `There is no ticket ${asked}.` }], isError: true }
  if (name === 'close') ticket.isOpen = false
  return { content: [{ type: 'text', text: name === 'close' ? `Ticket ${asked} is closed.` : ticket.text }] }
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'tickets', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': call,
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const answer = answers[method]
  const body =
    answer === undefined ? { error: { code: -32601, message: `No ${method} here` } } : { result: answer(params) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`)
}
