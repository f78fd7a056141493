// Tests R-REQ-14, R-CTX-10b and R-WIRE-11b of docs/spec: services with a small window, each with its own rejection
// message.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { streamRun, startRun, type Model, type Tool } from '@halting/core'
import { contextLayers } from '@halting/core/adapters'
import { afterEach, expect, test } from 'vitest'
import { anthropic, openaiCompatible } from '../src/index.ts'

const open: (() => Promise<void>)[] = []
afterEach(() => Promise.all(open.splice(0).map((close) => close())))

interface Refusing {
  /** The message for a request with this many tokens, this reply limit and this window. */
  readonly body: (used: number, asked: number, window: number) => unknown
  readonly countsOutput: boolean
  readonly protocol: 'chat' | 'messages'
}

const chat = { countsOutput: true, protocol: 'chat' } as const
const error = (message: string, more: object = {}): unknown => ({
  error: { message, type: 'BadRequestError', ...more },
})

const services: { readonly [name: string]: Refusing } = {
  DeepSeek: {
    ...chat,
    body: (used, asked, window) =>
      error(
        `This model's maximum context length is ${window} tokens. However, you requested ${used + asked} tokens (${used} in the messages, ${asked} in the completion). Please reduce the length of the messages or completion.`,
      ),
  },
  vLLM: {
    ...chat,
    body: (used, asked, window) =>
      error(
        `'max_tokens' or 'max_completion_tokens' is too large: ${asked}. This model's maximum context length is ${window} tokens and your request has ${used} input tokens (${asked} > ${window} - ${used}).`,
      ),
  },
  'vLLM, at least': {
    ...chat,
    body: (_used, asked, window) =>
      error(
        `This model's maximum context length is ${window} tokens. However, you requested ${asked} output tokens and your prompt contains at least ${window - asked + 1} input tokens, for a total of at least ${window + 1} tokens.`,
      ),
  },
  'vLLM, a count that stops': {
    ...chat,
    body: (_used, asked, window) =>
      error(
        `You passed ${window - asked + 1} input tokens and requested ${asked} output tokens. However, the model's context length is only ${window} tokens, resulting in a maximum input length of ${window - asked} tokens.`,
      ),
  },
  'the Messages API': {
    countsOutput: true,
    protocol: 'messages',
    body: (used, asked, window) => ({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: `input length and \`max_tokens\` exceed context limit: ${used} + ${asked} > ${window}, decrease input length or \`max_tokens\` and try again`,
      },
    }),
  },
  'llama.cpp': {
    ...chat,
    countsOutput: false,
    body: (used, _asked, window) =>
      error('the request exceeds the available context size, try increasing it', {
        type: 'exceed_context_size_error',
        n_prompt_tokens: used,
        n_ctx: window,
      }),
  },
  Ollama: {
    ...chat,
    countsOutput: false,
    body: (used, _asked, window) => error(`prompt too long; exceeded max context length by ${used - window} tokens`),
  },
}

interface Served {
  readonly model: Model
  readonly seen: { refused: number; taken: number; summaries: number }
}

/** A service with a window of this size, which calls this many tools before it answers. */
async function serve({ body, countsOutput, protocol }: Refusing, window: number, calls: number): Promise<Served> {
  const seen = { refused: 0, taken: 0, summaries: 0 }
  let turns = 0
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => (text += part))
    request.on('end', () => {
      const sent = JSON.parse(text) as { readonly max_tokens?: number; readonly max_completion_tokens?: number }
      const used = Math.ceil(text.length / 4)
      const asked = sent.max_completion_tokens ?? sent.max_tokens ?? 0
      if (used + (countsOutput ? asked : 0) > window) {
        seen.refused++
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(body(used, asked, window)))
        return
      }
      seen.taken++
      const isSummary = text.includes('is about to be replaced by a summary')
      if (isSummary) seen.summaries++
      const isCall = !isSummary && ++turns <= calls
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const events =
        protocol === 'chat'
          ? chatEvents(isCall, used, seen.taken)
          : messagesEvents(isCall, used, seen.taken).map(({ type, ...rest }) => ({ type, ...rest }))
      for (const event of events)
        response.write(`${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
      response.end(protocol === 'chat' ? 'data: [DONE]\n\n' : '')
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  open.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))))
  // A server that listens on a port has an address.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sizes = { model: 'qwen', apiKey: 'k', contextWindow: 128_000, maxOutputTokens: 16_384 }
  const model =
    protocol === 'chat' ? openaiCompatible({ ...sizes, baseUrl: `${url}/v1` }) : anthropic({ ...sizes, baseUrl: url })
  return { model, seen }
}

function chatEvents(isCall: boolean, used: number, number: number): readonly object[] {
  const call = { index: 0, id: `c${number}`, type: 'function', function: { name: 'Look', arguments: '{}' } }
  const delta = isCall ? { role: 'assistant', tool_calls: [call] } : { role: 'assistant', content: 'Done.' }
  const chunk = { id: `m${number}`, object: 'chat.completion.chunk', model: 'qwen' }
  return [
    { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: isCall ? 'tool_calls' : 'stop' }] },
    { ...chunk, choices: [], usage: { prompt_tokens: used, completion_tokens: 9, total_tokens: used + 9 } },
  ]
}

function messagesEvents(isCall: boolean, used: number, number: number): readonly { readonly type: string }[] {
  const message = {
    id: `m${number}`,
    type: 'message',
    role: 'assistant',
    model: 'qwen',
    content: [],
    stop_reason: null,
    usage: { input_tokens: used, output_tokens: 1 },
  }
  const block = isCall ? { type: 'tool_use', id: `t${number}`, name: 'Look', input: {} } : { type: 'text', text: '' }
  const delta = isCall ? { type: 'input_json_delta', partial_json: '{}' } : { type: 'text_delta', text: 'Done.' }
  const event = (type: string, more: object): { readonly type: string } => ({ type, ...more })
  return [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: block }),
    event('content_block_delta', { index: 0, delta }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: isCall ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 9 },
    }),
    event('message_stop', {}),
  ]
}

const look: Tool = {
  name: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'some words of a file '.repeat(300),
}

async function go(model: Model) {
  const context = contextLayers({ collapse: false, clearResults: false })
  const going = streamRun(startRun({ prompt: 'hello' }), { model, tools: [look], context })
  for await (const _ of going);
  return going.ended
}

test.each(Object.keys(services))('answers with %s and a window of 16,384 tokens in the first turn', async (name) => {
  const { model, seen } = await serve(services[name] ?? never(name), 16_384, 0)
  const { terminal } = await go(model)
  expect([terminal.reason, seen.taken]).toEqual(['completed', 1])
  expect(seen.refused).toBe(services[name]?.countsOutput === true ? 1 : 0)
})

test.each(Object.keys(services))(
  'is refused with %s and a window of 20,000 tokens once in thirty turns',
  async (name) => {
    const { model, seen } = await serve(services[name] ?? never(name), 20_000, 30)
    const { terminal, state } = await go(model)
    expect([terminal.reason, state.spent.turns]).toEqual(['completed', 31])
    expect(seen.refused).toBe(1)
    // About seven results fit between two compactions.
    expect(seen.summaries).toBeLessThan(7)
  },
)

function never(name: string): never {
  throw new Error(name)
}
