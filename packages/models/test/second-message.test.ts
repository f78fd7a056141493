// Tests R-WIRE-5c of docs/spec: the result of a stream in which a second message starts.
import type { JsonObject } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { modelAt, call } from './support/call.ts'
import { readChunks } from './support/chat-read.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf } from './support/recordings.ts'

const start = (id: string, content: readonly JsonObject[] = []): JsonObject => ({
  type: 'message_start',
  message: {
    id,
    type: 'message',
    role: 'assistant',
    model: `model of ${id}`,
    content,
    usage: { input_tokens: 10, output_tokens: 1 },
  },
})
const begin = (index: number, block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const delta = (index: number, fields: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta: fields })
const say = (index: number, text: string): JsonObject => delta(index, { type: 'text_delta', text })
const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index })
const text = (index: number, words: string): readonly JsonObject[] => [
  begin(index, { type: 'text', text: '' }),
  say(index, words),
  stop(index),
]
const tool = (index: number, id: string): readonly JsonObject[] => [
  begin(index, { type: 'tool_use', id, name: 'Read', input: {} }),
  delta(index, { type: 'input_json_delta', partial_json: '{"path":"a"}' }),
  stop(index),
]
const ends = (reason = 'end_turn'): readonly JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
const read = (id: string): JsonObject => ({ type: 'tool_use', id, name: 'Read', input: { path: 'a' } })
const words = (said: string): JsonObject => ({ type: 'text', text: said })

async function asked(events: readonly JsonObject[]) {
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(bytesOf(events))
  })
  const { reply, error, updates } = await call(modelAt(server.url))
  const emitted = updates.flatMap((update) => (update.type === 'block' ? [update] : []))
  // R-WIRE-2
  expect(emitted.toSorted((a, b) => a.index - b.index).map(({ block }) => block)).toEqual(
    error === undefined ? reply?.message.content : [],
  )
  expect(new Set(emitted.map(({ index }) => index)).size).toBe(emitted.length)
  expect(emitted.every(({ messageId }) => messageId === reply?.message.id)).toBe(true)
  return { reply, error }
}

describe('continues a message that starts again', () => {
  test.each<[string, readonly JsonObject[], readonly JsonObject[], string]>([
    ['the first was only begun', [start('1'), start('2'), ...text(0, 'Hi'), ...ends()], [words('Hi')], '2'],
    [
      'the first had begun a text',
      [start('1'), ...text(0, 'Hal').slice(0, 2), start('1'), ...text(0, 'Hi'), ...ends()],
      [words('Hi')],
      '1',
    ],
    [
      'the text of the first continues',
      [start('1'), ...text(0, 'Hal').slice(0, 2), start('1'), say(0, 'lo'), stop(0), ...ends()],
      [words('Hallo')],
      '1',
    ],
    [
      'the first had ended a text',
      [start('1'), ...text(0, 'One'), start('1'), ...text(0, 'Two'), ...ends()],
      [words('One'), words('Two')],
      '1',
    ],
    [
      'and has a block in between',
      [start('1'), ...text(0, 'One'), start('1'), ...text(1, 'Two'), ...text(0, 'Three'), ...ends()],
      [words('One'), words('Two'), words('Three')],
      '1',
    ],
    [
      'the second has its content in it',
      [start('1'), ...text(0, 'One'), start('1', [words('Two')]), ...ends()],
      [words('One'), words('Two')],
      '1',
    ],
    [
      'calls continue after it',
      [start('1'), ...text(0, 'One'), start('1'), ...tool(1, 'a'), ...ends('tool_use')],
      [words('One'), read('a')],
      '1',
    ],
    [
      'and a third',
      [start('1'), ...text(0, 'One'), start('1'), ...text(0, 'Two'), start('1'), ...text(0, 'Three'), ...ends()],
      [words('One'), words('Two'), words('Three')],
      '1',
    ],
    ['the same start repeated', [start('1'), start('1'), ...text(0, 'Hi'), ...ends()], [words('Hi')], '1'],
    [
      'a call without an input is begun anew',
      [
        start('1'),
        begin(0, { type: 'tool_use', id: 'a', name: 'Read', input: {} }),
        stop(0),
        start('1'),
        ...tool(0, 'b'),
        ...ends('tool_use'),
      ],
      [read('b')],
      '1',
    ],
  ])('%s', async (_name, events, content, id) => {
    const { reply } = await asked(events)
    expect(reply?.message).toMatchObject({ id, model: `model of ${id}`, content })
    expect(reply?.streamError).toBeUndefined()
    expect(reply?.message.usage).toMatchObject({ output_tokens: 5 })
  })

  test('but emits no call twice, and reports that more was to come', async () => {
    const { reply } = await asked([
      start('1'),
      ...text(0, 'One'),
      ...tool(1, 'a'),
      start('1'),
      ...text(0, 'One'),
      ...tool(1, 'b'),
      ...ends(),
    ])
    expect(reply?.message.content).toEqual([words('One'), read('a')])
    expect(reply?.streamError).toMatchObject({ kind: 'connection' })
  })

  test('and leaves a complete message unchanged', async () => {
    const { reply } = await asked([start('1'), ...text(0, 'One'), ...ends().slice(0, 1), start('1'), ...text(0, 'Two')])
    expect(reply?.message).toMatchObject({ id: '1', content: [words('One')], stop_reason: 'end_turn' })
    expect(reply?.streamError).toBeUndefined()
  })

  test('and breaks the stream if a block starts twice in one message', async () => {
    const { reply } = await asked([start('1'), start('1'), ...text(0, 'One'), ...text(0, 'Two'), ...ends()])
    expect(reply).toMatchObject({ message: { content: [words('One')] }, streamError: { kind: 'connection' } })
  })
})

describe('two messages with different ids', () => {
  const first = [start('1'), ...text(0, 'One'), ...tool(1, 'a')]
  test.each<[string, readonly JsonObject[]]>([
    ['the second after a call', [...first, start('2'), ...text(2, 'Two'), ...ends('tool_use')]],
    ['the second with its own call', [...first, start('2'), ...tool(0, 'b'), ...ends('tool_use')]],
    ['the second after a text', [start('1'), ...text(0, 'One'), start('2'), ...tool(1, 'b'), ...ends('tool_use')]],
    [
      'the second in a call',
      [start('1'), ...tool(0, 'a').slice(0, 2), start('2'), ...tool(0, 'b'), ...ends('tool_use')],
    ],
    [
      'the second after the stop reason of the first',
      [...first, ...ends('tool_use').slice(0, 1), start('2'), ...text(2, 'Two')],
    ],
    ['the second complete in its start event', [...first, start('2', [words('Two')]), ...ends()]],
  ])('cause a retry without any call: %s', async (_name, events) => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf(events))
    })
    const { reply, error } = await call(modelAt(server.url))
    expect(reply).toBeUndefined()
    expect(error).toMatchObject({ kind: 'connection', retryable: true })
    expect(String(error)).toContain('two messages with different ids')
  })

  const chunk = (id: string, delta: JsonObject, reason: string | null = null): JsonObject => ({
    id,
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  const calling = (id: string, callId: string): readonly JsonObject[] => [
    chunk(id, { role: 'assistant', content: 'I look. ' }),
    chunk(id, {
      tool_calls: [{ index: 0, id: callId, type: 'function', function: { name: 'Read', arguments: '{"path":"a"}' } }],
    }),
  ]

  test.each<[string, readonly JsonObject[]]>([
    ['one after the other', [...calling('1', 'a'), ...calling('2', 'b'), chunk('2', {}, 'tool_calls')]],
    ['in turns', [chunk('1', { content: 'a' }), chunk('2', { content: 'b' }), chunk('1', { content: 'c' }, 'stop')]],
  ])('of chat completions do the same: %s', (_name, chunks) => {
    const read = readChunks(chunks)
    expect(read.end).toEqual({ kind: 'violation', why: 'it contained two messages with different ids' })
    expect(read.assembled).toEqual({ kind: 'nothing' })
  })

  test.each<[string, readonly string[]]>([
    ['with every chunk', ['1', '2', '3', '4']],
    ['and are empty at first', ['', '1', '1', '1']],
    ['and are empty in the end', ['1', '1', '1', '']],
  ])('are not assumed if ids change %s', (_name, ids) => {
    const [first, ...rest] = ids.map((id) => chunk(id, { content: 'x' }))
    const read = readChunks([first ?? {}, ...rest, chunk('9', {}, 'stop')])
    expect(read.assembled).toMatchObject({ kind: 'complete', message: { content: [words('xxxx')] } })
  })
})
