// Everything in a reply besides calls: reasoning, usage and the ending.
import type { Json, JsonObject, ModelReply, Usage } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { readChatUsage } from '../src/openai/chat-usage.ts'
import { chunk, finish, piece, readChunks, replyOfRead, usageChunk } from './support/chat-read.ts'

const api = 'chat_completions'

function replyOf(...chunks: readonly JsonObject[]): ModelReply {
  return replyOfRead(readChunks(chunks))
}

const done = [finish('stop'), usageChunk] as const
const thought = (thinking: string, origin: JsonObject): JsonObject => ({
  type: 'thinking',
  thinking,
  signature: '',
  origin: { api, ...origin },
})

describe('stores reasoning with its field', () => {
  test.each(['reasoning_content', 'reasoning'])('%s', (field) => {
    const { message } = replyOf(
      chunk({ [field]: 'Let me ' }),
      chunk({ [field]: 'see.' }),
      chunk({ content: 'Yes.' }),
      ...done,
    )
    expect(message.content).toEqual([thought('Let me see.', { field }), { type: 'text', text: 'Yes.' }])
  })

  test('from both fields, once', () => {
    const both = { reasoning: 'Hm.', reasoning_content: 'Hm.' }
    expect(replyOf(chunk({ ...both, content: 'Yes.' }), ...done).message.content).toEqual([
      thought('Hm.', { field: 'reasoning_content' }),
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('from parts of the content', () => {
    const part = (text: string): JsonObject => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
    const { message } = replyOf(
      chunk({ content: [part('Let me ')] }),
      chunk({ content: [part('see.'), { type: 'text', text: 'Yes' }] }),
      chunk({ content: '.' }),
      ...done,
    )
    expect(message.content).toEqual([thought('Let me see.', { field: 'content' }), { type: 'text', text: 'Yes.' }])
  })

  test("from a router's details: deltas of one are joined, others are separate", () => {
    const text = (fields: JsonObject): JsonObject => ({ type: 'reasoning.text', index: 0, ...fields })
    const { message } = replyOf(
      chunk({ reasoning: 'Let me ', reasoning_details: [text({ text: 'Let me ', format: 'x', signature: null })] }),
      chunk({ reasoning: 'see.', reasoning_details: [text({ text: 'see.' })] }),
      chunk({ reasoning_details: [text({ signature: 'sig' })] }),
      chunk({
        reasoning_details: [
          { type: 'reasoning.encrypted', index: 0, id: 'call_1', data: 'e1' },
          { type: 'reasoning.encrypted', index: 0, id: 'call_2', data: 'e2' },
        ],
      }),
      chunk({ content: 'Yes.' }),
      ...done,
    )
    const details = [
      { type: 'reasoning.text', index: 0, text: 'Let me see.', format: 'x', signature: 'sig' },
      { type: 'reasoning.encrypted', index: 0, id: 'call_1', data: 'e1' },
      { type: 'reasoning.encrypted', index: 0, id: 'call_2', data: 'e2' },
    ]
    expect(message.content).toEqual([
      thought('Let me see.', { field: 'reasoning', details }),
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('from details alone: their text is shown, and they are sent back', () => {
    const detail = { type: 'reasoning.summary', summary: 'In short.', index: 0 }
    expect(replyOf(chunk({ reasoning_details: [detail], content: 'Yes.' }), ...done).message.content).toEqual([
      thought('In short.', { details: [detail] }),
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('adds no text to a signed detail, but starts another one', () => {
    const detail = (text: string): JsonObject => ({ type: 'reasoning.text', text, signature: `of ${text}` })
    const { message } = replyOf(chunk({ reasoning_details: [detail('a'), detail('b')], content: 'Yes.' }), ...done)
    expect(message.content[0]).toEqual(thought('ab', { details: [detail('a'), detail('b')] }))
  })
})

test('treats a refusal as text, and ends the reply as one', () => {
  const { message } = replyOf(chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), ...done)
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'I will not.' }], stop_reason: 'refusal' })
})

test('takes id and model from the service, or else from the request', () => {
  const unnamed: JsonObject = { choices: [{ delta: { content: 'Yes.' }, finish_reason: 'stop' }] }
  expect(replyOf({ id: 'x', model: 'served', ...unnamed }).message).toMatchObject({ id: 'x', model: 'served' })
  expect(replyOf(unnamed).message).toMatchObject({ id: expect.stringMatching(/^chat-\w{9}$/), model: 'asked' })
})

test('takes the first of several choices', () => {
  const both = { choices: [1, 0].map((index) => ({ index, delta: { content: `${index}` }, finish_reason: 'stop' })) }
  expect(replyOf({ id: 'c1', model: 'm', ...both }).message.content).toEqual([{ type: 'text', text: '0' }])
})

describe('usage', () => {
  const reported = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const counted: Usage = { ...noUsage, input_tokens: 10, output_tokens: 5 }
  const said = chunk({ content: 'Yes.' })

  test.each([
    ['in a last chunk without choices', [said, finish('stop'), { choices: [], usage: reported }]],
    ['in a last chunk without `choices`', [said, finish('stop'), { usage: reported }]],
    ['with the finish reason', [said, { ...finish('stop'), usage: reported }]],
    ['in the choice', [said, finish('stop', { usage: reported })]],
    ['in x_groq', [said, { ...finish('stop'), x_groq: { usage: reported } }]],
    [
      'in every chunk',
      [
        { ...said, usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } },
        { ...finish('stop'), usage: reported },
      ],
    ],
    ['with null after it', [said, { ...finish('stop'), usage: reported }, { choices: [], usage: null }]],
  ] as readonly (readonly [string, readonly JsonObject[]])[])('%s', (_, chunks) => {
    expect(replyOf(...chunks)).toEqual({ message: expect.objectContaining({ usage: counted }) })
  })

  test.each([
    ['it is missing', {}],
    ['it is null', { usage: null }],
    ['it has only zeros', { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }],
    ['the prompt is empty', { usage: { prompt_tokens: 0, completion_tokens: 5 } }],
    ['the prompt is empty by the total too', { usage: { prompt_tokens: 0, completion_tokens: 5, total_tokens: 5 } }],
  ] as readonly (readonly [string, JsonObject])[])('is unknown when %s', (_, more) => {
    expect(replyOf(said, { ...finish('stop'), ...more })).toMatchObject({
      billed: 'unknown',
      message: { usage: noUsage },
    })
  })

  const running = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 }
  const half = piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' })
  const rest = piece({ index: 0 }, { arguments: '1}' })
  test.each([
    ['before any content', [{ ...chunk({ role: 'assistant', content: '' }), usage: running }, finish('stop')]],
    ['with all of the text', [{ ...said, usage: running }, finish('stop')]],
    ['before the text', [{ choices: [], usage: running }, said, finish('stop')]],
    [
      'with the first of many pieces',
      [{ ...said, usage: running }, chunk({ content: 'x'.repeat(20_000) }), finish('stop')],
    ],
    [
      'before the rest of a thought',
      [{ ...chunk({ reasoning: 'a' }), usage: running }, chunk({ reasoning: 'b' }), finish('stop')],
    ],
    ['before the rest of a call', [{ ...half, usage: running }, rest, finish('tool_calls')]],
    ['with a finish reason that was not the last', [{ ...finish('stop'), usage: running }, said, finish('stop')]],
  ] as readonly (readonly [string, readonly JsonObject[]])[])('is unknown if it was reported only %s', (_, chunks) => {
    expect(replyOf(...chunks)).toMatchObject({ billed: 'unknown', message: { usage: noUsage } })
    expect(replyOf(...chunks, { choices: [], usage: reported })).toEqual({
      message: expect.objectContaining({ usage: counted }),
    })
  })

  test.each([
    [
      'cached, in the details',
      { prompt_tokens_details: { cached_tokens: 4 } },
      { input_tokens: 6, cache_read_input_tokens: 4 },
    ],
    ['cached tokens of DeepSeek', { prompt_cache_hit_tokens: 4 }, { input_tokens: 6, cache_read_input_tokens: 4 }],
    ['cached tokens of Moonshot', { cached_tokens: 4 }, { input_tokens: 6, cache_read_input_tokens: 4 }],
    [
      'cached and written',
      { prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 } },
      { input_tokens: 3, cache_read_input_tokens: 4, cache_creation_input_tokens: 3 },
    ],
    ['null details', { prompt_tokens_details: null, completion_tokens_details: null }, {}],
    ['thought outside of the completion, by the total', { total_tokens: 45 }, { output_tokens: 35 }],
    [
      'reasoning with its own count outside of the completion',
      { total_tokens: null, completion_tokens_details: { reasoning_tokens: 30 } },
      { output_tokens: 35 },
    ],
    ['thought inside of the completion', { completion_tokens_details: { reasoning_tokens: 5 } }, { output_tokens: 5 }],
    ['a total that is too low', { total_tokens: 3 }, {}],
    ['a prompt that only the total knows', { prompt_tokens: 0 }, {}],
    [
      'a prompt that only the total knows, with thought outside of the completion',
      { prompt_tokens: 0, total_tokens: 45, completion_tokens_details: { reasoning_tokens: 30 } },
      { output_tokens: 35 },
    ],
  ] as readonly (readonly [string, JsonObject, Partial<Usage>])[])('%s', (_, more, expected) => {
    expect(readChatUsage({ ...reported, ...more })).toEqual({ ...counted, ...expected })
  })
})

describe('applies the highest of repeated counts', () => {
  const said = chunk({ content: 'Yes.' })
  const high = { prompt_tokens: 100_000, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 40_000 } }
  const low = { prompt_tokens: 1, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 0 } }
  test.each([
    ['in the first of two reports', [said, { ...finish('stop'), usage: high }, { choices: [], usage: low }]],
    ['in the last of them', [said, { ...finish('stop'), usage: low }, { choices: [], usage: high }]],
    [
      'while it ran',
      [
        { ...said, usage: high },
        { ...finish('stop'), usage: low },
      ],
    ],
  ] as readonly (readonly [string, readonly JsonObject[]])[])('%s', (_, chunks) => {
    const usage = { ...noUsage, input_tokens: 60_000, output_tokens: 7, cache_read_input_tokens: 40_000 }
    expect(replyOf(...chunks)).toEqual({ message: expect.objectContaining({ usage }) })
  })
})

describe('passes invalid counts on to core', () => {
  const reported = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  test.each([
    ['a prompt count that is not a number', { prompt_tokens: 'ten' }, 'ten'],
    ['a negative completion count', { completion_tokens: -5 }, -5],
    ['a negative total', { total_tokens: -1 }, -1],
    ['a total that is not a number', { total_tokens: 'all' }, 'all'],
    ['a negative cache count', { prompt_tokens_details: { cached_tokens: -4 } }, -4],
    ['a reasoning count that is not a number', { completion_tokens_details: { reasoning_tokens: [] } }, []],
    ['more cached than there was', { prompt_tokens_details: { cached_tokens: 99, cache_write_tokens: 3 } }, -92],
    ['a fraction', { prompt_tokens: 10.5 }, 10.5],
  ] as readonly (readonly [string, JsonObject, Json])[])('%s', (_, more, input_tokens) => {
    const { message, billed } = replyOf(chunk({ content: 'Yes.' }), {
      ...finish('stop'),
      usage: { ...reported, ...more },
    })
    expect([message.usage.input_tokens, billed]).toEqual([input_tokens, undefined])
  })
})

describe('the finish reason', () => {
  const said = chunk({ content: 'Yes.' })
  const read = piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' })
  const half = piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' })
  const bare = piece({ index: 0, id: 'a' }, { name: 'List' })
  const empty = piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{}' })
  const text = { type: 'text', text: 'Yes.' }
  const call = (name: string, input: JsonObject): JsonObject => ({ type: 'tool_use', id: 'a', name, input })

  type Row = readonly [what: string, chunks: readonly JsonObject[], stopReason: string, content: readonly JsonObject[]]
  const table: readonly Row[] = [
    ['stop', [said, finish('stop')], 'end_turn', [text]],
    ['stop with calls', [said, read, finish('stop')], 'tool_use', [text, call('Read', { p: 1 })]],
    ['stop with a call without input', [bare, finish('stop')], 'tool_use', [call('List', {})]],
    ['tool_calls', [read, finish('tool_calls')], 'tool_use', [call('Read', { p: 1 })]],
    ['tool_calls without calls', [said, finish('tool_calls')], 'end_turn', [text]],
    ['function_call', [read, finish('function_call')], 'tool_use', [call('Read', { p: 1 })]],
    ['eos', [said, finish('eos')], 'end_turn', [text]],
    ['STOP', [said, finish('STOP')], 'end_turn', [text]],
    ['length', [said, finish('length')], 'max_tokens', [text]],
    ['length with a complete call', [read, finish('length')], 'max_tokens', [call('Read', { p: 1 })]],
    ['length with half a call', [said, half, finish('length')], 'max_tokens', [text]],
    ['length with a call without input yet', [said, bare, finish('length')], 'max_tokens', [text]],
    ['length with a call that may have just begun', [said, empty, finish('length')], 'max_tokens', [text]],
    ['length, then stop', [said, half, finish('length'), finish('stop')], 'max_tokens', [text]],
    ['max_tokens', [said, half, finish('max_tokens')], 'max_tokens', [text]],
    ['model_length', [said, half, finish('model_length')], 'model_context_window_exceeded', [text]],
    ['content_filter', [said, half, finish('content_filter')], 'refusal', [text]],
    [
      'content_filter with two halves',
      [half, piece({ index: 1, id: 'b' }, { name: 'Read' }), finish('content_filter')],
      'refusal',
      [],
    ],
    ['content_filter with its reason', [said, finish('content_filter: SAFETY')], 'refusal', [text]],
    ['sensitive', [said, finish('sensitive')], 'refusal', [text]],
    ['an unknown reason', [said, finish('new_reason')], 'new_reason', [text]],
    [
      'stop, with a piece of text after it',
      [said, finish('stop'), chunk({ content: ' More.' })],
      'end_turn',
      [text, { type: 'text', text: ' More.' }],
    ],
    [
      'tool_calls with each piece',
      [half, finish('tool_calls'), piece({ index: 0 }, { arguments: '1}' }), finish('tool_calls')],
      'tool_use',
      [call('Read', { p: 1 })],
    ],
    ['no reason, but [DONE]', [said], 'end_turn', [text]],
    ['no reason, but [DONE], with a call', [read], 'tool_use', [call('Read', { p: 1 })]],
  ]
  test.each(table)('%s', (_, chunks, stop_reason, content) => {
    const { assembled } = readChunks([...chunks, usageChunk])
    expect(assembled).toMatchObject({ kind: 'complete', message: { stop_reason, stop_sequence: null } })
    expect(replyOf(...chunks).message.content).toEqual(content)
  })

  test.each(['error', 'abort', 'network_error', 'insufficient_system_resource', 'function_call_filter: MALFORMED'])(
    'treats %s as a failure, and preserves complete blocks',
    (reason) => {
      const read = readChunks([
        said,
        piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' }),
        finish(reason),
      ])
      expect(read.end).toEqual({ kind: 'error_event', error: { message: `it ended with "${reason}"` } })
      expect(read.assembled).toMatchObject({
        kind: 'partial',
        message: { content: [text, call('Read', { p: 1 })], stop_reason: null },
      })
    },
  )

  test('reports an error with its description', () => {
    const error = { code: 502, message: 'Provider disconnected' }
    expect(readChunks([said, finish('error', { error })]).end).toEqual({ kind: 'error_event', error })
  })

  test('completes a stream without [DONE]', () => {
    expect(readChunks([said, finish('stop')], 'none').assembled).toMatchObject({ kind: 'complete' })
  })

  test('does not complete a stream if both are missing', () => {
    expect(readChunks([said], 'none').assembled).toEqual({ kind: 'nothing' })
    expect(readChunks([said, read], 'none').assembled).toMatchObject({ kind: 'partial' })
  })

  test('does not complete a stream with only [DONE]', () => {
    expect(readChunks([]).assembled).toEqual({ kind: 'nothing' })
    expect(readChunks([chunk({ role: 'assistant', content: '' })]).assembled).toEqual({ kind: 'nothing' })
  })

  test('completes a reply without content', () => {
    expect(replyOf(chunk({ role: 'assistant', content: '' }), ...done).message).toMatchObject({
      content: [],
      stop_reason: 'end_turn',
    })
  })
})

describe('an error in the middle of a stream', () => {
  test.each([
    [{ error: { message: 'boom', code: 502 } }, { message: 'boom', code: 502 }],
    [{ error: 'boom' }, 'boom'],
    [
      { object: 'error', message: 'boom', code: 400 },
      { object: 'error', message: 'boom', code: 400 },
    ],
    [{ detail: 'boom' }, { detail: 'boom' }],
    [{ message: 'boom' }, { message: 'boom' }],
    [{ ...finish('error'), error: { message: 'boom' } }, { message: 'boom' }],
  ] as readonly (readonly [JsonObject, unknown])[])('is recognized: %j', (value, error) => {
    expect(readChunks([chunk({ content: 'Yes.' }), value]).end).toEqual({ kind: 'error_event', error })
  })

  test.each([
    { ...chunk({ content: '!' }), error: null },
    { ...chunk({ content: '!' }), message: 'hi', detail: 1 },
    { choices: [] },
    { object: 'chat.completion.chunk' },
    {},
  ])('is not seen in %j', (value) => {
    expect(readChunks([chunk({ content: 'Yes.' }), value, ...done]).end).toBeUndefined()
  })
})
