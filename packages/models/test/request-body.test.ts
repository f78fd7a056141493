import { deepFreeze } from '@halting/core'
import type { ContentBlock, ModelMessage, ModelRequest } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { requestBody } from '../src/anthropic/request-body.ts'
import { requestOf } from './support/call.ts'

const mark = { cache_control: { type: 'ephemeral' } }

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[]
  readonly [field: string]: unknown
}

function bodyOf(parts: Partial<ModelRequest>): Body {
  return JSON.parse(Buffer.from(requestBody('m', requestOf(parts))).toString()) as Body
}

const call = (id: string): ModelMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'Read', input: { file_path: 'a' } }],
})
const result = (id: string): ModelMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: 'text' }],
})

describe('cache breakpoints', () => {
  test('stand after the tools, the system prompt and the two newest user turns', () => {
    const tool = { name: 'Read', description: 'Reads.', input_schema: { type: 'object' } } as const
    const body = bodyOf({
      system: 'Be brief.',
      tools: [tool, { ...tool, name: 'Write' }],
      messages: [{ role: 'user', content: 'go' }, call('1'), result('1'), call('2'), result('2')],
    })
    expect(body).toEqual({
      model: 'm',
      max_tokens: 100,
      stream: true,
      system: [{ type: 'text', text: 'Be brief.', ...mark }],
      tools: [tool, { ...tool, name: 'Write', ...mark }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'go' }] },
        call('1'),
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: 'text', ...mark }] },
        call('2'),
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: '2', content: 'text', ...mark }] },
      ],
    })
  })

  test('are never more than four, whatever the messages bring along', () => {
    const marked = [{ type: 'text', text: 'x', ...mark }] as const
    const messages: ModelMessage[] = Array.from({ length: 9 }, (_, index) =>
      index % 2 === 0 ? { role: 'user', content: marked } : { role: 'assistant', content: marked },
    )
    const text = Buffer.from(requestBody('m', requestOf({ system: 's', messages }))).toString()
    expect(text.match(/cache_control/g)).toHaveLength(3)
  })

  test('are not written into the messages, which are shared', () => {
    const messages = deepFreeze([{ role: 'user', content: 'go' }, call('1'), result('1')] as ModelMessage[])
    const before = JSON.stringify(messages)
    bodyOf({ messages })
    expect(JSON.stringify(messages)).toBe(before)
  })

  test('move on: the prefix before the newest one is the same bytes in the next request', () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const plain = (bytes: Uint8Array): string =>
      Buffer.from(bytes)
        .toString()
        .replaceAll(/,"cache_control":\{[^}]*\}/g, '')
    let before = plain(requestBody('m', requestOf({ messages })))
    for (let turn = 0; turn < 10; turn++) {
      messages.push(call(`${turn}`), result(`${turn}`))
      const after = plain(requestBody('m', requestOf({ messages })))
      expect(after.startsWith(before.slice(0, -']}'.length))).toBe(true)
      before = after
    }
  })
})

describe('messages become what the API accepts', () => {
  test('neighbouring user messages are one, its tool results first', () => {
    const { messages } = bodyOf({
      messages: [call('1'), { role: 'user', content: 'by the way' }, result('1'), { role: 'user', content: 'and' }],
    })
    expect(messages[1]).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: '1', content: 'text' },
        { type: 'text', text: 'by the way' },
        { type: 'text', text: 'and', ...mark },
      ],
    })
  })

  test('text without a visible character and messages without content are left out', () => {
    const { messages } = bodyOf({
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [] },
        { role: 'assistant', content: [{ type: 'text', text: '' }, ...(call('1').content as readonly ContentBlock[])] },
        { role: 'user', content: [{ type: 'text', text: ' \n' }] },
        result('1'),
      ],
    })
    expect(messages.map(({ role, content }) => [role, content.length])).toEqual([
      ['user', 1],
      ['assistant', 1],
      ['user', 1],
    ])
  })

  test('content that came back is sent again unchanged', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm — “so”.\n', signature: 'EqQB+/==' },
      { type: 'redacted_thinking', data: 'b64==' },
      { type: 'text', text: 'It is\u2028so \ud83d\ude00 \ud83d', citations: [{ type: 'char_location', index: 0 }] },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [{ encrypted_content: 'x' }] },
      {
        type: 'tool_use',
        id: 't',
        name: 'Read',
        input: { b: 1, a: [null, { '10': 1, '9': 2 }] },
        caller: { type: 'direct' },
      },
    ] as never
    const { messages } = bodyOf({
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content },
      ],
    })
    expect(JSON.stringify(messages[1]!.content)).toBe(JSON.stringify(content))
  })

  test('any list of messages gives one JSON text with the same blocks', () => {
    const block = fc.oneof(
      fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary', minLength: 1 }) }),
      fc.record({
        type: fc.constant('tool_use'),
        id: fc.string(),
        name: fc.string(),
        input: fc.dictionary(fc.string(), fc.jsonValue()),
      }),
      fc.record({ type: fc.constant('tool_result'), tool_use_id: fc.string(), content: fc.string() }),
    )
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant'),
      content: fc.array(block, { maxLength: 4 }),
    })
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        const sent = bodyOf({ messages })
          .messages.flatMap(({ content }) => content)
          .map(({ cache_control: _, ...rest }) => JSON.stringify(rest))
        const given = messages
          .flatMap(({ content }) => content)
          .filter((part) => !(part.type === 'text' && 'text' in part && part.text.trim() === ''))
          .map((part) => JSON.stringify(part))
        expect(sent.toSorted()).toEqual(given.toSorted())
      }),
    )
  })
})

describe('a request costs what was added', () => {
  test('a message is serialized once, however many requests it is in', () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const stringify = vi.spyOn(JSON, 'stringify')
    try {
      for (let turn = 0; turn < 200; turn++) {
        messages.push(call(`${turn}`), result(`${turn}`))
        requestBody('m', requestOf({ messages }))
      }
      // A block a message, and the name of the model a request.
      expect(stringify.mock.calls.length).toBe(1 + 200 * 2 + 200)
    } finally {
      stringify.mockRestore()
    }
  })
})

test('toolChoice none keeps the tools listed and forbids their use', () => {
  const tool = { name: 'Read', description: 'Reads.', input_schema: { type: 'object' } } as const
  expect(bodyOf({ tools: [tool], toolChoice: 'none' })).toMatchObject({
    tools: [{ name: 'Read' }],
    tool_choice: { type: 'none' },
  })
  expect(bodyOf({ tools: [], toolChoice: 'none' })).not.toHaveProperty('tool_choice')
})
