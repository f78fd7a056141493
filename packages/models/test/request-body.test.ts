import { deepFreeze } from '@halting/core/adapters'
import type { ContentBlock, ModelMessage, ModelRequest } from '@halting/core'
import { describe, expect, test, vi } from 'vitest'
import { releaseBody } from '../src/bytes/bodies.ts'
import { createRequestBody } from '../src/anthropic/request-body.ts'
import { requestOf } from './support/call.ts'

const mark = { cache_control: { type: 'ephemeral' } }

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[]
  readonly [field: string]: unknown
}

const created = (): ((parts: Partial<ModelRequest>) => string) => {
  const bodyOf = createRequestBody({ model: 'm', id: 'm' })
  return (parts) => {
    const body = bodyOf(requestOf(parts))
    const text = Buffer.from(body).toString()
    releaseBody(body)
    return text
  }
}

function bodyOf(parts: Partial<ModelRequest>): Body {
  // The code under test wrote the body. A wrong shape fails the comparison.
  return JSON.parse(created()(parts)) as Body
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
  test('follow the tools, the system prompt and the two newest user turns', () => {
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

  test('are at most four, whatever the messages contain', () => {
    const marked = [{ type: 'text', text: 'x', ...mark }] as const
    const messages: ModelMessage[] = Array.from({ length: 9 }, (_, index) =>
      index % 2 === 0 ? { role: 'user', content: marked } : { role: 'assistant', content: marked },
    )
    const nested: ModelMessage = {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: '1', content: marked },
        { type: 'document', source: { type: 'content', content: marked }, ...mark },
      ],
    }
    const text = created()({ system: 's', messages: [...messages, nested, nested] })
    expect(text.match(/cache_control/g)).toHaveLength(3)
    // A lookalike of a mark is an argument.
    const input = { cache_control: 1, content: [mark], source: { content: [mark] } }
    const asked = { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'Set', input }] } as const
    expect(bodyOf({ messages: [asked] }).messages).toEqual([asked])
  })

  test('are not written into the messages, which are shared', () => {
    const messages = deepFreeze([{ role: 'user', content: 'go' }, call('1'), result('1')] as ModelMessage[])
    const before = JSON.stringify(messages)
    bodyOf({ messages })
    expect(JSON.stringify(messages)).toBe(before)
  })

  test('move forward: the prefix before the newest one has the same bytes in the next request', () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const textOf = created()
    const upToTheLast = (): string => {
      const plain = textOf({ messages }).replaceAll(/,"cache_control":\{[^}]*\}/g, '')
      return plain.slice(0, plain.lastIndexOf(']'))
    }
    let before = upToTheLast()
    for (let turn = 0; turn < 10; turn++) {
      messages.push(call(`${turn}`), result(`${turn}`))
      const after = upToTheLast()
      expect(after.slice(0, before.length)).toBe(before)
      before = after
    }
  })
})

describe('converts messages for the API', () => {
  test('by merging adjacent user messages, with tool results first', () => {
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

  test('by omitting text without a visible character and messages without content', () => {
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

  test('by sending content back unchanged', () => {
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
})

describe('a request costs only what was added', () => {
  test('because a message is serialized once for all requests', () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const textOf = created()
    const stringify = vi.spyOn(JSON, 'stringify')
    try {
      for (let turn = 0; turn < 200; turn++) {
        messages.push(call(`${turn}`), result(`${turn}`))
        textOf({ messages, tools: [], system: 'Be brief.' })
      }
      // One block per message plus the system prompt, since each of these requests has its own list of tools.
      expect(stringify.mock.calls.length).toBe(1 + 200 * 2 + 200)
    } finally {
      stringify.mockRestore()
    }
  })

  test('because tools and system prompt are serialized only when they change', () => {
    const textOf = created()
    const tools = [{ name: 'Read', description: 'Reads.', input_schema: { type: 'object' } }] as const
    const messages = [{ role: 'user', content: 'go' }] as const
    const first = textOf({ messages, tools, system: 'Be brief.' })
    const stringify = vi.spyOn(JSON, 'stringify')
    try {
      expect(textOf({ messages, tools, system: 'Be brief.' })).toBe(first)
      expect(stringify).not.toHaveBeenCalled()
      expect(textOf({ messages, tools, system: 'Be long.' })).toBe(first.replace('brief', 'long'))
      expect(stringify.mock.calls.length).toBe(1)
    } finally {
      stringify.mockRestore()
    }
  })

  test('and no more at turn 1,000 than at turn 10, also in written bytes', () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const textOf = created()
    const write = vi.spyOn(Buffer.prototype, 'write')
    const set = vi.spyOn(Buffer.prototype, 'set')
    const writtenAt: number[] = []
    try {
      for (let turn = 1; turn <= 1_000; turn++) {
        messages.push(call(`id${1_000 + turn}`), result(`id${1_000 + turn}`))
        write.mockClear()
        textOf({ messages })
        writtenAt[turn] = write.mock.results.reduce((sum, { value }) => sum + Number(value), 0)
      }
      expect(writtenAt.slice(10)).toEqual(writtenAt.slice(10).map(() => writtenAt[10]))
      // The only complete copies are those to larger buffers.
      expect(set.mock.calls.length).toBeLessThan(60)
    } finally {
      write.mockRestore()
      set.mockRestore()
    }
  })

  test('and every prefix of a conversation is serialized as if it were alone', () => {
    const said = { role: 'user', content: 'and' } as const
    const messages: ModelMessage[] = [said]
    for (let turn = 0; turn < 6; turn++) messages.push(call(`${turn}`), result(`${turn}`))
    messages.push(call('last'))
    const ends = [[], [said], [call('x')], [call('x'), said]]
    for (const caching of [true, false]) {
      for (let length = 0; length <= messages.length; length++) {
        for (const end of ends) {
          const known = createRequestBody({ model: 'm', id: 'm', caching })
          known(requestOf({ messages }))
          const list = [...messages.slice(0, length), ...end]
          const alone = createRequestBody({ model: 'm', id: 'm', caching })
          expect(Buffer.from(known(requestOf({ messages: list }))).toString()).toBe(
            Buffer.from(alone(requestOf({ messages: list }))).toString(),
          )
        }
      }
    }
  })

  test('and forks, replays and compacted lists serialize nothing again', () => {
    let serialized = 0
    const input = {
      toJSON(): object {
        serialized++
        return {}
      },
    }
    const asked = (id: string): ModelMessage => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'X', input }],
    })
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const textOf = created()
    for (let turn = 0; turn < 10; turn++) {
      messages.push(asked(`${turn}`), result(`${turn}`))
      textOf({ messages })
    }
    const whole = textOf({ messages })
    const projectedAgain = messages.map((message) => ({ ...message }))
    expect(textOf({ messages: projectedAgain })).toBe(whole)
    const compacted: ModelMessage[] = [{ role: 'user', content: 'summary' }, ...messages.slice(-2)]
    expect(textOf({ messages: compacted })).toBe(created()({ messages: compacted }))
    const fork = messages.slice(0, 9)
    expect(textOf({ messages: fork })).toBe(created()({ messages: fork }))
    expect(textOf({ messages })).toBe(whole)
    // Two separate adapters compared the fork, with four calls, and the compacted list, with one.
    expect(serialized).toBe(10 + 4 + 1)
  })
})
