// How sampling and tool choices are sent to each service, and the warnings about settings that a service does not
// support.
import { describe, expect, test } from 'vitest'
import type { Model, ModelRequest } from '@halting/core'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { requestOf } from './support/call.ts'

const tools = [{ name: 'Look', description: 'looks', input_schema: { type: 'object' } }]
const sampling = { temperature: 0.5, topP: 0.9, stopSequences: ['END'], seed: 7 }

const chatReply = [
  { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'ok' } }] },
  { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { id: 'c', model: 'm', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
]
  .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  .join('')
const messagesReply = [
  {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'ok' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('')
const responsesReply = (() => {
  const item = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'ok', annotations: [] }],
  }
  const response = {
    id: 'r',
    object: 'response',
    model: 'm',
    status: 'completed',
    output: [item],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
})()

interface Sent {
  readonly body: { readonly [field: string]: unknown }
  readonly warnings: readonly string[]
}

/** The requests that a model sends for each of these, and its notices. */
async function sentBy(
  make: (fetch: typeof globalThis.fetch) => Model,
  reply: string,
  ...requests: readonly Partial<ModelRequest>[]
): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  let text = ''
  const model = make(async (_url, init) => {
    text = await new Response(init?.body ?? null).text()
    return new Response(reply, { headers: { 'content-type': 'text/event-stream' } })
  })
  for (const parts of requests) {
    const { warnings = [] } = await model.call(requestOf(parts), {
      signal: new AbortController().signal,
      emit: () => undefined,
    })
    // The code under test wrote the body.
    sent.push({ body: JSON.parse(text) as Sent['body'], warnings })
  }
  return sent
}

const baseUrl = 'https://service.example/v1'
const messages =
  (more: object = {}) =>
  (fetch: typeof globalThis.fetch) =>
    anthropic('claude-x', { apiKey: 'key-of-the-test-1', fetch, ...more })
const chat =
  (model = 'tiny', more: object = {}) =>
  (fetch: typeof globalThis.fetch) =>
    openaiCompatible(model, { baseUrl, fetch, ...more })
const responses =
  (model = 'gpt-4.1', more: object = {}) =>
  (fetch: typeof globalThis.fetch) =>
    openaiResponses(model, { apiKey: 'key-of-the-test-1', fetch, ...more })

describe('the Messages API', () => {
  test('receives everything except a seed, which is reported once', async () => {
    const [first, second] = await sentBy(messages(), messagesReply, { sampling }, { sampling })
    expect(first?.body).toMatchObject({ temperature: 0.5, top_p: 0.9, stop_sequences: ['END'] })
    expect(first?.body).not.toHaveProperty('seed')
    expect([first?.warnings, second?.warnings]).toEqual([['claude-x does not support seed, so this was omitted.'], []])
  })

  test('receives neither a temperature nor a required call while the model thinks', async () => {
    const thinking = { type: 'enabled', budgetTokens: 2_000 } as const
    const request = { sampling, tools, toolChoice: 'required', thinking, maxOutputTokens: 8_000 } as const
    const [sent] = await sentBy(messages(), messagesReply, request)
    expect(sent?.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 2_000 }, stop_sequences: ['END'] })
    for (const field of ['temperature', 'top_p', 'tool_choice']) expect(sent?.body).not.toHaveProperty(field)
    expect(sent?.warnings).toHaveLength(1 + 1 + 1 + 1)
    const high = { sampling: { topP: 0.97 }, thinking, maxOutputTokens: 8_000 }
    expect((await sentBy(messages(), messagesReply, high))[0]).toMatchObject({ body: { top_p: 0.97 }, warnings: [] })
  })
})

describe('chat completions', () => {
  test('receive everything, before extraBody', async () => {
    const extraBody = { temperature: 2, top_k: 4 }
    const [sent, plain] = await sentBy(chat('tiny', { extraBody }), chatReply, { sampling }, {})
    expect(sent?.body).toMatchObject({ temperature: 0.5, top_p: 0.9, stop: ['END'], seed: 7, top_k: 4 })
    expect(plain?.body).toMatchObject({ temperature: 2, top_k: 4 })
    expect(sent?.warnings).toEqual([])
  })

  test("of OpenAI's reasoning models receive only the seed", async () => {
    const [sent] = await sentBy(chat('gpt-5'), chatReply, { sampling })
    expect(sent?.body).toMatchObject({ seed: 7 })
    for (const field of ['temperature', 'top_p', 'stop']) expect(sent?.body).not.toHaveProperty(field)
    expect(sent?.warnings).toEqual(['gpt-5 does not support temperature, topP, stopSequences, so this was omitted.'])
  })
})

describe('the Responses API', () => {
  test('receives temperature and topP; it has no stop sequences and no seed', async () => {
    const [sent, again] = await sentBy(
      responses('gpt-4.1', { extraBody: { temperature: 2 } }),
      responsesReply,
      { sampling },
      { sampling },
    )
    expect(sent?.body).toMatchObject({ temperature: 0.5, top_p: 0.9 })
    for (const field of ['stop', 'seed']) expect(sent?.body).not.toHaveProperty(field)
    expect([sent?.warnings, again?.warnings]).toEqual([
      ['gpt-4.1 does not support stopSequences, seed, so this was omitted.'],
      [],
    ])
  })

  test('of a reasoning model receives them if reasoning is off', async () => {
    const only = { sampling: { temperature: 0.5 } }
    expect((await sentBy(responses('gpt-5.2'), responsesReply, only))[0]?.body).not.toHaveProperty('temperature')
    const thoughtless = await sentBy(responses('gpt-5.2', { effort: 'none' }), responsesReply, only)
    expect(thoughtless[0]).toMatchObject({ body: { temperature: 0.5 }, warnings: [] })
  })
})

describe('tool choices', () => {
  const named = { tool: 'Look' }
  test.each([
    [
      'the Messages API',
      messages(),
      messagesReply,
      undefined,
      { type: 'none' },
      { type: 'any' },
      { type: 'tool', name: 'Look' },
    ],
    [
      'chat completions',
      chat(),
      chatReply,
      undefined,
      'none',
      'required',
      { type: 'function', function: { name: 'Look' } },
    ],
    [
      'the Responses API',
      responses(),
      responsesReply,
      undefined,
      'none',
      'required',
      { type: 'function', name: 'Look' },
    ],
    [
      'a tool of the Responses API that takes text',
      responses('gpt-5.2', { freeform: { Look: { field: 'text' } } }),
      responsesReply,
      undefined,
      'none',
      'required',
      { type: 'custom', name: 'Look' },
    ],
  ])('of %s', async (_service, make, reply, ...expected) => {
    const choices = ['auto', 'none', 'required', named] as const
    const sent = await sentBy(make, reply, ...choices.map((toolChoice) => ({ tools, toolChoice })))
    expect(sent.map(({ body }) => body['tool_choice'])).toEqual(expected)
    // Without tools there is no choice, and services reject the field.
    const bare = await sentBy(make, reply, ...choices.map((toolChoice) => ({ toolChoice })))
    expect(bare.map(({ body }) => body['tool_choice'])).toEqual(choices.map(() => undefined))
  })
})

test('passes everything to AI SDK models in their own terms', async () => {
  const received: { readonly [field: string]: unknown }[] = []
  const model = fromAiSdk({
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'm',
    doStream(options: { readonly [field: string]: unknown }) {
      received.push(options)
      return Promise.reject(new Error('enough'))
    },
  })
  for (const toolChoice of [undefined, 'none', 'required', { tool: 'Look' }] as const) {
    const request = requestOf({ tools, sampling, ...(toolChoice !== undefined && { toolChoice }) })
    await model.call(request, { signal: new AbortController().signal, emit: () => undefined }).catch(() => undefined)
  }
  expect(received.map(({ toolChoice }) => toolChoice)).toEqual([
    { type: 'auto' },
    { type: 'none' },
    { type: 'required' },
    { type: 'tool', toolName: 'Look' },
  ])
  expect(received[0]).toMatchObject(sampling)
})
