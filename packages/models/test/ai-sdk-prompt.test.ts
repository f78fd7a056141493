import type { ContentBlock, ModelMessage } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { call, requestOf } from './support/call.ts'
import { finish, scriptedParts, text } from './support/scripted-parts.ts'

// How a conversation is rendered for the AI SDK.

async function promptFor(messages: readonly ModelMessage[], system = '', provider = 'test.chat'): Promise<unknown> {
  const model = scriptedParts([...text('ok'), finish()], { provider })
  await call(fromAiSdk(model), { request: requestOf({ messages, system }) })
  return model.calls[0]?.prompt
}

const asked: ModelMessage = { role: 'user', content: 'hi' }
const hi = { role: 'user', content: [{ type: 'text', text: 'hi' }] }

async function answerParts(content: readonly ContentBlock[], by?: string): Promise<unknown> {
  const answer: ModelMessage = { role: 'assistant', content, ...(by !== undefined && { by }) }
  const prompt = await promptFor([asked, answer, asked])
  return (prompt as { role: string; content: unknown }[]).filter(({ role }) => role === 'assistant')
}

const origin = { api: 'ai_sdk', provider: 'test.chat', metadata: { test: { signature: 'c2ln', n: [1.5, null] } } }
const providerOptions = { test: { signature: 'c2ln', n: [1.5, null] } }

describe('the prompt', () => {
  test('starts with the system prompt, unless it is blank', async () => {
    expect(await promptFor([asked], 'Be brief.')).toEqual([{ role: 'system', content: 'Be brief.' }, hi])
    expect(await promptFor([asked], ' \n')).toEqual([hi])
  })

  test('contains text, images, documents and search results', async () => {
    const content: readonly ContentBlock[] = [
      { type: 'text', text: 'look' },
      { type: 'text', text: ' ' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'image', source: { type: 'file' } },
      { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain words' } },
      { type: 'document', title: 'b', source: { type: 'file', file_id: 'f' } },
      { type: 'search_result', title: 'T', source: 'https://t/', content: [{ type: 'text', text: 'found' }] },
      { type: 'container_upload', file_id: 'f' },
    ]
    expect(await promptFor([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'file', data: 'AAAA', mediaType: 'image/png' },
          { type: 'file', data: new URL('https://example.com/a.png'), mediaType: 'image/*' },
          { type: 'text', text: '[An image was omitted: it cannot be sent to this model.]' },
          { type: 'file', data: 'BBBB', mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'text', text: 'plain words' },
          { type: 'text', text: '[A document ("b") was omitted: it cannot be sent to this model.]' },
          { type: 'text', text: 'T (https://t/)\nfound' },
        ],
      },
    ])
  })

  test('has the results of adjacent messages first, with their errors, and their images after them', async () => {
    const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const prompt = await promptFor([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'Read', input: { path: 'x' } },
          { type: 'tool_use', id: 'b', name: 'Shot', input: undefined },
        ],
      },
      { role: 'user', content: 'and hurry' },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'no such file', is_error: true },
          { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'done' }, image] },
          { type: 'tool_result', tool_use_id: 'z', content: [image, image] },
        ],
      },
    ])
    const file = { type: 'file', data: 'AAAA', mediaType: 'image/png' }
    expect(prompt).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'Read', input: { path: 'x' } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'Shot', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            toolName: 'Read',
            output: { type: 'error-text', value: 'no such file' },
          },
          {
            type: 'tool-result',
            toolCallId: 'b',
            toolName: 'Shot',
            output: { type: 'text', value: 'done\n[The file of this result follows below.]' },
          },
          {
            type: 'tool-result',
            toolCallId: 'z',
            toolName: 'tool',
            output: { type: 'text', value: '[The 2 files of this result follow below.]' },
          },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Files in the result of Shot (b):' },
          file,
          { type: 'text', text: 'Files in the result of tool (z):' },
          file,
          file,
          { type: 'text', text: 'and hurry' },
        ],
      },
    ])
  })
})

describe('a reply', () => {
  const signed: readonly ContentBlock[] = [
    { type: 'thinking', thinking: 'hm', signature: '', origin },
    { type: 'thinking', thinking: '', signature: '', origin },
    { type: 'text', text: '', origin },
    { type: 'tool_use', id: 'a', name: 'Read', input: { a: 1 }, origin },
  ]

  test.each([undefined, 'test-model'])("is sent back with the provider's metadata (by %s)", async (by) => {
    expect(await answerParts(signed, by)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions },
          { type: 'reasoning', text: '', providerOptions },
          { type: 'text', text: '', providerOptions },
          { type: 'tool-call', toolCallId: 'a', toolName: 'Read', input: { a: 1 }, providerOptions },
        ],
      },
    ])
  })

  test('of another model is sent without thinking, signatures and ids', async () => {
    expect(await answerParts(signed, 'another-model')).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'Read', input: { a: 1 } }],
      },
    ])
  })

  test('through another provider or adapter is sent without its metadata', async () => {
    const others: readonly ContentBlock[] = [
      { type: 'text', text: 'a', origin: { ...origin, provider: 'other.chat' } },
      { type: 'text', text: 'b', origin: { ...origin, api: 'messages' } },
      { type: 'thinking', thinking: 'plain', signature: '' },
    ]
    expect(await answerParts(others, 'test-model')).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
          { type: 'reasoning', text: 'plain' },
        ],
      },
    ])
  })

  const server: readonly ContentBlock[] = [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { q: 'x' }, origin },
    { type: 'server_tool_result', tool_use_id: 's', name: 'web_search', content: [{ url: 'u' }], origin },
    { type: 'server_tool_result', tool_use_id: 't', name: 'web_search', content: { e: 1 }, is_error: true, origin },
  ]

  test('includes server tool calls and results for the model that made them', async () => {
    const common = { toolName: 'web_search', providerOptions }
    expect(await answerParts(server, 'test-model')).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 's', input: { q: 'x' }, providerExecuted: true, ...common },
          { type: 'tool-result', toolCallId: 's', output: { type: 'json', value: [{ url: 'u' }] }, ...common },
          { type: 'tool-result', toolCallId: 't', output: { type: 'error-json', value: { e: 1 } }, ...common },
        ],
      },
    ])
  })

  test('omits them if only another service understands them', async () => {
    const foreign: readonly ContentBlock[] = [
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: '\n' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'compaction', content: 'x' },
    ]
    expect(await answerParts(foreign)).toEqual([])
    expect(await answerParts(server, 'another-model')).toEqual([])
  })
})

test("sets cache breakpoints for Anthropic's models after the tools, the system prompt and the two newest user turns", async () => {
  const model = scriptedParts([...text('ok'), finish()], { provider: 'vertex.anthropic.messages' })
  const answer: ModelMessage = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'A', input: {} }] }
  const result: ModelMessage = {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'a', content: 'r' },
      { type: 'text', text: 'go on' },
    ],
  }
  const tools = ['A', 'B'].map((name) => ({ name, description: '', input_schema: { type: 'object' } }))
  const messages = [asked, answer, result, answer, result]
  await call(fromAiSdk(model), { request: requestOf({ system: 'S', tools, messages }) })
  const { prompt, tools: given } = model.calls[0]!
  const marks = (list: readonly object[] | undefined) => list?.map((entry) => ('providerOptions' in entry ? 1 : 0))
  expect(prompt.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'user',
    'assistant',
    'tool',
    'user',
  ])
  expect(marks(prompt)).toEqual([1, 0, 0, 0, 1, 0, 0, 1])
  expect(marks(given)).toEqual([0, 1])
  expect(prompt[0]?.providerOptions).toEqual({ anthropic: { cacheControl: { type: 'ephemeral' } } })
})
