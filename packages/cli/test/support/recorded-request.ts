import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import { run } from './program.ts'

/** A request of the program, as a service of the Messages API receives it. */
export interface RecordedRequest {
  readonly system: readonly { readonly text: string }[]
  readonly tools: readonly OfferedTool[]
  readonly messages: readonly unknown[]
}

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly input_schema: OfferedSchema
}

export interface OfferedSchema {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, OfferedSchema>>
  readonly items?: OfferedSchema
  readonly required?: readonly string[]
}

/** The service's reply: a text, or a tool call. */
export interface CannedReply {
  readonly text?: string
  readonly name?: string
  readonly input?: object
}

export interface RequestedAfter {
  readonly stdin?: string
  /** Replies to the first requests of the run; every other request is refused. */
  readonly replies?: readonly CannedReply[]
}

/** Starts a service for this test file. Returns a function that runs the program and resolves with its request after the replies. */
export function recordRequest(): (args: readonly string[], after?: RequestedAfter) => Promise<RecordedRequest> {
  let requests: RecordedRequest[] = []
  let replies: readonly CannedReply[] = []
  const service = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const reply = replies[requests.length]
      requests.push(JSON.parse(Buffer.concat(parts).toString('utf8')) as RecordedRequest)
      if (reply !== undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamed(reply))
        return
      }
      const error = { type: 'invalid_request_error', message: 'This service only listens.' }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }))
    })
  })
  beforeAll(async () => {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
  })
  afterAll(() => void service.close())

  return async (args, { stdin = '', replies: given = [] } = {}) => {
    requests = []
    replies = given
    const address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    const env = { ANTHROPIC_API_KEY: 'sk-ant-made-up', ANTHROPIC_BASE_URL: address }
    const { stderr } = await run([...args, '--model', 'claude-sonnet-5-5'], { env, stdin })
    const requested = requests[given.length]
    if (requested === undefined) throw new Error(`no request after ${given.length} replies: ${stderr}`)
    return requested
  }
}

/** A reply with a text or a tool call, as events of the Messages API. */
function streamed({ text, name, input }: CannedReply): string {
  const block = text === undefined ? { type: 'tool_use', id: 'toolu_1', name, input: {} } : { type: 'text', text: '' }
  const delta =
    text === undefined
      ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
      : { type: 'text_delta', text }
  const usage = { input_tokens: 100, output_tokens: 10 }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5-5',
    content: [],
    stop_reason: null,
    usage,
  }
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: text === undefined ? 'tool_use' : 'end_turn' }, usage },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
