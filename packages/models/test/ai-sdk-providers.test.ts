import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Json, JsonObject, Model, Tool } from '@halting/core'
import { streamRun, startRun } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import type { AiSdkOptions } from '../src/ai-sdk/index.ts'
import { createAnthropic, createOpenAI, createOpenAICompatible } from './support/ai-sdk-providers.ts'
import { call, recordOf } from './support/call.ts'
import { beginStream, startRawServer, write } from './support/raw-server.ts'
import { bytesOf, messageOf, recordings } from './support/recordings.ts'
import { responseOf, responsesRecordings } from './support/responses-recordings.ts'

// Unmodified AI SDK providers against servers on this machine. Those of the workspace implement version 3 of the
// interface; those of `npm run providers` implement version 4.

function claudeAt(url: string, options?: AiSdkOptions): Model {
  return fromAiSdk(createAnthropic({ baseURL: `${url}/v1`, apiKey: 'key' })('claude-sonnet-4-5'), options)
}

function chatAt(url: string): Model {
  const provider = createOpenAICompatible({ name: 'test', baseURL: url, apiKey: 'key', includeUsage: true })
  return fromAiSdk(provider('test-model'))
}

interface Contents {
  readonly text: string
  readonly thinking: string
  readonly calls: readonly unknown[]
}

/** The parts of a message that a person and the loop read. Both see consecutive texts as one. */
function contentsOf(content: Json | undefined | readonly unknown[]): Contents {
  const blocks = (content ?? []) as readonly JsonObject[]
  const joined = (type: string, field: string) =>
    blocks.map((block) => (block.type === type ? (block[field] as string) : '')).join('')
  return {
    text: joined('text', 'text'),
    thinking: joined('thinking', 'thinking'),
    calls: blocks.flatMap(({ type, id, name, input }) => (type === 'tool_use' ? [{ id, name, input }] : [])),
  }
}

describe('reads every recorded Messages API stream identically through @ai-sdk/anthropic', () => {
  test.each(recordings)('$name', async ({ events }) => {
    let cut = 0
    const bytes = bytesOf(events)
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytes.subarray(0, cut))
      await write(response, bytes.subarray(cut))
      response.end()
    })
    const model = claudeAt(server.url)
    const expected = messageOf(events)
    for (cut = 1; cut < bytes.length; cut += Math.ceil(bytes.length / 4)) {
      const { reply } = await call(model)
      expect(reply?.streamError).toBe(undefined)
      const { content, id, model: name, stop_reason, usage } = reply!.message
      expect({ ...contentsOf(content), id, name, stop_reason, usage }).toEqual({
        ...contentsOf(expected.content),
        id: expected.id,
        name: expected.model,
        stop_reason: expected.stop_reason,
        usage: expected.usage,
      })
    }
  })
})

interface Chunk {
  readonly id: string
  readonly model: string
  readonly usage?: {
    prompt_tokens: number
    total_tokens: number
    prompt_tokens_details?: { cached_tokens?: number }
  }
  readonly choices: readonly {
    readonly finish_reason?: string | null
    readonly delta?: {
      readonly content?: string | null
      readonly reasoning_content?: string | null
      readonly tool_calls?: readonly { index: number; id?: string; function: { name?: string; arguments?: string } }[]
    }
  }[]
}

/** A straightforward reading of the chunks of a chat completion. */
function chatOf(chunks: readonly Chunk[]) {
  let text = ''
  let thinking = ''
  let finish = ''
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const { choices } of chunks) {
    for (const { delta, finish_reason } of choices) {
      text += delta?.content ?? ''
      thinking += delta?.reasoning_content ?? ''
      finish = finish_reason ?? finish
      for (const { index, id, function: said } of delta?.tool_calls ?? []) {
        const call = (calls[index] ??= { id: id ?? '', name: said.name ?? '', arguments: '' })
        call.arguments += said.arguments ?? ''
      }
    }
  }
  const reported = chunks.findLast(({ usage }) => usage)?.usage
  const cached = reported?.prompt_tokens_details?.cached_tokens ?? 0
  return {
    text,
    thinking,
    calls: calls.map(({ id, name, arguments: input }) => ({ id, name, input: JSON.parse(input) as Json })),
    stop_reason: finish === 'tool_calls' ? 'tool_use' : 'end_turn',
    usage: reported && {
      input: reported.prompt_tokens - cached,
      cached,
      output: reported.total_tokens - reported.prompt_tokens,
    },
  }
}

describe.each<[string, ((url: string) => Model) | undefined, boolean]>([
  ['@ai-sdk/openai-compatible', chatAt, true],
  // It does not read `reasoning_content`, which OpenAI itself never sends.
  [
    'chat of @ai-sdk/openai',
    createOpenAI && ((url) => fromAiSdk(createOpenAI!({ baseURL: url, apiKey: 'key' }).chat!('test-model'))),
    false,
  ],
])('reads every recorded chat completion identically through %s', (_provider, modelAt, readsThinking) => {
  const names = ['azure-model-router.1', 'deepseek-tool-call', 'groq-tool-call', 'mistral-text', 'xai-text']
  test.runIf(modelAt !== undefined).each(names)('%s', async (name) => {
    const lines = readFileSync(new URL(`fixtures/${name}.chunks.txt`, import.meta.url), 'utf8')
      .trim()
      .split('\n')
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end([...lines, '[DONE]'].map((line) => `data: ${line}\n\n`).join(''))
    })
    const { reply } = await call(modelAt!(server.url))
    expect(reply?.streamError).toBe(undefined)
    const { content, stop_reason, usage } = reply!.message
    const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = usage
    const expected = chatOf(lines.map((line) => JSON.parse(line) as Chunk))
    expect({
      ...contentsOf(content),
      stop_reason,
      usage: reply?.billed === 'unknown' ? undefined : { input, cached, output },
    }).toEqual({ ...expected, ...(!readsThinking && { thinking: '' }) })
  })
})

// The workspace has no provider for the Responses API.
describe.runIf(createOpenAI !== undefined)('reads every recorded Responses API response identically', () => {
  const answered = responsesRecordings.filter(({ events }) => responseOf(events).error === null)
  test.each(answered)('$name', async ({ events }) => {
    let cut = 0
    const bytes = bytesOf(events)
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytes.subarray(0, cut))
      await write(response, bytes.subarray(cut))
      response.end()
    })
    const model = fromAiSdk(createOpenAI!({ baseURL: server.url, apiKey: 'key' })('gpt-5'))
    const { said } = responseOf(events)
    for (cut = 1; cut < bytes.length; cut += Math.ceil(bytes.length / 4)) {
      const { reply, error } = await call(model)
      expect(error).toBe(undefined)
      expect(reply?.streamError).toBe(undefined)
      const { content, id, model: name, stop_reason, usage } = reply!.message
      const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = usage
      expect({ id, model: name, ...contentsOf(content), stop_reason, usage: { input, cached, output } }).toEqual(said)
    }
  })

  test('preserves complete parts when a response ends before its last event', async () => {
    const { events } = responsesRecordings.find(({ name }) => name.startsWith('openai-phase'))!
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf(events.slice(0, -1)))
    })
    const { reply } = await call(fromAiSdk(createOpenAI!({ baseURL: server.url, apiKey: 'key' })('gpt-5')))
    expect(contentsOf(reply?.message.content).text).not.toBe('')
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test('sends reasoning back as signed, with each call and its result', async () => {
    const answers = responsesRecordings.filter(({ name }) => name.startsWith('openai-reasoning-encrypted-content'))
    let index = 0
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf(answers[index++]!.events))
    })
    const calculator: Tool = {
      name: 'calculator',
      description: 'Calculates',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute: () => `result ${index}`,
    }
    const providerOptions = { openai: { store: false, include: ['reasoning.encrypted_content'] } }
    const model = fromAiSdk(createOpenAI!({ baseURL: server.url, apiKey: 'key' })('gpt-5.1-codex-max'), {
      providerOptions,
    })
    const { result: terminal } = streamRun(startRun({ prompt: 'Calculate.' }), {
      model,
      tools: [calculator],
      maxTurns: 9,
    })
    expect((await terminal).reason).toBe('completed')
    const { input } = JSON.parse(String(server.bodies.at(-1))) as {
      readonly input: readonly { readonly [field: string]: unknown; readonly arguments: string }[]
    }
    const items = answers.flatMap(({ events }) =>
      events.flatMap(({ type, item }) =>
        type === 'response.output_item.done' ? [item as (typeof input)[number]] : [],
      ),
    )
    const reasoning = items.find(({ type }) => type === 'reasoning')
    const calls = items.filter(({ type }) => type === 'function_call')
    expect(input.slice(1).map(({ type }) => type)).toEqual([
      'reasoning',
      ...calls.flatMap(() => ['function_call', 'function_call_output']),
    ])
    expect(input[1]).toMatchObject({ encrypted_content: reasoning?.encrypted_content })
    for (const [at, { call_id, arguments: given }] of calls.entries()) {
      expect(input[2 + 2 * at]).toMatchObject({ call_id, name: 'calculator' })
      expect(JSON.parse(input[2 + 2 * at]!.arguments)).toEqual(JSON.parse(given))
      expect(input[3 + 2 * at]).toMatchObject({ call_id, output: `result ${at + 1}` })
    }
  })

  test.each(responsesRecordings.filter(({ events }) => responseOf(events).error !== null))(
    'reports the kind of $name, which failed, and that it may be billed',
    async ({ events }) => {
      const server = await startRawServer((response) => {
        beginStream(response)
        response.end(bytesOf(events))
      })
      const { error } = await call(fromAiSdk(createOpenAI!({ baseURL: server.url, apiKey: 'key' })('gpt-5')))
      expect(recordOf(error)).toMatchObject({
        kind: 'billing_error',
        status: null,
        retryable: false,
        billed: 'unknown',
      })
    },
  )
})

const sse = (events: readonly JsonObject[]): Buffer => bytesOf(events)
const started = (usage: JsonObject): JsonObject => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  },
})
const block = (index: number, start: JsonObject, ...deltas: readonly JsonObject[]): readonly JsonObject[] => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const ended = (stop_reason: string): readonly JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
]

test('sends thinking and its signature back unchanged in a run of two turns, with the result after the call', async () => {
  const signature = 'EuYBCkQYAiJA+/=='
  const replies = [
    [
      started({ input_tokens: 5, output_tokens: 1 }),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Hm, ü.' },
        { type: 'signature_delta', signature },
      ),
      ...block(1, { type: 'redacted_thinking', data: 'c2VjcmV0' }),
      ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'Looking.' }),
      ...block(
        3,
        { type: 'tool_use', id: 'toolu_1', name: 'Look', input: {} },
        { type: 'input_json_delta', partial_json: '{"at": ' },
        { type: 'input_json_delta', partial_json: '"x"}' },
      ),
      ...ended('tool_use'),
    ],
    [
      started({ input_tokens: 5, output_tokens: 1 }),
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Done.' }),
      ...ended('end_turn'),
    ],
  ]
  const keys: unknown[] = []
  const server = await startRawServer((response, request) => {
    keys.push(request.headers['idempotency-key'])
    beginStream(response)
    response.end(sse(replies[keys.length - 1]!))
  })
  const look: Tool<{ at: string }> = {
    name: 'Look',
    description: 'Looks',
    inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
    readOnly: true,
    execute: () => 'a stone',
  }
  const run = streamRun(startRun({ prompt: 'Look at x' }), {
    model: claudeAt(server.url),
    system: 'Be brief.',
    tools: [look],
    maxTurns: 5,
  })
  const terminal = await run.result
  expect(terminal.reason).toBe('completed')
  const { messages, tools, system } = JSON.parse(String(server.bodies[1])) as JsonObject
  const cache_control = { type: 'ephemeral' }
  expect(messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Look at x', cache_control }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm, ü.', signature },
        { type: 'redacted_thinking', data: 'c2VjcmV0' },
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'toolu_1', name: 'Look', input: { at: 'x' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a stone', cache_control }] },
  ])
  expect(system).toEqual([{ type: 'text', text: 'Be brief.', cache_control }])
  expect(tools).toMatchObject([{ name: 'Look', cache_control }])
  expect(new Set(keys).size).toBe(2)
})

describe('an error response', () => {
  const anthropicBody = (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } })
  const openAiBody = (message: string, code: string | null = null) =>
    JSON.stringify({ error: { message, type: 'x', param: null, code } })
  const spendingCap = 'This organization has reached its monthly limit of spending.'

  interface Row {
    readonly status: number
    readonly body?: string
    readonly headers?: Readonly<Record<string, string>>
  }
  const rows: readonly (readonly [string, 'claude' | 'chat', Row, JsonObject])[] = [
    [
      '401',
      'claude',
      { status: 401, body: anthropicBody('authentication_error', 'invalid x-api-key') },
      { kind: 'authentication_failed', retryable: false, billed: 'nothing' },
    ],
    [
      '401',
      'chat',
      { status: 401, body: openAiBody('Incorrect API key', 'invalid_api_key') },
      { kind: 'authentication_failed', retryable: false, billed: 'nothing' },
    ],
    [
      '404',
      'chat',
      { status: 404, body: openAiBody('No such model', 'model_not_found') },
      { kind: 'model_not_found', retryable: false },
    ],
    [
      '429 with retry-after',
      'claude',
      {
        status: 429,
        headers: { 'retry-after': '7', 'request-id': 'req_1' },
        body: anthropicBody('rate_limit_error', 'Slow down'),
      },
      { kind: 'rate_limit', retryable: true, retryAfterMs: 7000, requestId: 'req_1', billed: 'nothing' },
    ],
    [
      '429 with retry-after-ms',
      'chat',
      { status: 429, headers: { 'retry-after-ms': '250', 'x-request-id': 'req_2' }, body: openAiBody('Slow down') },
      { kind: 'rate_limit', retryable: true, retryAfterMs: 250, requestId: 'req_2' },
    ],
    [
      '429 without retry-after',
      'claude',
      { status: 429, body: anthropicBody('rate_limit_error', 'Slow down') },
      { kind: 'rate_limit', retryable: true, retryAfterMs: null },
    ],
    [
      '429 with the limits of the Messages API',
      'claude',
      {
        status: 429,
        headers: {
          date: 'Sat, 21 Nov 2026 12:00:00 GMT',
          'anthropic-ratelimit-requests-reset': '2026-11-21T12:00:40Z',
          'anthropic-ratelimit-requests-remaining': '0',
        },
        body: anthropicBody('rate_limit_error', 'Slow down'),
      },
      { kind: 'rate_limit', retryable: true, retryAfterMs: 40_000 },
    ],
    [
      '429 with a time in its body',
      'chat',
      { status: 429, body: JSON.stringify({ error: { message: 'Slow down', code: null, retry_after: 7 } }) },
      { kind: 'rate_limit', retryable: true, retryAfterMs: 7000 },
    ],
    [
      '429 for a spending cap',
      'claude',
      { status: 429, body: anthropicBody('rate_limit_error', spendingCap) },
      { kind: 'billing_error', retryable: false },
    ],
    [
      '429 for a quota',
      'chat',
      { status: 429, body: openAiBody('You exceeded your current quota', 'insufficient_quota') },
      { kind: 'billing_error', retryable: false },
    ],
    [
      '529',
      'claude',
      { status: 529, body: anthropicBody('overloaded_error', 'Overloaded') },
      { kind: 'overloaded', retryable: true, billed: 'nothing' },
    ],
    [
      '500',
      'claude',
      { status: 500, body: anthropicBody('api_error', 'Internal') },
      { kind: 'server_error', retryable: true, billed: 'nothing' },
    ],
    [
      '500 of something in between',
      'chat',
      { status: 502, body: '<html><h1>Bad Gateway</h1></html>' },
      { kind: 'server_error', retryable: true, billed: 'unknown' },
    ],
    [
      '413',
      'claude',
      { status: 413, body: anthropicBody('request_too_large', 'Request exceeds the maximum size') },
      { kind: 'prompt_too_long', retryable: false },
    ],
    [
      '400 for a long prompt',
      'claude',
      { status: 400, body: anthropicBody('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum') },
      { kind: 'prompt_too_long', retryable: false, contextLimit: { used: 9, limit: 8 } },
    ],
    [
      '400 for a long prompt',
      'chat',
      { status: 400, body: openAiBody("This model's maximum context length is 8 tokens.", 'context_length_exceeded') },
      { kind: 'prompt_too_long', retryable: false, contextLimit: { used: null, limit: 8 } },
    ],
    [
      '400',
      'chat',
      { status: 400, body: openAiBody('Unknown parameter') },
      { kind: 'invalid_request', retryable: false, billed: 'nothing' },
    ],
    [
      '409',
      'claude',
      { status: 409, body: anthropicBody('conflict_error', 'Try again') },
      { kind: 'invalid_request', retryable: true },
    ],
  ]
  test.each(rows)('%s (%s)', async (_name, service, { status, body, headers }, expected) => {
    const server = await startRawServer((response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(body)
    })
    const { error } = await call(service === 'claude' ? claudeAt(server.url) : chatAt(server.url))
    expect(recordOf(error)).toMatchObject({ status, ...expected })
  })

  test('has its kind when it comes first in a stream under a 200', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(sse([{ type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } }]))
    })
    const { error } = await call(claudeAt(server.url))
    expect(recordOf(error)).toMatchObject({ kind: 'rate_limit', status: null, retryable: true, billed: 'unknown' })
  })

  test('has its retry time when it comes first in a stream under a 200, only in its body', async () => {
    const inStream = async (error: JsonObject) => {
      const server = await startRawServer((response) => {
        response.setHeader('x-ratelimit-reset', '60')
        beginStream(response)
        response.end(sse([{ type: 'error', error: { type: 'rate_limit_error', ...error } }]))
      })
      return recordOf((await call(claudeAt(server.url))).error)
    }
    expect(await inStream({ message: 'Please try again in 20s.' })).toMatchObject({ retryAfterMs: 20_000 })
    expect(await inStream({ message: 'Slow down' })).toMatchObject({ kind: 'rate_limit', retryAfterMs: null })
  })

  test('reports the context limit when it comes first in a stream under a 200', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      const message = 'prompt is too long: 9 tokens > 8 maximum'
      response.end(sse([{ type: 'error', error: { type: 'invalid_request_error', message } }]))
    })
    const { error } = await call(claudeAt(server.url))
    expect(recordOf(error)).toMatchObject({ kind: 'prompt_too_long', contextLimit: { used: 9, limit: 8 } })
  })

  test('preserves a completed block before it under a 200', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      const events = [
        started({ input_tokens: 5, output_tokens: 1 }),
        ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'So' }),
      ]
      response.end(sse([...events, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]))
    })
    const { reply } = await call(claudeAt(server.url))
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'So' }])
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'overloaded', retryable: true, billed: 'unknown' })
  })
})

describe('a connection', () => {
  const head = [
    started({ input_tokens: 5, output_tokens: 1 }),
    ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'So' }),
  ]

  test('that no server accepts is reported, and costs nothing', async () => {
    const free = createServer()
    await new Promise<void>((resolve) => void free.listen(0, '127.0.0.1', resolve))
    const { port } = free.address() as AddressInfo
    await new Promise<void>((resolve) => void free.close(() => resolve()))
    const { error } = await call(claudeAt(`http://127.0.0.1:${port}`))
    expect(recordOf(error)).toMatchObject({
      kind: 'connection',
      retryable: true,
      billed: 'nothing',
      message: `Nothing listens at http://127.0.0.1:${port} (ECONNREFUSED). Is the service running, and is the base URL right?`,
    })
  })

  test('may be retried when it breaks before a completed block', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, sse(head.slice(0, 3)))
      response.destroy()
    })
    const { error } = await call(claudeAt(server.url))
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: true, billed: 'unknown' })
  })

  test('preserves a completed block when it breaks after it', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, sse(head))
      response.destroy()
    })
    const { reply } = await call(claudeAt(server.url))
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'So' }])
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test('is released when the run is aborted', async () => {
    const controller = new AbortController()
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, sse(head))
    })
    const { error } = await call(claudeAt(server.url), {
      signal: controller.signal,
      onUpdate: (update) => {
        if (update.type === 'block') controller.abort('user')
      },
    })
    expect(error).toBe('user')
    await server.released()
  })

  test('is reused call after call', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(sse([...head, ...ended('end_turn')]))
    })
    const model = claudeAt(server.url)
    for (let count = 0; count < 5; count++) await call(model)
    expect(server.bodies).toHaveLength(5)
    expect(server.connections()).toBeLessThan(3)
  })
})
