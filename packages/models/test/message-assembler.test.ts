import { describe, expect, test } from 'vitest'
import type { JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import * as fc from 'fast-check'
import { MessageAssembler } from '../src/anthropic/message-assembler.ts'
import type { Assembled, Progress } from '../src/service/stream-reader.ts'
import { createEventStream } from '../src/http/event-stream.ts'
import { bytesOf, recordings, replyOf } from './support/recordings.ts'
import { cutsOf, drawn } from './support/deep.ts'

interface Read {
  readonly assembled: Assembled
  readonly updates: readonly ModelUpdate[]
  readonly ends: readonly Progress[]
}

/** Reads a stream from chunks, to its end or to the first problem. */
function read(pieces: readonly Uint8Array[]): Read {
  const updates: ModelUpdate[] = []
  const ends: Progress[] = []
  const assembler = new MessageAssembler((update) => updates.push(update))
  const stream = createEventStream()
  for (const piece of pieces) {
    const events = stream.feed(piece)
    if (events === 'too_long') break
    for (const { data } of events) {
      const progress = assembler.take(JSON.parse(data) as JsonObject)
      if (!['more', 'ping', 'last'].includes(progress.kind)) ends.push(progress)
      if (ends.length > 0) return { assembled: assembler.finish(), updates, ends }
    }
  }
  return { assembled: assembler.finish(), updates, ends }
}

function readEvents(events: readonly JsonObject[]): Read {
  return read([bytesOf(events)])
}

const start: JsonObject = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'claude-test', usage: { input_tokens: 10, output_tokens: 1 } },
}
const blockStart = (index: number, block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const delta = (index: number, change: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta: change })
const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index })
const end = (reason: string): JsonObject => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null },
  usage: { output_tokens: 20 },
})
const text = (index: number, words: string): readonly JsonObject[] => [
  blockStart(index, { type: 'text', text: '' }),
  delta(index, { type: 'text_delta', text: words }),
  stop(index),
]
const tool = (index: number, json: string): readonly JsonObject[] => [
  blockStart(index, { type: 'tool_use', id: `toolu_${index}`, name: 'Read', input: {} }),
  delta(index, { type: 'input_json_delta', partial_json: json }),
  stop(index),
]
const calls = (assembled: Assembled): unknown => (assembled.kind === 'nothing' ? [] : assembled.message.content)

describe('reads the message of every recorded stream', () => {
  test.each(recordings)('of $name, wherever it is split, with LF and with CRLF', ({ events }) => {
    const outcomes = new Set<string>()
    for (const lineEnd of ['\n', '\r\n'] as const) {
      const bytes = bytesOf(events, lineEnd)
      // Every place of short streams. Of long ones, every place in the first and last 4 KB, and every 37th between.
      for (const at of cutsOf(bytes.length, { edge: 4_000, step: 37 })) {
        const { assembled, ends } = read([bytes.subarray(0, at), bytes.subarray(at)])
        if (ends[0]?.kind !== 'end') throw new Error(`cut at ${at}, the stream had no end`)
        outcomes.add(JSON.stringify(assembled))
      }
    }
    expect([...outcomes].map((outcome) => JSON.parse(outcome) as unknown)).toEqual([
      { kind: 'complete', ...replyOf(events) },
    ])
  })

  test.each(recordings)('of $name, one byte at a time', ({ events }) => {
    const bytes = bytesOf(events, '\r\n')
    const { assembled } = read(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)))
    expect(assembled).toEqual({ kind: 'complete', ...replyOf(events) })
  })

  test.each(recordings)('of $name, reporting each block complete once, as it is in the message', ({ events }) => {
    const { assembled, updates } = readEvents(events)
    const blocks = updates.flatMap((update) => (update.type === 'block' ? [update.block] : []))
    expect(blocks).toEqual(calls(assembled))
  })
})

describe('preserves a block that was reported complete, whatever follows', () => {
  test('in streams that are cut, repeated, reordered or full of garbage', () => {
    const all = recordings.flatMap(({ events }) => events)
    const garbage = fc.oneof(
      fc.constantFrom(...all),
      fc.record({ type: fc.constantFrom('content_block_start', 'content_block_delta', 'message_delta', 'new_event') }),
      fc.record({
        type: fc.constant('content_block_delta'),
        index: fc.nat(3),
        delta: fc.dictionary(fc.string(), fc.jsonValue()),
      }),
      fc.dictionary(fc.string(), fc.jsonValue()),
    )
    const stream = fc.constantFrom(...recordings).chain(({ events }) =>
      fc.oneof(
        fc.nat(events.length).map((length) => events.slice(0, length)),
        fc.shuffledSubarray([...events]),
        fc
          .tuple(fc.nat(events.length), fc.array(garbage))
          .map(([at, added]) => events.toSpliced(at, 0, ...(added as JsonObject[]))),
        fc.array(garbage) as fc.Arbitrary<JsonObject[]>,
      ),
    )
    fc.assert(
      fc.property(stream, (events) => {
        const { assembled, updates } = readEvents(events)
        const reported = updates.flatMap((update) => (update.type === 'block' ? [update.block] : []))
        const kept: readonly unknown[] = assembled.kind === 'nothing' ? [] : assembled.message.content
        for (const block of kept) expect(reported).toContainEqual(block)
        // Without a text or a call, the request is repeated. A call of a server tool is kept only with its result.
        const isKept = assembled.kind !== 'nothing'
        const lost = isKept ? reported.filter((block) => !kept.includes(block)) : reported
        const mayBeLost = isKept ? /^(server|mcp)_tool_use$/ : /^(thinking|redacted_thinking|(server|mcp)_tool_use)$/
        const spaces = lost.filter((block) => block.type === 'text' && block.text.trim() === '')
        expect(lost.filter((block) => !mayBeLost.test(block.type) && !spaces.includes(block))).toEqual([])
      }),
      { numRuns: drawn(3000) },
    )
  })
})

describe('never reports a truncated call', () => {
  test.each(['{"file_path": "a', '', '{"file_path": '])('with input %j at max_tokens', (json) => {
    const { assembled, updates } = readEvents([start, ...text(0, 'I read.'), ...tool(1, json), end('max_tokens')])
    expect(calls(assembled)).toEqual([{ type: 'text', text: 'I read.' }])
    expect(updates.filter(({ type }) => type === 'block')).toHaveLength(1)
  })

  test('but accepts a call without input if the reply ended normally', () => {
    const { assembled } = readEvents([start, ...tool(0, ''), end('tool_use')])
    expect(calls(assembled)).toEqual([{ type: 'tool_use', id: 'toolu_0', name: 'Read', input: {} }])
  })

  test('but accepts a call without input as soon as the reply continues after it', () => {
    const { updates } = readEvents([start, ...tool(0, ''), blockStart(1, { type: 'text', text: '' })])
    expect(updates.map(({ type }) => type)).toEqual(['tool_input_start', 'block'])
  })

  test('but preserves a call with a complete input if the reply was truncated after it', () => {
    const { assembled } = readEvents([start, ...tool(0, '{"a":1}'), ...text(1, 'and'), end('max_tokens')])
    expect(calls(assembled)).toEqual([
      { type: 'tool_use', id: 'toolu_0', name: 'Read', input: { a: 1 } },
      { type: 'text', text: 'and' },
    ])
  })

  test.each(['{"a": tru}', '[1]', 'null', '"text"'])('makes input %s of a complete reply sendable', (json) => {
    const { assembled } = readEvents([start, ...tool(0, json), end('tool_use')])
    expect(calls(assembled)).toEqual([{ type: 'tool_use', id: 'toolu_0', name: 'Read', input: { INVALID_JSON: json } }])
  })
})

describe('a broken stream leaves', () => {
  test('nothing, if no block was completed', () => {
    expect(readEvents([start, ...text(0, 'half').slice(0, 2)]).assembled).toEqual({ kind: 'nothing' })
  })

  test('nothing, if only thinking was completed', () => {
    const thinking = [
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      delta(0, { type: 'signature_delta', signature: 'sig' }),
      stop(0),
    ]
    expect(readEvents([start, ...thinking]).assembled).toEqual({ kind: 'nothing' })
  })

  test('the completed blocks, without the open one', () => {
    const { assembled } = readEvents([start, ...text(0, 'one'), ...text(1, 'two').slice(0, 2)])
    expect(assembled).toEqual({
      kind: 'partial',
      message: {
        role: 'assistant',
        id: 'msg_1',
        model: 'claude-test',
        content: [{ type: 'text', text: 'one' }],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    })
  })

  test('no server tool call without its result', () => {
    const search = [
      blockStart(1, { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }),
      stop(1),
    ]
    expect(calls(readEvents([start, ...text(0, 'one'), ...search]).assembled)).toEqual([{ type: 'text', text: 'one' }])
  })

  test('does not complete a message at message_stop without a stop reason', () => {
    expect(readEvents([start, ...text(0, 'one'), { type: 'message_stop' }]).assembled.kind).toBe('partial')
  })

  test('completes a message at its stop reason, even without message_stop and content_block_stop', () => {
    const { assembled } = readEvents([start, ...text(0, 'one').slice(0, 2), end('end_turn')])
    expect(assembled).toMatchObject({ kind: 'complete', message: { content: [{ type: 'text', text: 'one' }] } })
  })
})

describe('stops reading at a violation instead of guessing', () => {
  const cases: readonly (readonly [string, readonly JsonObject[]])[] = [
    ['a delta for a block that never began', [start, delta(0, { type: 'text_delta', text: 'x' })]],
    ['a delta after its block', [start, ...text(0, 'x'), delta(0, { type: 'text_delta', text: 'y' })]],
    ['a block that begins twice', [start, ...text(0, 'x'), ...text(0, 'x')]],
    [
      'text in a call',
      [start, blockStart(0, { type: 'tool_use', input: {} }), delta(0, { type: 'text_delta', text: 'x' })],
    ],
    ['a block before the message', [...text(0, 'x')]],
    ['a second message after the end of the first', [start, ...text(0, 'x'), end('end_turn'), start]],
    ['an invalid block', [start, { type: 'content_block_start', index: 0 }]],
  ]
  test.each(cases)('%s', (_, events) => {
    expect(readEvents(events).ends).toEqual([{ kind: 'violation', why: expect.any(String) }])
  })

  test('ignores unknown events and deltas, pings and repeated ends', () => {
    const { ends, assembled } = readEvents([
      start,
      { type: 'ping' },
      { type: 'something_new', index: 7 },
      ...text(0, 'x').slice(0, 2),
      delta(0, { type: 'sparkle_delta', sparkle: 1 }),
      stop(0),
      stop(0),
      end('end_turn'),
    ])
    expect(ends).toEqual([])
    expect(assembled.kind).toBe('complete')
  })
})

describe('assigns every kind of delta to its field', () => {
  test('for thinking with its signature, redacted thinking, citations, compaction, and input at the start', () => {
    const blocks: readonly JsonObject[] = [
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
      delta(0, { type: 'thinking_delta', thinking: 'see.' }),
      delta(0, { type: 'signature_delta', signature: 'EqQB+/=' }),
      stop(0),
      blockStart(1, { type: 'redacted_thinking', data: 'opaque==' }),
      stop(1),
      blockStart(2, { type: 'text', text: '', citations: [] }),
      delta(2, { type: 'text_delta', text: 'It is so.' }),
      delta(2, { type: 'citations_delta', citation: { type: 'char_location', start_char_index: 1 } }),
      delta(2, { type: 'citations_delta', citation: { type: 'char_location', start_char_index: 9 } }),
      stop(2),
      blockStart(3, { type: 'compaction', content: null }),
      delta(3, { type: 'compaction_delta', content: 'What was said.' }),
      stop(3),
      blockStart(4, { type: 'tool_use', id: 't', name: 'roll', input: { player: 1 }, caller: { type: 'direct' } }),
      stop(4),
    ]
    const { assembled } = readEvents([start, ...blocks, end('tool_use')])
    expect(calls(assembled)).toEqual([
      { type: 'thinking', thinking: 'Let me see.', signature: 'EqQB+/=' },
      { type: 'redacted_thinking', data: 'opaque==' },
      {
        type: 'text',
        text: 'It is so.',
        citations: [
          { type: 'char_location', start_char_index: 1 },
          { type: 'char_location', start_char_index: 9 },
        ],
      },
      { type: 'compaction', content: 'What was said.' },
      { type: 'tool_use', id: 't', name: 'roll', input: { player: 1 }, caller: { type: 'direct' } },
    ])
  })
})

describe('usage', () => {
  test('continues from the beginning with message_delta; null and missing counts are unchanged', () => {
    const first = {
      type: 'message_start',
      message: {
        id: 'm',
        model: 'x',
        usage: {
          input_tokens: 5,
          output_tokens: 1,
          cache_creation_input_tokens: 30,
          cache_read_input_tokens: null,
          cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        },
      },
    }
    const last = {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 9, cache_creation_input_tokens: 40, input_tokens: null },
    }
    const { assembled } = readEvents([first, ...text(0, 'x'), last])
    expect(assembled).toMatchObject({
      message: {
        usage: {
          input_tokens: 5,
          output_tokens: 9,
          cache_creation_input_tokens: 40,
          cache_read_input_tokens: 0,
          cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 20 },
        },
      },
    })
  })

  test('preserves counts when a last report has no output', () => {
    const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 12 } }
    const { assembled } = readEvents([start, ...text(0, 'x'), end('end_turn'), last])
    expect(assembled).toMatchObject({ message: { usage: { input_tokens: 12, output_tokens: 20 } } })
  })
})

// R-WIRE-5f
test('treats a call without a name as one of a tool that does not exist, also in the stored JSON', () => {
  const named = { type: 'tool_use', id: 'a', name: '', input: {} }
  const json = (text: string) => delta(0, { type: 'input_json_delta', partial_json: text })
  const contentOf = (input: string) => {
    const { assembled } = readEvents([start, blockStart(0, named), json(input), stop(0), end('tool_use')])
    return assembled.kind === 'complete' ? assembled.message.content : assembled
  }
  expect(contentOf('{"a":1}')).toEqual([{ ...named, name: 'unknown_tool', input: { a: 1 } }])
  expect(contentOf('{"a":1.0}')).toMatchObject([
    { name: 'unknown_tool', origin: { json: expect.stringContaining('"name":"unknown_tool","input":{"a":1.0}') } },
  ])
})
