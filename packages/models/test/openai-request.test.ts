// Requests: every kind of block, the dialects of the services, and one complete body.
import { deepFreeze } from '@halting/core/adapters'
import type { ContentBlock, Json, JsonObject, ModelMessage, ModelRequest } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { createChatBody } from '../src/openai/chat-body.ts'
import type { ChatBodyOptions } from '../src/openai/chat-body.ts'
import { openai, openaiCompatible } from '../src/openai/openai.ts'
import type { OpenAiCompatibleOptions } from '../src/openai/openai-options.ts'
import { call, requestOf } from './support/call.ts'
import { chunk, finish } from './support/chat-read.ts'
import { chatBytes } from './support/chat-recordings.ts'
import { assistant, callOf, result, text, user } from './support/messages.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

const options: ChatBodyOptions = {
  model: 'm',
  id: 'asked',
  hasShortCallIds: false,
  separatesUserFromResults: false,
  outputLimitField: 'max_tokens',
  asksForUsage: true,
}

function bodyOf(parts: Partial<ModelRequest>, more: Partial<ChatBodyOptions> = {}): JsonObject {
  return JSON.parse(Buffer.from(createChatBody({ ...options, ...more })(requestOf(parts))).toString()) as JsonObject
}

function messagesOf(messages: readonly ModelMessage[], more: Partial<ChatBodyOptions> = {}): Json | undefined {
  return bodyOf({ messages: deepFreeze(messages) }, more).messages
}

const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
const imagePart = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }
const api = 'chat_completions'

describe('a body', () => {
  const tool = { name: 'Read', description: 'Reads.', input_schema: { type: 'object' } } as const
  const listed = { type: 'function', function: { name: 'Read', description: 'Reads.', parameters: { type: 'object' } } }

  test('contains what was requested, and nothing else', () => {
    expect(bodyOf({ system: 'Be brief.', tools: [tool] })).toEqual({
      model: 'm',
      tools: [listed],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test('omits system prompt and tools if they are empty', () => {
    expect(bodyOf({ system: ' \n', tools: [], toolChoice: 'none' })).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test('lists the tools and forbids their use with toolChoice none', () => {
    expect(bodyOf({ tools: [tool], toolChoice: 'none' })).toMatchObject({ tools: [listed], tool_choice: 'none' })
    expect(bodyOf({ tools: [tool] })).not.toHaveProperty('tool_choice')
  })

  test('has additional fields, overridden by our own', () => {
    const extraBody = { temperature: 0, reasoning: { effort: 'high' }, model: 'other', stream: false, max_tokens: 9 }
    expect(bodyOf({}, { extraBody })).toEqual({ ...bodyOf({}), temperature: 0, reasoning: { effort: 'high' } })
  })

  test('of later requests equals a new one', () => {
    const make = createChatBody(options)
    const messages: ModelMessage[] = [user(text('go'))]
    for (let turn = 0; turn < 20; turn++) {
      messages.push(assistant([callOf(`${turn}`)]), user(result(`${turn}`, 'fine — ünïcode 東京 🌍 \ud800')))
      const system = turn % 7 < 3 ? ['', 'one', 'two'][turn % 3] : 'two'
      const request = requestOf({ system, messages, tools: [tool], maxOutputTokens: 100 + turn })
      const once = Buffer.from(createChatBody(options)(request)).toString()
      expect(Buffer.from(make(request)).toString()).toBe(once)
    }
  })
})

describe('follows the dialect of the service', () => {
  const sent = async (
    baseUrl: string,
    make: typeof openaiCompatible,
    parts: Partial<ModelRequest> = {},
    more: Partial<OpenAiCompatibleOptions> = {},
  ) => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(chatBytes([chunk({ content: 'Yes.' }), finish('stop')]))
    })
    // The request goes to this machine, whatever the address is.
    const urls: string[] = []
    const model = make({
      model: 'm',
      baseUrl,
      apiKey: 'key',
      fetch: (url, init) => {
        urls.push(new Request(url).url)
        return fetch(server.url, init)
      },
      ...more,
    })
    const { reply } = await call(model, { request: requestOf(parts) })
    expect(reply?.message.content).toEqual([text('Yes.')])
    return { url: urls[0], body: JSON.parse(String(server.bodies[0])) as JsonObject }
  }
  const common = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true }
  const asked = { stream_options: { include_usage: true } }

  test('for OpenAI: max_completion_tokens', async () => {
    for (const make of [openai, openaiCompatible]) {
      expect(await sent('https://api.openai.com/v1', make, {}, { api: 'chat_completions' })).toEqual({
        url: 'https://api.openai.com/v1/chat/completions',
        body: { ...common, ...asked, max_completion_tokens: 100 },
      })
    }
  })

  test.each(['openai.azure.com', 'cognitiveservices.azure.com', 'services.ai.azure.com'])(
    'for Azure, under %s: max_completion_tokens',
    async (domain) => {
      expect(await sent(`https://x.${domain}/openai/v1/`, openaiCompatible)).toEqual({
        url: `https://x.${domain}/openai/v1/chat/completions`,
        body: { ...common, ...asked, max_completion_tokens: 100 },
      })
    },
  )

  test.each(['http://localhost:11434/v1', 'https://openrouter.ai/api/v1', 'https://notopenai.com/v1'])(
    'for %s: max_tokens',
    async (url) => {
      expect((await sent(url, openaiCompatible)).body).toEqual({ ...common, ...asked, max_tokens: 100 })
    },
  )

  test('for Mistral: no request for usage, and ids of nine letters and digits, the same for call and result', async () => {
    const messages = [
      user(text('go')),
      assistant([callOf('toolu_01'), callOf('D681PevKs')]),
      user(result('toolu_01', 'a'), result('D681PevKs', 'b')),
    ]
    const { body } = await sent('https://api.mistral.ai/v1', openaiCompatible, { messages })
    const ids = [expect.stringMatching(/^[a-zA-Z0-9]{9}$/), 'D681PevKs']
    expect(body).toEqual({
      ...common,
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'Read', arguments: '{}' } })),
        },
        { role: 'tool', tool_call_id: ids[0], content: 'a' },
        { role: 'tool', tool_call_id: ids[1], content: 'b' },
      ],
    })
    const [, asking, answer] = body.messages as { tool_calls: { id: string }[]; tool_call_id: string }[]
    expect(answer?.tool_call_id).toBe(asking?.tool_calls[0]?.id)
  })

  describe('Mistral, where no user message may follow a result', () => {
    const between = { role: 'assistant', content: 'I have the results.' }
    const toolOf = (content: string): JsonObject => ({ role: 'tool', tool_call_id: 'D681PevKs', content })
    const asking: readonly ModelMessage[] = [user(text('go')), assistant([callOf('D681PevKs')])]
    const after = async (more: Partial<OpenAiCompatibleOptions>, ...rest: readonly ModelMessage[]) => {
      const address = more.dialect === undefined ? 'https://api.mistral.ai/v1' : 'https://models.example/v1'
      const { body } = await sent(address, openaiCompatible, { messages: [...asking, ...rest] }, more)
      return body
    }

    test.each([
      ['by the host', {}],
      ['by the option', { dialect: 'mistral' }],
    ] as const)('gets an assistant message in between, %s', async (_, more) => {
      const fine = user(result('D681PevKs', 'fine'))
      const images = user(result('D681PevKs', [image]))
      const hi = { role: 'user', content: 'hi' }
      const shown = {
        role: 'user',
        content: [{ type: 'text', text: 'Images in the result of call D681PevKs:' }, imagePart],
      }
      for (const [messages, expected] of [
        [[fine], [toolOf('fine')]],
        [
          [fine, user(text('hi'))],
          [toolOf('fine'), between, hi],
        ],
        [
          [fine, user(text(' ')), { role: 'user', content: 'hi' }],
          [toolOf('fine'), between, hi],
        ],
        [
          [user(result('D681PevKs', 'fine'), text('hi')), user(text('hi'))],
          [toolOf('fine'), between, hi, hi],
        ],
        [[images], [toolOf('[The image follows below.]'), between, shown]],
        [
          [fine, assistant([text('Yes.')]), user(text('hi'))],
          [toolOf('fine'), { role: 'assistant', content: 'Yes.' }, hi],
        ],
      ] as const) {
        const body = await after(more, ...messages)
        expect((body.messages as readonly Json[]).slice(2)).toEqual(expected)
      }
      expect(await after(more, fine)).not.toHaveProperty('stream_options')
    })

    test('is the only service that gets the assistant message, and its dialect may request usage', async () => {
      const messages = [...asking, user(result('D681PevKs', 'fine'), text('hi'))]
      const { body } = await sent('https://models.example/v1', openaiCompatible, { messages })
      expect((body.messages as readonly Json[]).slice(2)).toEqual([toolOf('fine'), { role: 'user', content: 'hi' }])
      const extraBody = { stream_options: { include_usage: true } }
      expect(await after({ dialect: 'mistral', extraBody })).toMatchObject(asked)
    })

    test('also gets the assistant message in a growing conversation', () => {
      const dialect = { ...options, hasShortCallIds: true, separatesUserFromResults: true }
      const make = createChatBody(dialect)
      const messages: ModelMessage[] = [...asking]
      for (const next of [user(result('D681PevKs', 'a')), user(text('b')), ...asking, user(result('D681PevKs', 'c'))]) {
        messages.push(next)
        const request = requestOf({ messages })
        expect(Buffer.from(make(request)).toString()).toBe(Buffer.from(createChatBody(dialect)(request)).toString())
      }
      const { messages: sentLast } = JSON.parse(Buffer.from(make(requestOf({ messages }))).toString()) as JsonObject
      expect((sentLast as readonly JsonObject[]).map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
        'user',
        'assistant',
        'tool',
      ])
    })
  })

  test('does not request usage with stream_options null, for services that reject the field', async () => {
    const { body } = await sent(
      'http://localhost/v1',
      openaiCompatible,
      {},
      { extraBody: { stream_options: null, seed: 1 } },
    )
    expect(body).toEqual({ ...common, max_tokens: 100, seed: 1 })
  })
})

describe('a user message', () => {
  test('is a text if it has only text, with paragraphs, and without blank ones', () => {
    expect(
      messagesOf([user(text('one'), text(' \n'), text('two')), user(text('  ')), { role: 'user', content: 'three' }]),
    ).toEqual([
      { role: 'user', content: 'one\n\ntwo' },
      { role: 'user', content: 'three' },
    ])
  })

  test('is a list of parts if it has images', () => {
    const link: ContentBlock = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } }
    expect(messagesOf([user(text('see'), image, link)])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          imagePart,
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
        ],
      },
    ])
  })

  test('has the text of documents, or a note about them', () => {
    const plain: ContentBlock = {
      type: 'document',
      title: 'notes.txt',
      source: { type: 'text', media_type: 'text/plain', data: 'words' },
    }
    const pdf: ContentBlock = {
      type: 'document',
      title: 'a.pdf',
      source: { type: 'base64', media_type: 'application/pdf', data: 'x' },
    }
    expect(
      messagesOf([user(plain, pdf, { type: 'document', source: { type: 'url', url: 'https://x.example' } })]),
    ).toEqual([
      {
        role: 'user',
        content:
          'notes.txt\n\nwords\n\n[A document ("a.pdf") was omitted: it cannot be sent to this model.]\n\n[A document was omitted: it cannot be sent to this model.]',
      },
    ])
  })
})

describe('tool results', () => {
  test('become one message each, in order, before other text', () => {
    expect(
      messagesOf([
        assistant([callOf('a'), callOf('b')]),
        user(text('by the way'), result('a', 'one'), result('b', [text('two'), text('three')])),
      ]),
    ).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'Read', arguments: '{}' } })),
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'two\nthree' },
      { role: 'user', content: 'by the way' },
    ])
  })

  test.each(['', 'x'.repeat(41)])('get a valid id if the service rejects the original (%j)', (id) => {
    const [asking, answer] = messagesOf([assistant([callOf(id)]), user(result(id, 'one'))]) as JsonObject[]
    expect(answer?.tool_call_id).toMatch(/^call_[a-zA-Z0-9]{9}$/)
    expect(asking?.tool_calls).toMatchObject([{ id: answer?.tool_call_id }])
  })

  test('say once that they are errors', () => {
    expect(
      messagesOf([user(result('a', 'no such file', true), result('b', 'Error: no', true), result('c', [], true))]),
    ).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'Error: no such file' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no' },
      { role: 'tool', tool_call_id: 'c', content: 'Error: ' },
    ])
  })

  test('have their images in a following user message', () => {
    expect(messagesOf([user(result('a', [text('seen'), image]), result('b', 'two'), text('and?'))])).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'seen\n[The image follows below.]' },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Images in the result of call a:' }, imagePart, { type: 'text', text: 'and?' }],
      },
    ])
  })

  test('have the text of documents, never the bytes', () => {
    const pdf: ContentBlock = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
    }
    expect(messagesOf([user(result('a', [pdf]))])).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '[A document was omitted: it cannot be sent to this model.]' },
    ])
  })
})

describe('a model message', () => {
  const only = (block: ContentBlock, by?: string): Json | undefined =>
    messagesOf([assistant([block, text('Yes.')], by)])
  const thought = (origin: JsonObject, thinking = 'Hm.'): ContentBlock => ({
    type: 'thinking',
    thinking,
    signature: '',
    origin: { api, ...origin },
  })

  test('is one text, as it was streamed, with its calls', () => {
    expect(messagesOf([assistant([text('I look. '), callOf('a', { p: 1 }), text('And so.')])])).toEqual([
      {
        role: 'assistant',
        content: 'I look. And so.',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'Read', arguments: '{"p":1}' } }],
      },
    ])
  })

  test('has the exact text of the arguments, and the additional fields of the call', () => {
    const origin = { api, arguments: '{"p": 1.0}', extra_content: { google: { thought_signature: 's' } } }
    expect(
      messagesOf([assistant([{ type: 'tool_use', id: 'a', name: 'Read', input: { p: 1 }, origin }])]),
    ).toMatchObject([
      {
        tool_calls: [
          {
            function: { name: 'Read', arguments: '{"p": 1.0}' },
            extra_content: { google: { thought_signature: 's' } },
          },
        ],
      },
    ])
  })

  test('has additional fields only for its own service: strict services reject them', () => {
    const origin = { api, arguments: '{"p": 1.0}', extra_content: { google: { thought_signature: 's' } } }
    const asking: ContentBlock = { type: 'tool_use', id: 'a', name: 'Read', input: { p: 1 }, origin }
    const sent = (extra: JsonObject): JsonObject => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'Read', arguments: '{"p": 1.0}' }, ...extra }],
    })
    const { extra_content } = origin
    expect(messagesOf([assistant([asking], 'other')])).toEqual([sent({})])
    expect(messagesOf([assistant([asking], 'asked')])).toEqual([sent({ extra_content })])
  })

  test('has no metadata of another protocol', () => {
    const origin = { api: 'messages', json: '{}', arguments: 'x', extra_content: {} }
    expect(messagesOf([assistant([{ type: 'tool_use', id: 'a', name: 'Read', input: { p: 1 }, origin }])])).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'Read', arguments: '{"p":1}' } }],
      },
    ])
  })

  test.each(['reasoning_content', 'reasoning'])('has its reasoning in %s', (field) => {
    expect(only(thought({ field }))).toEqual([{ role: 'assistant', content: 'Yes.', [field]: 'Hm.' }])
    expect(only(thought({ field }), 'asked')).toEqual([{ role: 'assistant', content: 'Yes.', [field]: 'Hm.' }])
  })

  test('has its reasoning as parts of the content', () => {
    expect(only(thought({ field: 'content' }))).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
          { type: 'text', text: 'Yes.' },
        ],
      },
    ])
  })

  test('has the details of a router, those of several blocks as one list', () => {
    const content = [
      thought({ field: 'reasoning', details: [{ type: 'reasoning.text', index: 0, text: 'Hm.' }] }),
      text('Yes.'),
      thought(
        {
          details: [
            { type: 'reasoning.text', index: 0, signature: 'sig' },
            { type: 'reasoning.encrypted', index: 1, data: 'e' },
          ],
        },
        '',
      ),
    ]
    expect(messagesOf([assistant(content)])).toEqual([
      {
        role: 'assistant',
        content: 'Yes.',
        reasoning: 'Hm.',
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'Hm.', signature: 'sig' },
          { type: 'reasoning.encrypted', index: 1, data: 'e' },
        ],
      },
    ])
  })

  test('omits reasoning of another model or protocol', () => {
    const plain = [{ role: 'assistant', content: 'Yes.' }]
    expect(only(thought({ field: 'reasoning' }), 'other')).toEqual(plain)
    expect(only({ type: 'thinking', thinking: 'Hm.', signature: 'sig' })).toEqual(plain)
    expect(only({ type: 'redacted_thinking', data: 'x' }, 'asked')).toEqual(plain)
  })

  test('is omitted without text and calls', () => {
    expect(messagesOf([assistant([thought({ field: 'reasoning' }), text(' \n')]), assistant([])])).toEqual([])
  })

  test('has valid ids: long ones are shortened, the same for call and result', () => {
    const long = 'x'.repeat(41)
    const [asking, answer] = messagesOf([
      assistant([callOf(long), callOf('x'.repeat(40))]),
      user(result(long, 'a')),
    ]) as [{ tool_calls: { id: string }[] }, { tool_call_id: string }]
    expect(asking.tool_calls.map(({ id }) => id)).toEqual([expect.stringMatching(/^call_\w{9}$/), 'x'.repeat(40)])
    expect(answer.tool_call_id).toBe(asking.tool_calls[0]?.id)
  })
})

test('allows per image what the model bills: far more with gpt-4o-mini than elsewhere', () => {
  const most = (model: string, more: Partial<OpenAiCompatibleOptions> = {}): number | undefined =>
    openaiCompatible({ model, baseUrl: 'http://localhost/v1', apiKey: 'key', ...more }).maxImageTokens
  for (const model of ['gpt-4o-mini', 'gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini']) expect(most(model)).toBe(48_169)
  for (const model of ['gpt-4o', 'gpt-4.1-mini', 'gpt-4o-mini-audio-preview']) expect(most(model)).toBeUndefined()
  expect(most('deployment', { id: 'gpt-4o-mini' })).toBe(48_169)
  expect(most('gpt-4o-mini', { maxImageTokens: 9 })).toBe(9)
})
