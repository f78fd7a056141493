// Tests a history in the shape of the Messages API: an invalid one is rejected with the message, the reason and the fix.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { historyEntries } from '../../src/conversation/history.ts'
import { ConfigurationError, Transcript } from '../../src/index.ts'
import { transcriptProblems } from '../../src/conversation/transcript-problems.ts'

const user = { role: 'user', content: 'hello' } as const
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'Look', input: {} }] } as const
const resultOf = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'a door' })
const result = { role: 'user', content: [resultOf('c1')] } as const
const answer = { role: 'assistant', content: 'a door' } as const

function refusal(messages: unknown): string {
  try {
    historyEntries(messages, String)
  } catch (error) {
    return error instanceof ConfigurationError ? error.message : `not refused, but broken: ${String(error)}`
  }
  return 'taken'
}

describe('an invalid history', () => {
  test.each<[string, unknown, string]>([
    ['a text', 'hello', 'messages must be a list of messages of the Messages API, but it is "hello".'],
    [
      'a text in the list',
      [user, 'hello'],
      "messages[1] must be { role, content }, but it is \"hello\". Give { role: 'user', content: 'text' }.",
    ],
    [
      'a system message',
      [{ role: 'system', content: 'Be brief.' }, user],
      'messages[0] has the role system. Pass its text as the option `system`, and omit the message.',
    ],
    [
      'a developer message',
      [{ role: 'developer', content: 'Be brief.' }],
      'messages[0] has the role developer. Pass its text as the option `system`, and omit the message.',
    ],
    [
      'an unknown role',
      [user, { role: 'bot', content: 'x' }],
      'messages[1] must have the role user or assistant, but it is "bot". Give one of these.',
    ],
    [
      'an answer first',
      [answer, user],
      'messages[0] is from the assistant, but a conversation starts with the user. Start with a message of the user.',
    ],
    [
      'no content',
      [{ role: 'user' }],
      'messages[0] must have a text or a list of blocks as content, but it is undefined. Give content.',
    ],
    ['an empty text', [user, { role: 'assistant', content: '' }], 'messages[1] is empty. Omit the message.'],
    ['no block', [{ role: 'user', content: [] }], 'messages[0] is empty. Omit the message.'],
    [
      'an empty block',
      [{ role: 'user', content: [{ type: 'text', text: '' }] }],
      "messages[0].content[0] is no text block. One is { type: 'text', text }, with a text that is not empty.",
    ],
    [
      'a call of the user',
      [{ role: 'user', content: call.content }],
      'messages[0].content[0] is a tool_use in a message of the user. It belongs in a message of the assistant.',
    ],
    [
      'a result of the assistant',
      [user, call, { role: 'assistant', content: result.content }],
      'messages[2].content[0] is a tool_result in a message of the assistant. It belongs in a message of the user.',
    ],
    [
      'a call without a result',
      [user, call, answer],
      'messages[2] comes without a result of the call "c1" of messages[1]. Give { type: \'tool_result\', tool_use_id, content } in a user message right after the call.',
    ],
    [
      'a text in place of a result',
      [user, call, user],
      'messages[2] comes without a result of the call "c1" of messages[1]. Give { type: \'tool_result\', tool_use_id, content } in a user message right after the call.',
    ],
    [
      'a result without a call',
      [user, result],
      'messages[1] has a result of the call "c1", but no earlier message has that call. Omit it, or pass the message with the call.',
    ],
    [
      'two results for one call',
      [user, call, result, result],
      'messages[3] has a second result of the call "c1", or a late one. A call has one result, in the next message.',
    ],
    [
      'a result after a text',
      [user, call, { role: 'user', content: [{ type: 'text', text: 'so' }, resultOf('c1')] }],
      'messages[2] has the result of the call "c1" after other content. Put results first.',
    ],
    [
      'a repeated call id',
      [user, call, result, call],
      'messages[3] calls a tool under the id "c1" again. Each call of a conversation needs a unique id.',
    ],
    [
      'a UIMessage',
      [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
      'messages[0] is a UIMessage of the AI SDK. Convert the list first: messages: modelMessagesOf(uiMessages), from @halting/core/ui.',
    ],
    [
      'a call of chat completions',
      [user, { role: 'assistant', content: null, tool_calls: [] }],
      "messages[1] has tool_calls, a field of OpenAI's chat completions. Pass each call as a content block: { type: 'tool_use', id, name, input }.",
    ],
    [
      'a result of chat completions',
      [user, { role: 'tool', tool_call_id: 'c1', content: 'x' }],
      "messages[1] has the role tool, a role of OpenAI's chat completions and the AI SDK. Give results as blocks of a user message: { type: 'tool_result', tool_use_id, content }.",
    ],
    [
      'an image of chat completions',
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }] }],
      "messages[0].content[0] is a block of another API (image_url). Give { type: 'image', source: { type: 'url', url } }.",
    ],
    [
      'a call of the AI SDK',
      [user, { role: 'assistant', content: [{ type: 'tool-call' }] }],
      "messages[1].content[0] is a block of another API (tool-call). Give { type: 'tool_use', id, name, input }.",
    ],
    [
      'an entry of a transcript',
      [{ kind: 'user', id: '1', message: user, origin: 'prompt' }],
      'messages[0] is an entry of a transcript. Give transcript.messages(), or the messages of a RunOutcome.',
    ],
    [
      'a message of the SDK',
      [{ type: 'user', message: user }],
      'messages[0] is a message of the SDK. Give its field message.',
    ],
    [
      'a failure that says nothing',
      [
        user,
        call,
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '', is_error: true }] },
      ],
      "messages[2].content[0] is no tool_result block. One is { type: 'tool_result', tool_use_id, content }.",
    ],
  ])('%s', (_what, messages, message) => {
    expect(refusal(messages)).toBe(message)
  })
})

describe('a history that cannot be read', () => {
  const throws = (): never => {
    throw new Error('closed')
  }
  const closed = new Proxy({}, { get: throws, has: throws, ownKeys: throws })
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()
  const getter = {
    role: 'user',
    get content(): string {
      return throws()
    },
  }

  test.each<[string, unknown, string]>([
    ['a list', revoked, 'messages could not be read: '],
    ['a message', [user, revoked], 'messages[1] could not be read: '],
    ['a message that throws', [closed], 'messages[0] could not be read: closed. Give plain objects.'],
    ['a getter that throws', [getter], 'messages[0] could not be read: closed. Give plain objects.'],
    ['content', [{ role: 'user', content: revoked }], 'messages[0] could not be read: '],
    ['content that throws', [{ role: 'user', content: closed }], 'messages[0] must have a text or a list of blocks'],
    ['a date', [{ role: 'user', content: new Date(0) }], 'messages[0] must have a text or a list of blocks'],
  ])('%s is rejected as a wrong option', (_what, messages, message) => {
    expect(refusal(messages)).toContain(message)
  })
})

describe('a block that a service would refuse', () => {
  const png = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
  const image = (source: object): object => ({ type: 'image', source })
  const resultWith = (fields: object): readonly unknown[] => [
    user,
    call,
    { role: 'user', content: [{ ...resultOf('c1'), ...fields }] },
  ]

  test.each<[string, unknown, string]>([
    ['an image without data', [{ role: 'user', content: [image({ ...png, data: '' })] }], 'is no image block'],
    [
      'an image without a type',
      [{ role: 'user', content: [image({ ...png, media_type: null })] }],
      'is no image block',
    ],
    ['an image without an address', [{ role: 'user', content: [image({ type: 'url' })] }], 'is no image block'],
    [
      'a document without a text',
      [{ role: 'user', content: [{ type: 'document', source: { type: 'text' } }] }],
      'is no document block',
    ],
    ['an image of a result', resultWith({ content: [image({})] }), 'is no tool_result block'],
    ['is_error that is not a boolean', resultWith({ is_error: 'yes' }), 'is no tool_result block'],
  ])('%s is rejected', (_what, messages, problem) => {
    expect(refusal(messages)).toContain(problem)
  })

  test('accepts a valid image', () => {
    expect(refusal([{ role: 'user', content: [image(png), image({ type: 'file', file_id: 'f' })] }])).toBe('taken')
    expect(refusal(resultWith({ content: [image(png)], is_error: true }))).toBe('taken')
  })
})

describe('a valid history', () => {
  test.each<[string, readonly unknown[]]>([
    ['ends with pending calls', [user, call]],
    [
      'ends with a part of the results',
      [user, { role: 'assistant', content: [...call.content, { ...call.content[0], id: 'c2' }] }, result],
    ],
    [
      'has results in two messages',
      [
        user,
        { role: 'assistant', content: [...call.content, { ...call.content[0], id: 'c2' }] },
        result,
        { role: 'user', content: [resultOf('c2')] },
        answer,
      ],
    ],
    [
      'has a result without content',
      [user, call, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1' }] }],
    ],
    [
      'is an unchanged reply of the service',
      [
        user,
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [{ type: 'text', text: 'hi' }],
          stop_reason: 'end_turn',
          usage: {},
        },
      ],
    ],
    [
      'has server-side blocks',
      [user, { role: 'assistant', content: [{ type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }] }],
    ],
  ])('%s', (_what, messages) => {
    expect(refusal(messages)).toBe('taken')
  })

  test('is independent of later changes by the caller, and distinguishes results from text', () => {
    const content = [{ ...resultOf('c1') }, { type: 'text', text: 'go on' }]
    const entries = historyEntries([user, call, { role: 'user', content }], String)
    content.length = 0
    expect(entries.map((entry) => entry.kind === 'user' && entry.origin)).toEqual([
      'prompt',
      false,
      'tool_results',
      'prompt',
    ])
    expect(entries.map(({ id }) => id)).toEqual(['0', '1', '2', '3'])
  })
})

type Block = { readonly type: string; readonly [field: string]: unknown }
type Message = { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }

const words = { type: 'text', text: 'words' }
const callOf = (id: string): Block => ({ type: 'tool_use', id, name: 'Look', input: {} })

/** A conversation: in each turn the user writes, the model makes this many calls, and gets their results. */
const conversation = fc
  .array(fc.record({ calls: fc.nat(2), speaks: fc.boolean() }), { minLength: 1, maxLength: 4 })
  .map((turns) =>
    turns.flatMap(({ calls, speaks }, turn): readonly Message[] => {
      const ids = Array.from({ length: calls }, (_, index) => `${turn}-${index}`)
      const results = ids.map((id) => resultOf(id) as Block)
      return [
        { role: 'user', content: [words] },
        { role: 'assistant', content: [...(speaks || calls === 0 ? [words] : []), ...ids.map(callOf)] },
        ...(calls === 0 ? [] : [{ role: 'user' as const, content: speaks ? [...results, words] : results }]),
        { role: 'assistant', content: [words] },
      ]
    }),
  )

/** The same with one change: a message or a block is missing, repeated or moved. */
const changed = fc
  .record({
    messages: conversation,
    how: fc.constantFrom('not', 'drop', 'twice', 'swap', 'drop block', 'swap blocks', 'end'),
    at: fc.nat(20),
  })
  .map(({ messages, how, at }) => {
    const index = at % messages.length
    const [before, one, after] = [messages.slice(0, index), messages.slice(index, index + 1), messages.slice(index + 1)]
    const withContent = (content: readonly Block[] = []): readonly Message[] =>
      content.length === 0 ? [...before, ...after] : [...before, ...one.map((each) => ({ ...each, content })), ...after]
    switch (how) {
      case 'drop':
        return [...before, ...after]
      case 'twice':
        return [...before, ...one, ...one, ...after]
      case 'swap':
        return [...before, ...after.slice(0, 1), ...one, ...after.slice(1)]
      case 'drop block':
        return withContent(one[0]?.content.slice(1))
      case 'swap blocks':
        return withContent(one[0]?.content.toReversed())
      case 'end':
        return [...before, ...one]
      default:
        return messages
    }
  })
  .filter((messages) => messages.length > 0)

/** Adds results for the open calls of the last answer, which may be pending. */
function closed(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const answered = messages.slice(last + 1).flatMap(({ content }) => content.map((block) => block['tool_use_id']))
  const open = (messages[last]?.content ?? []).filter(({ type, id }) => type === 'tool_use' && !answered.includes(id))
  const results = open.map(({ id }) => resultOf(String(id)) as Block)
  return results.length === 0 ? messages : [...messages, { role: 'user', content: results }]
}

/** The API merges adjacent messages of one role. Here results come right after the message with the calls. */
function callsBeforeAnswer(messages: readonly Message[]): readonly string[] {
  const isCalling = ({ role, content }: Message): boolean =>
    role === 'assistant' && content.some(({ type }) => type === 'tool_use')
  return messages.flatMap((message, index) =>
    isCalling(message) && messages[index + 1]?.role === 'assistant' ? [`message ${index} calls before an answer`] : [],
  )
}

test('accepts exactly what the Messages API accepts, except that the last calls may be pending', () => {
  const seen = { taken: 0, refused: 0 }
  fc.assert(
    fc.property(changed, (messages) => {
      // The blocks are of the kinds that the API knows.
      const problems = [...transcriptProblems(closed(messages) as never), ...callsBeforeAnswer(messages)]
      const refused = refusal(messages)
      seen[refused === 'taken' ? 'taken' : 'refused']++
      expect([refused === 'taken', problems, refused]).toEqual([problems.length === 0, problems, refused])
      // An accepted history is shown unchanged.
      const messagesShown = refused === 'taken' ? Transcript.of(historyEntries(messages, String)).messages() : messages
      const blocks = (of: readonly { readonly content: unknown }[]): unknown => of.flatMap(({ content }) => content)
      expect(blocks(messagesShown)).toEqual(blocks(messages))
    }),
    { numRuns: 2_000 },
  )
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(300)
})
