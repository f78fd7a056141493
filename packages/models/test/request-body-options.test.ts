import type { ContentBlock, ModelMessage, ModelRequest } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { createRequestBody } from '../src/anthropic/request-body.ts'
import type { RequestBodyOptions } from '../src/anthropic/request-body.ts'
import { requestOf } from './support/call.ts'

type Options = Partial<RequestBodyOptions>

const textOf = (parts: Partial<ModelRequest>, options: Options = {}): string =>
  Buffer.from(createRequestBody({ model: 'm', id: 'own', ...options })(requestOf(parts))).toString()

/** The body without the fields that all bodies have. */
function fieldsOf(parts: Partial<ModelRequest>, options: Options = {}): unknown {
  // If the body is not an object, the comparison fails.
  const {
    model: _,
    stream: __,
    max_tokens: ___,
    messages: ____,
    ...fields
  } = JSON.parse(textOf(parts, options)) as {
    [field: string]: unknown
  }
  return fields
}

function messagesOf(messages: readonly ModelMessage[], options: Options = {}): unknown {
  // If the body is not an object, the comparison fails.
  return (JSON.parse(textOf({ messages }, { caching: false, ...options })) as { messages: unknown }).messages
}

const tool = { name: 'Read', description: 'Reads.', input_schema: { type: 'object' } } as const

describe('caching', () => {
  const parts = { system: 's', tools: [tool], messages: [{ role: 'user', content: 'go' }] } as const

  test('for an hour is requested at every breakpoint', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' }
    expect(JSON.parse(textOf(parts, { cacheTtl: '1h' }))).toEqual({
      model: 'm',
      max_tokens: 100,
      stream: true,
      tools: [{ ...tool, cache_control }],
      system: [{ type: 'text', text: 's', cache_control }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'go', cache_control }] }],
    })
    expect(textOf(parts, { cacheTtl: '5m' })).toBe(textOf(parts))
    expect(textOf(parts)).not.toContain('ttl')
  })

  test('leaves no breakpoint when it is off', () => {
    expect(textOf(parts, { caching: false, cacheTtl: '1h' })).toBe(
      textOf(parts).replaceAll(',"cache_control":{"type":"ephemeral"}', ''),
    )
  })
})

describe('thinking', () => {
  const budget = (maxTokens: number): unknown =>
    fieldsOf({ maxOutputTokens: maxTokens }, { thinking: { type: 'enabled', budgetTokens: 4_000 } })

  test('has a budget below the cap that leaves 1,024 for the answer', () => {
    expect(budget(32_000)).toEqual({ thinking: { type: 'enabled', budget_tokens: 4_000 } })
    expect(budget(5_024)).toEqual({ thinking: { type: 'enabled', budget_tokens: 4_000 } })
    expect(budget(5_023)).toEqual({ thinking: { type: 'enabled', budget_tokens: 3_999 } })
    expect(budget(2_048)).toEqual({ thinking: { type: 'enabled', budget_tokens: 1_024 } })
  })

  test('is not requested with less than the 1,024 that the API requires', () => {
    expect(budget(2_047)).toEqual({})
    expect(fieldsOf({ maxOutputTokens: 9_000 }, { thinking: { type: 'enabled', budgetTokens: 1_000 } })).toEqual({})
  })

  test('is that of the request, otherwise that of the model', () => {
    const own = { thinking: { type: 'enabled', budgetTokens: 4_000 } } as const
    expect(fieldsOf({ maxOutputTokens: 9_000, thinking: { type: 'enabled', budgetTokens: 2_000 } }, own)).toEqual({
      thinking: { type: 'enabled', budget_tokens: 2_000 },
    })
    expect(fieldsOf({ maxOutputTokens: 9_000, thinking: { type: 'adaptive' } }, own)).toEqual({
      thinking: { type: 'adaptive' },
    })
    expect(fieldsOf({ maxOutputTokens: 9_000, thinking: { type: 'disabled' } }, own)).toEqual({})
    expect(fieldsOf({ maxOutputTokens: 9_000 }, { thinking: { type: 'disabled' } })).toEqual({})
  })

  test('is sent at every cap if it is adaptive, with the effort', () => {
    expect(fieldsOf({ maxOutputTokens: 100 }, { thinking: { type: 'adaptive' }, effort: 'max' })).toEqual({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'max' },
    })
  })

  test('is compatible with tool_choice none', () => {
    expect(fieldsOf({ tools: [tool], toolChoice: 'none' }, { caching: false, thinking: { type: 'adaptive' } })).toEqual(
      {
        tools: [tool],
        tool_choice: { type: 'none' },
        thinking: { type: 'adaptive' },
      },
    )
  })
})

describe('tools', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 } as const
  const mark = { cache_control: { type: 'ephemeral' } }

  test('stay listed with toolChoice none, which forbids their use', () => {
    expect(fieldsOf({ tools: [tool], toolChoice: 'none' })).toEqual({
      tools: [{ ...tool, ...mark }],
      tool_choice: { type: 'none' },
    })
    expect(fieldsOf({ tools: [], toolChoice: 'none' })).toEqual({})
    expect(fieldsOf({ tools: [], toolChoice: 'none' }, { serverTools: [search] })).toEqual({
      tools: [{ ...search, ...mark }],
      tool_choice: { type: 'none' },
    })
  })

  test('of the service follow ours unchanged, and the last tool has the breakpoint', () => {
    const fetch = { type: 'web_fetch_20250910', name: 'web_fetch', ...mark } as const
    expect(fieldsOf({ tools: [tool] }, { serverTools: [search, fetch, search] })).toEqual({
      tools: [tool, search, { type: 'web_fetch_20250910', name: 'web_fetch' }, { ...search, ...mark }],
    })
  })

  const ran = (id: string, by?: string, expires_at?: string): ModelMessage => ({
    role: 'assistant',
    content: [{ type: 'text', text: 'ran' }],
    container: { id, ...(expires_at !== undefined && { expires_at }) },
    ...(by !== undefined && { by }),
  })
  const containerOf = (messages: readonly ModelMessage[], serverTools: RequestBodyOptions['serverTools']): unknown =>
    // If the body is not an object, the comparison fails.
    (JSON.parse(textOf({ messages }, { serverTools })) as { container?: unknown }).container

  test('of the service find their last container for this model', () => {
    expect(containerOf([ran('a', 'own'), ran('b', 'own'), ran('c', 'other')], [search])).toBe('b')
    expect(containerOf([ran('a')], [search])).toBe('a')
    expect(containerOf([ran('a', 'other')], [search])).toBeUndefined()
    expect(containerOf([ran('a', 'own')], [])).toBeUndefined()
  })

  test('of the service get no expired container', () => {
    expect(containerOf([ran('a', 'own', '2099-01-01T00:00:00Z')], [search])).toBe('a')
    expect(containerOf([ran('a', 'own'), ran('b', 'own', '2001-01-01T00:00:00Z')], [search])).toBeUndefined()
  })
})

describe('content of a model', () => {
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' } as const
  const redacted = { type: 'redacted_thinking', data: 'ZGF0YQ==' } as const
  const text = { type: 'text', text: 'So.' } as const
  const says = (by: string | undefined, ...content: ContentBlock[]): ModelMessage => ({
    role: 'assistant',
    content,
    ...(by !== undefined && { by }),
  })

  test('is not sent to another one if it is signed', () => {
    expect(messagesOf([says('other', thinking, redacted, text)])).toEqual([{ role: 'assistant', content: [text] }])
    const own = [{ role: 'assistant', content: [thinking, redacted, text] }]
    expect(messagesOf([says('own', thinking, redacted, text)])).toEqual(own)
    expect(messagesOf([says(undefined, thinking, redacted, text)])).toEqual(own)
  })

  test('is sent to none if it is thinking without a signature', () => {
    expect(messagesOf([says('own', { ...thinking, signature: '' }, text)])).toEqual([
      { role: 'assistant', content: [text] },
    ])
  })

  test('is reduced to text and calls if it came through another protocol', () => {
    const origin = { api: 'ai_sdk', provider: 'other.chat' }
    const call = { type: 'tool_use', id: 'c', name: 'Read', input: {} } as const
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {}, origin } as const
    const thought = { ...thinking, signature: 'theirs', origin }
    expect(messagesOf([says(undefined, thought, search, text, { ...call, origin })])).toEqual([
      { role: 'assistant', content: [text, call] },
    ])
  })

  test('gets another id if the API rejects it, the same for the call and its result', () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'Read', input: {} }) as const
    const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }) as const
    const [asked, answered] = messagesOf([
      says('other', call('functions.Read:0'), call('toolu_1-a')),
      { role: 'user', content: [result('functions.Read:0'), result('toolu_1-a')] },
    ]) as { content: { id?: string; tool_use_id?: string }[] }[]
    const ids = asked!.content.map(({ id }) => id)
    expect(ids).toEqual([expect.stringMatching(/^call_[a-z0-9]+$/), 'toolu_1-a'])
    expect(answered!.content.map(({ tool_use_id }) => tool_use_id)).toEqual(ids)
  })

  test('is skipped if it is empty, and adjacent user messages are merged', () => {
    const said = (content: string): ModelMessage => ({ role: 'user', content })
    expect(messagesOf([said('a'), says('other', thinking), said('b')])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  test('is sent without our own fields', () => {
    const origin = { api: 'chat', json: '{"type":"text","text":"no"}' }
    const message = { ...says('own', { ...text, origin }), id: 'i', container: { id: 'c' } }
    expect(messagesOf([message])).toEqual([{ role: 'assistant', content: [text] }])
    // A field of the service itself with the name of one of ours.
    const page = {
      type: 'web_search_tool_result',
      tool_use_id: 's',
      origin: 'https://example.com',
      content: [],
    } as const
    expect(messagesOf([says('own', page)])).toEqual([{ role: 'assistant', content: [page] }])
    const both = { ...page, cache_control: { type: 'ephemeral' } }
    expect(messagesOf([says('own', both)])).toEqual([{ role: 'assistant', content: [page] }])
  })
})

describe('sends content back byte for byte', () => {
  const block = { type: 'tool_use', id: 't', name: 'Set', input: { n: 1 } } as const
  const sent = (json: unknown): string => {
    // The type allows any JSON value here.
    const origin = { api: 'messages', json: json as string }
    const body = textOf({ messages: [{ role: 'assistant', content: [{ ...block, origin }] }] })
    return /"messages":\[\{"role":"assistant","content":\[(.*)\]\}\],/.exec(body)?.[1] ?? body
  }

  test.each([
    '{"type":"tool_use","id":"t","name":"Set","input":{"n":1.0,"big":12345678901234567890,"huge":1e400}}',
    '{"type":"tool_use","id":"t","name":"Set","input":{"b":1,"2":1,"1":1,"b":2,"__proto__":{}}}',
    '{ "type" : "tool_use", "id":"t","name":"Set","input":{"s":"\\u00e9\\/\\ud83d"} }',
  ])('if JavaScript would write it differently: %s', (json) => {
    expect(sent(json)).toBe(json)
  })

  test.each([
    ['no JSON', '{"type":"tool_use"'],
    ['no object', '["tool_use"]'],
    ['null', 'null'],
    ['another kind of block', '{"type":"text","text":"x"}'],
    ['no text', { type: 'tool_use' }],
    ['more than one block', '{"type":"tool_use"},{"type":"tool_use"}'],
    ['a breakpoint', '{"type":"tool_use","id":"t","cache_control":{"type":"ephemeral"}}'],
  ])('unless the record contains %s: then as parsed', (_, json) => {
    expect(sent(json)).toBe(JSON.stringify(block))
  })

  test('writes valid UTF-8 and the same text for a lone surrogate and U+2028', () => {
    const text = 'a\ud83d b\udc00 c\u2028 d\u2029 \ud83d\ude00 é'
    const bytes = createRequestBody({ model: 'm', id: 'own', caching: false })(
      requestOf({ system: text, messages: [{ role: 'user', content: text }] }),
    )
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    expect(JSON.parse(decoded)).toMatchObject({
      system: [{ type: 'text', text }],
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    })
  })
})

test('sends context management as given', () => {
  const contextManagement = { edits: [{ type: 'compact_20260112' }] }
  expect(fieldsOf({}, { caching: false, contextManagement })).toEqual({ context_management: contextManagement })
  expect(fieldsOf({}, { caching: false })).toEqual({})
})
