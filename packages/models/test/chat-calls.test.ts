// Tool calls as services of this kind stream them: in pieces, with and without distinguishing fields.
import type { JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { ChatReader } from '../src/openai/chat-reader.ts'
import { requestOf } from './support/call.ts'
import { chunk, finish, piece, readChunks, usageChunk } from './support/chat-read.ts'

/** The content of a complete reply, read from these chunks and a normal end. */
function contentOf(...chunks: readonly JsonObject[]): readonly unknown[] {
  const { assembled } = readChunks([...chunks, finish('tool_calls'), usageChunk])
  if (assembled.kind !== 'complete') throw new Error(`the stream gave ${assembled.kind}`)
  return assembled.message.content
}

const call = (id: string, name: string, input: unknown): JsonObject =>
  ({ type: 'tool_use', id, name, input }) as JsonObject
const text = (words: string): JsonObject => ({ type: 'text', text: words })

/** The generated id of a call without one, derived from the key of the request and its position. */
const ids = ['23jd7qv3g', 'iuq60jaoy', '28bo9k8z9'] as const

describe('assigns deltas to their calls', () => {
  test('when those of two calls alternate', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      piece({ index: 1, id: 'b' }, { name: 'Grep', arguments: '{"q":' }),
      piece({ index: 0 }, { arguments: '1}' }),
      piece({ index: 1 }, { arguments: '2}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), call('b', 'Grep', { q: 2 })])
  })

  test('when they alternate at one index, by their ids', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      piece({ index: 0, id: 'b' }, { name: 'Grep', arguments: '{"q":' }),
      piece({ index: 0, id: 'a' }, { arguments: '1}' }),
      piece({ index: 0, id: 'b' }, { arguments: '2}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), call('b', 'Grep', { q: 2 })])
  })

  test('when they have ids and no index', () => {
    const content = contentOf(
      piece({ id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      piece({ id: 'b' }, { name: 'Read', arguments: '{"p":' }),
      piece({ id: 'a' }, { arguments: '1}' }),
      piece({ id: 'b' }, { arguments: '2}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), call('b', 'Read', { p: 2 })])
  })

  test('when they have neither id nor index', () => {
    const content = contentOf(
      piece({}, { name: 'Read', arguments: '{"p"' }),
      piece({}, { arguments: ':1}' }),
      piece({}, { name: 'Read', arguments: '{"p":2}' }),
      piece({}, { name: 'List', arguments: '{}' }),
    )
    expect(content).toEqual([call(ids[0], 'Read', { p: 1 }), call(ids[1], 'Read', { p: 2 }), call(ids[2], 'List', {})])
  })

  test('when they have neither id nor index and are identical: as two calls', () => {
    const twice = [piece({}, { name: 'List', arguments: '{}' }), piece({}, { name: 'List', arguments: '{}' })]
    expect(contentOf(...twice)).toEqual([call(ids[0], 'List', {}), call(ids[1], 'List', {})])
  })

  test('when only the first has an index', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      piece({}, { arguments: '1}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 })])
  })

  test('when only the first lacks an index', () => {
    const content = contentOf(
      piece({ id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      piece({ index: 0 }, { arguments: '1}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 })])
  })

  test('when each has its own id', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      piece({ index: 0, id: 'b' }, { arguments: '1' }),
      piece({ index: 0, id: 'c' }, { arguments: '}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 })])
  })

  test('when every index is 0 and the ids differ', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' }),
      piece({ index: 0, id: 'b' }, { name: 'Read', arguments: '' }),
      piece({ index: 0 }, { arguments: '{"p":2}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), call('b', 'Read', { p: 2 })])
  })

  test('when every index is 0 and there are no ids', () => {
    const content = contentOf(
      piece({ index: 0 }, { name: 'List' }),
      piece({ index: 0 }, { name: 'Read', arguments: '{"p":1}' }),
      piece({ index: 0 }, { name: 'Read', arguments: '{"p":2}' }),
    )
    expect(content).toEqual([call(ids[0], 'List', {}), call(ids[1], 'Read', { p: 1 }), call(ids[2], 'Read', { p: 2 })])
  })

  test('when every index is 0, there are no ids, and the second call of a tool comes in several deltas', () => {
    const content = contentOf(
      piece({ index: 0 }, { name: 'Read', arguments: '{"p":1}' }),
      piece({ index: 0 }, { name: 'Read', arguments: '' }),
      piece({ index: 0 }, { arguments: '{"p"' }),
      piece({ index: 0 }, { arguments: ':2}' }),
    )
    expect(content).toEqual([call(ids[0], 'Read', { p: 1 }), call(ids[1], 'Read', { p: 2 })])
  })

  test('when indexes start at 1', () => {
    const content = contentOf(
      piece({ index: 1, id: 'a' }, { name: 'Read', arguments: '{"p":1}' }),
      piece({ index: 2, id: 'b' }, { name: 'Read', arguments: '{"p":2}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), call('b', 'Read', { p: 2 })])
  })

  test('when two calls have one id, by giving the second another', () => {
    const content = contentOf(
      piece({ index: 0, id: 'same' }, { name: 'Read', arguments: '{"p":' }),
      piece({ index: 1, id: 'same' }, { name: 'Grep', arguments: '{"q":' }),
      piece({ index: 0, id: 'same' }, { arguments: '1}' }),
      piece({ index: 1, id: 'same' }, { arguments: '2}' }),
    )
    expect(content).toEqual([call('same', 'Read', { p: 1 }), call(ids[1], 'Grep', { q: 2 })])
  })

  test('when two calls have one id and no index', () => {
    const content = contentOf(
      piece({ id: 'same' }, { name: 'List', arguments: '{}' }),
      piece({ id: 'same' }, { name: 'Grep', arguments: '{"q":2}' }),
      piece({ id: 'same' }, { name: 'Grep', arguments: '{"q":3}' }),
    )
    expect(content).toEqual([call('same', 'List', {}), call(ids[1], 'Grep', { q: 2 }), call(ids[2], 'Grep', { q: 3 })])
  })
})

describe('takes the input as written, once', () => {
  test.each([
    ['without arguments', [piece({ index: 0, id: 'a' }, { name: 'List' })], {}],
    ['with null arguments', [piece({ index: 0, id: 'a' }, { name: 'List', arguments: null })], {}],
    ['with an empty text', [piece({ index: 0, id: 'a' }, { name: 'List', arguments: '' })], {}],
    ['with an empty object', [piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{}' })], {}],
    [
      'with an empty object in two pieces',
      [piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{' }), piece({ index: 0 }, { arguments: '}' })],
      {},
    ],
    ['as an object', [piece({ index: 0, id: 'a' }, { name: 'List', arguments: { p: [1] } })], { p: [1] }],
    [
      'with {} first and then pieces',
      [
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{}' }),
        piece({ index: 0 }, { arguments: '{"p"' }),
        piece({ index: 0 }, { arguments: ':1}' }),
      ],
      { p: 1 },
    ],
    [
      'with the complete input again in the last piece',
      [
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{"p"' }),
        piece({ index: 0 }, { arguments: ':1}' }),
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{"p":1}' }),
      ],
      { p: 1 },
    ],
    [
      'with the complete input again and no id',
      [
        piece({ index: 0 }, { name: 'List', arguments: '{"p":1}' }),
        piece({ index: 0 }, { name: 'List', arguments: '{"p":1}' }),
        piece({ index: 0 }, { name: 'List', arguments: '' }),
      ],
      { p: 1 },
    ],
    [
      'with the name in each piece',
      [
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '' }),
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{"p"' }),
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: ':1}' }),
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '' }),
      ],
      { p: 1 },
    ],
    [
      'with the name in each piece, and neither id nor place',
      [
        piece({}, { name: 'List', arguments: '' }),
        piece({}, { name: 'List', arguments: '{"p"' }),
        piece({}, { name: 'List', arguments: ':1}' }),
      ],
      { p: 1 },
    ],
    [
      'with the name after the arguments',
      [piece({ index: 0, id: 'a' }, { arguments: '{"p":1}' }), piece({ index: 0 }, { name: 'List' })],
      { p: 1 },
    ],
    [
      'with an empty object inside, in a separate piece',
      ['{"p":', '{}', '}'].map((part, at) =>
        piece({ index: 0, ...(at === 0 && { id: 'a' }) }, { name: 'List', arguments: part }),
      ),
      { p: {} },
    ],
    [
      'with white space before it, and {} first',
      [
        piece({ index: 0, id: 'a' }, { name: 'List', arguments: '\n' }),
        piece({ index: 0 }, { arguments: '{}' }),
        piece({ index: 0 }, { arguments: '{"p":1}' }),
      ],
      { p: 1 },
    ],
    [
      'with white space after it',
      [piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{"p":1}' }), piece({ index: 0 }, { arguments: '\n' })],
      { p: 1 },
    ],
    [
      'in a function_call, as before there were several',
      [
        chunk({ function_call: { name: 'List', arguments: '' } }),
        chunk({ function_call: { arguments: '{"p"' } }),
        chunk({ function_call: { arguments: ':1}' } }),
      ],
      { p: 1 },
    ],
    [
      'in a function_call that repeats tool_calls',
      ['{"p"', ':1}'].map((part) =>
        chunk({
          function_call: { name: 'List', arguments: part },
          tool_calls: [{ index: 0, id: 'a', function: { name: 'List', arguments: part } }],
        }),
      ),
      { p: 1 },
    ],
  ] as readonly (readonly [string, readonly JsonObject[], unknown])[])('%s', (_, chunks, input) => {
    const content = contentOf(...chunks)
    expect(content).toEqual([{ type: 'tool_use', id: expect.any(String), name: 'List', input }])
  })

  test('stores the original text if the value would be written differently', () => {
    const written = '{"b": 1.0, "a": 12345678901234567890}'
    expect(contentOf(piece({ index: 0, id: 'a' }, { name: 'Read', arguments: written }))).toEqual([
      { ...call('a', 'Read', JSON.parse(written)), origin: { api: 'chat_completions', arguments: written } },
    ])
  })

  test('stores additional fields that the service wants back', () => {
    const signed = { google: { thought_signature: 'sig' } }
    expect(contentOf(piece({ index: 0, id: 'a', extra_content: signed }, { name: 'Read', arguments: '{}' }))).toEqual([
      { ...call('a', 'Read', {}), origin: { api: 'chat_completions', extra_content: signed } },
    ])
  })

  const signed = { google: { thought_signature: 'sig' } }
  const whole = piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' })
  const signedCall = { ...call('a', 'Read', { p: 1 }), origin: { api: 'chat_completions', extra_content: signed } }

  test.each([
    ['with place and id', { index: 0, id: 'a' }],
    ['with the place alone', { index: 0 }],
    ['with the id alone', { id: 'a' }],
    ['with neither', {}],
  ] as readonly (readonly [string, JsonObject])[])('accepts additional fields after the input, %s', (_, named) => {
    const late = chunk({ tool_calls: [{ ...named, extra_content: signed }] })
    expect(contentOf(whole, late)).toEqual([signedCall])
    expect(contentOf(whole, late, chunk({ content: 'Done.' }))).toEqual([signedCall, text('Done.')])
    expect(contentOf(whole, late, piece({ index: 1, id: 'b' }, { name: 'Read', arguments: '{"p":2}' }))).toEqual([
      signedCall,
      call('b', 'Read', { p: 2 }),
    ])
    // Also in a reply that is cut after it, by the service or by the connection.
    expect(readChunks([whole, late, finish('length')]).assembled).toMatchObject({ message: { content: [signedCall] } })
    expect(readChunks([whole, late], 'none').assembled).toMatchObject({
      kind: 'partial',
      message: { content: [signedCall] },
    })
  })

  test.each(['{"p": tru}', '[1]', 'null', '{"p":1}{"p":2}'])('passes an invalid input on to the tool: %s', (json) => {
    expect(contentOf(piece({ index: 0, id: 'a' }, { name: 'Read', arguments: json }))).toEqual([
      call('a', 'Read', { INVALID_JSON: json }),
    ])
  })

  test('breaks the stream for more input after a complete one, and preserves the call', () => {
    const read = readChunks([
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' }),
      piece({ index: 0 }, { arguments: '{"p":2}' }),
    ])
    expect(read.end).toEqual({ kind: 'violation', why: 'it had more input for the completed call a' })
    expect(read.assembled).toMatchObject({ kind: 'partial', message: { content: [call('a', 'Read', { p: 1 })] } })
  })

  test('treats a call without a name as one of a tool that does not exist', () => {
    expect(contentOf(piece({ index: 0, id: 'a' }, { arguments: '{"p":1}' }))).toEqual([
      call('a', 'unknown_tool', { p: 1 }),
    ])
  })

  test('assembles many thousand deltas in linear time', () => {
    const first = piece({ index: 0, id: 'a' }, { name: 'Write', arguments: '{"t":"' })
    const pieces = Array.from({ length: 150_000 }, () => piece({ index: 0 }, { arguments: 'word ' }))
    const { assembled } = readChunks([first, ...pieces, piece({ index: 0 }, { arguments: '"}' }), finish('stop')])
    const [written] = assembled.kind === 'complete' ? assembled.message.content : []
    expect(written).toEqual(call('a', 'Write', { t: 'word '.repeat(150_000) }))
  })
})

describe('text and calls keep their order', () => {
  test('with text before, between and after', () => {
    const content = contentOf(
      chunk({ content: 'First ' }),
      chunk({ content: 'this.' }),
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' }),
      chunk({ content: 'Then' }),
      chunk({ content: ' that.' }),
      piece({ index: 1, id: 'b' }, { name: 'Read', arguments: '{"p":2}' }),
      chunk({ content: 'Done.' }),
    )
    expect(content).toEqual([
      text('First this.'),
      call('a', 'Read', { p: 1 }),
      text('Then that.'),
      call('b', 'Read', { p: 2 }),
      text('Done.'),
    ])
  })

  test('when a call with an empty object precedes one with an input', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'List', arguments: '{}' }),
      piece({ index: 1, id: 'b' }, { name: 'Read', arguments: '{"p":2}' }),
      chunk({ content: 'Done.' }),
    )
    expect(content).toEqual([call('a', 'List', {}), call('b', 'Read', { p: 2 }), text('Done.')])
  })

  test('when text continues while a call is still open', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":' }),
      chunk({ content: 'Mean' }),
      chunk({ content: 'while' }),
      piece({ index: 0 }, { arguments: '1}' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), text('Meanwhile')])
  })

  test('when a repeated delta adds nothing, and text continues in its block', () => {
    const content = contentOf(
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' }),
      chunk({ content: 'One ' }),
      piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '' }),
      chunk({ content: 'text.' }),
    )
    expect(content).toEqual([call('a', 'Read', { p: 1 }), text('One text.')])
  })
})

describe('emits a complete call once', () => {
  const whole = piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' })
  const emittedBlocks = (...chunks: readonly JsonObject[]): readonly unknown[] => {
    const updates: ModelUpdate[] = []
    const reader = new ChatReader('asked', requestOf(), (update) => updates.push(update))
    for (const one of chunks) reader.take(one)
    return updates.flatMap((update) => (update.type === 'block' ? [update.block] : []))
  }

  test.each([
    ['text arrives', chunk({ content: 'And' })],
    ['reasoning arrives', chunk({ reasoning: 'And' })],
    ['another call arrives', piece({ index: 1, id: 'b' }, { name: 'Read', arguments: '{"p":' })],
    ['a call without a name arrives', piece({ index: 1, id: 'b' })],
    ['the finish reason arrives', finish('tool_calls')],
  ] as readonly (readonly [string, JsonObject])[])('when %s', (_, next) => {
    expect(emittedBlocks(whole)).toEqual([])
    expect(emittedBlocks(whole, next)).toEqual([call('a', 'Read', { p: 1 })])
    expect(emittedBlocks(whole, next, whole, finish('stop'))[0]).toEqual(call('a', 'Read', { p: 1 }))
  })

  test('when the stream ends after it', () => {
    for (const chunks of [
      [whole],
      [piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1' }), piece({ index: 0 }, { arguments: '}' })],
    ]) {
      const { updates, assembled } = readChunks(chunks, 'none')
      expect(updates.flatMap((update) => (update.type === 'block' ? [update.block] : []))).toEqual([
        call('a', 'Read', { p: 1 }),
      ])
      expect(assembled).toMatchObject({ kind: 'partial', message: { content: [call('a', 'Read', { p: 1 })] } })
    }
  })
})
