// A server that asks the person something in each of its tools.
import { createInterface } from 'node:readline'

const url = process.env.PAGE_URL ?? 'https://auth.example.com/connect?state=abc'
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answer = (id, result) => say({ id, result })
const text = (id, said) => answer(id, { content: [{ type: 'text', text: said }] })
const complete = (elicitationId) => say({ method: 'notifications/elicitation/complete', params: { elicitationId } })

const form = {
  message: 'Your name?',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name', maxLength: 20 },
      size: { type: 'string', enum: ['s', 'l'], enumNames: ['small', 'large'] },
      sure: { type: 'boolean' },
    },
    required: ['name'],
  },
}
const page = { mode: 'url', message: 'Connect your account', url, elicitationId: 'page-1' }
const refusal = { code: -32042, message: 'Connect first', data: { elicitations: [page] } }

let made = 0
const waiting = new Map()
function ask(params, then) {
  const id = `ask-${++made}`
  waiting.set(id, then)
  say({ id, method: 'elicitation/create', params })
}

let hasRefused = false
const tools = {
  form: (id) => ask({ mode: 'form', ...form }, (reply) => text(id, JSON.stringify(reply))),
  page: (id) =>
    ask(page, (reply) => {
      if (reply.action === 'accept') complete('page-1')
      text(id, JSON.stringify(reply))
    }),
  'bad-page': (id) => ask({ ...page, url: 'javascript:alert(1)' }, (reply) => text(id, JSON.stringify(reply))),
  two(id) {
    const replies = []
    const both = (reply) => replies.push(reply) === 2 && text(id, JSON.stringify(replies))
    ask({ mode: 'form', ...form }, both)
    ask(page, both)
  },
  // All at once.
  many(id) {
    const replies = []
    for (let times = 0; times < 30; times++)
      ask({ mode: 'form', ...form }, ({ action }) => replies.push(action) === 30 && text(id, replies.join(' ')))
  },
  // One after another, whatever the answer is.
  again(id) {
    const replies = []
    const next = ({ action }) => (replies.push(action) === 30 ? text(id, replies.join(' ')) : ask(form, next))
    ask(form, next)
  },
  die: () => {
    ask(form, () => undefined)
    setTimeout(() => process.exit(7), 300)
  },
  // Done once the person has been on the page.
  needs(id) {
    if (hasRefused) return text(id, 'connected')
    hasRefused = true
    say({ id, error: refusal })
    setTimeout(() => complete('page-1'), 200)
  },
  'needs-still': (id) => say({ id, error: refusal }),
  'needs-nothing': (id) => say({ id, error: { ...refusal, data: { elicitations: [{ mode: 'url', url: 'file:///etc/passwd', elicitationId: 'x' }] } } }), // prettier-ignore
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line)
  if (method === undefined) {
    waiting.get(id)?.(result ?? { error })
    waiting.delete(id)
  } else if (method === 'initialize')
    answer(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'asking', version: JSON.stringify(params.capabilities.elicitation) },
    })
  else if (method === 'tools/list')
    answer(id, {
      tools: Object.keys(tools).map((name) => ({
        name,
        description: `asks (${name})`,
        inputSchema: { type: 'object' },
      })),
    })
  else if (method === 'tools/call') tools[params.name](id)
  else if (id !== undefined) say({ id, error: { code: -32601, message: 'no such method' } })
})
