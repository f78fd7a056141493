// A local service with the Messages API that knows the plan of each session, and records the bill of each.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Plan, Step } from './plan.ts'

interface Block {
  readonly type: string
  readonly text?: string
}

interface Body {
  readonly max_tokens: number
  readonly tools?: readonly unknown[]
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[]
}

/** The bill of a session, and the outcome of its requests. */
interface Bill {
  usd: number
  requests: number
}

/** `kill` is called for each request of a session, before and after it is answered. */
export interface Service {
  readonly url: string
  readonly bills: ReadonlyMap<string, Bill>
  readonly close: () => void
}

/** Prices of claude-sonnet-4-5, in dollars per token. */
const price = { input: 3e-6, output: 15e-6 }

export async function startService(
  plans: ReadonlyMap<string, { readonly plan: Plan; readonly cwd: string }>,
  onRequest: (name: string, moment: 'before' | 'after') => void,
): Promise<Service> {
  const bills = new Map<string, Bill>()
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await bodyOf(request)
    const body = JSON.parse(text) as Body
    const name = /plan:(s\d+x)\b/.exec(text)?.[1] ?? ''
    const known = plans.get(name)
    if (known === undefined || request.url?.startsWith('/v1/messages') !== true || request.url.includes('count')) {
      response.writeHead(404, { 'content-type': 'application/json' })
      return void response.end('{"type":"error","error":{"type":"not_found_error","message":"not here"}}')
    }
    onRequest(name, 'before')
    const content = answerTo(body, known.plan, known.cwd)
    const usage = {
      input_tokens: Math.ceil(text.length / 5),
      output_tokens: Math.min(body.max_tokens, 5 + Math.ceil(JSON.stringify(content).length / 4)),
    }
    const bill = bills.get(name) ?? { usd: 0, requests: 0 }
    bill.usd += usage.input_tokens * price.input + usage.output_tokens * price.output
    bill.requests += 1
    bills.set(name, bill)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      eventsOf(content, usage)
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(''),
    )
    onRequest(name, 'after')
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    bills,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += String(piece)
  return text
}

type Answer = readonly ({ readonly type: 'text'; readonly text: string } | Call)[]

interface Call {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

function answerTo({ messages, tools }: Body, plan: Plan, cwd: string): Answer {
  // The stage that takes notes sends no tools.
  if (tools === undefined || tools.length === 0)
    return [{ type: 'text', text: JSON.stringify({ notes: [{ topic: 'preferences', sentences: ['1.2'] }] }) }]
  const [first] = messages
  const agent = /agent-task:(\S+?)[".\s\\]/.exec(JSON.stringify(first?.content))?.[1]
  const at = messages.filter(({ role }) => role === 'assistant').length
  if (agent !== undefined) {
    const look: Call = { type: 'tool_use', id: `toolu_${agent}_${at}`, name: 'Glob', input: { pattern: '*.txt' } }
    return at < 2 ? [look] : [{ type: 'text', text: `found by ${agent}` }]
  }
  const step = plan.steps[at]
  return step === undefined ? [{ type: 'text', text: `done by ${plan.name}` }] : callsOf(step, at, plan, cwd)
}

function callsOf(step: Step, at: number, { name }: Plan, cwd: string): readonly Call[] {
  const call = (tool: string, input: unknown, more = ''): Call => ({
    type: 'tool_use',
    id: `toolu_${name}_${at}${more}`,
    name: tool,
    input,
  })
  switch (step.kind) {
    case 'write':
      return [call('Write', { file_path: join(cwd, step.file), content: `${step.mark}\nEND\n` })]
    case 'read':
      return [call('Read', { file_path: join(cwd, step.file) })]
    case 'edit':
      return [call('Edit', { file_path: join(cwd, step.file), old_string: 'END', new_string: `${step.mark}\nEND` })]
    case 'bash':
      return [call('Bash', { command: `echo ${step.mark} >> ${step.file}` })]
    case 'server':
      return [call('mcp__frail__say', { text: step.mark, isFatal: step.isFatal })]
    case 'agents':
      return step.marks.map((mark, place) =>
        call(
          'Agent',
          { description: 'looks', prompt: `agent-task:${mark} for plan:${name} `, subagent_type: 'general-purpose' },
          `_${place}`,
        ),
      )
  }
}

function eventsOf(content: Answer, usage: { readonly input_tokens: number; readonly output_tokens: number }) {
  const blocks = content.flatMap((block, index) => [
    {
      type: 'content_block_start',
      index,
      content_block: block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} },
    },
    {
      type: 'content_block_delta',
      index,
      delta:
        block.type === 'text'
          ? { type: 'text_delta', text: block.text }
          : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    },
    { type: 'content_block_stop', index },
  ])
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] }
  return [
    { type: 'message_start', message: { ...message, usage: { ...usage, output_tokens: 1 } } },
    ...blocks,
    {
      type: 'message_delta',
      delta: { stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: usage.output_tokens },
    },
    { type: 'message_stop' },
  ]
}
