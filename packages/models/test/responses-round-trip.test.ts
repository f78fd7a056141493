// The content of a Responses API response is sent back as it was written: read from a stream, stored, and put into the
// next request. Covers recorded and random replies.
import { createMemorySteps, startRun, streamRun } from '@halting/core'
import type { AnyTool, ContentBlock, Json, JsonObject } from '@halting/core'
import { isJsonObject, isToolUse } from '@halting/core/adapters'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import { listOf } from '../src/json-fields.ts'
import { itemsOf } from '../src/responses/responses-items.ts'
import { call, requestOf } from './support/call.ts'
import { drawn } from './support/deep.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { itemsDone, responsesBytes } from './support/responses-expected.ts'
import {
  added,
  argumentsDelta,
  created,
  done,
  ended,
  readEvents,
  replyOfRead,
  textDelta,
} from './support/responses-read.ts'
import { responsesRecordings } from './support/responses-recordings.ts'

const freeform = { write_sql: { field: 'sql' }, patch: { field: 'text' } }

/** The items of a reply in the next request. */
function sentBack(content: readonly ContentBlock[]): readonly JsonObject[] {
  const message = { role: 'assistant', content, by: 'asked' } as const
  const options = { id: 'asked', freeform, isReadable: () => true, isFreeformResult: () => false }
  return itemsOf(message, options)
}

/** An item as the service expects it back, without its id and status. */
function wanted(item: Json): JsonObject {
  if (!isJsonObject(item)) throw new Error('an item is not an object')
  const { id: _, status, ...rest } = item
  switch (rest.type) {
    case 'message':
      return {
        type: 'message',
        role: 'assistant',
        content: listOf(rest.content).map((part) => {
          const { type, text, refusal } = part as JsonObject
          return type === 'refusal' ? { type, refusal: refusal! } : { type: type!, text: text! }
        }),
        ...(rest.phase !== undefined && { phase: rest.phase }),
      }
    case 'reasoning':
    case 'function_call':
    case 'custom_tool_call':
      return rest
    default:
      return { ...rest, ...(status !== undefined && { status }) }
  }
}

/** Items that cannot be sent back are omitted: reasoning that is not encrypted and has no text. */
function mayGoBack(item: Json): boolean {
  if (!isJsonObject(item) || item.type !== 'reasoning') return true
  return typeof item.encrypted_content === 'string' || listOf(item.content).length > 0
}

describe('a recorded reply', () => {
  const whole = responsesRecordings.filter(({ name }) => !name.startsWith('openai-error'))
  test.each(whole)('$name', ({ events }) => {
    const { message } = replyOfRead(readEvents(events, { freeform }))
    expect(sentBack(message.content)).toEqual(itemsDone(events).filter(mayGoBack).map(wanted))
  })
})

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '')
const spaced = fc.constantFrom(
  '{"a":1}',
  '{ "a" : 1 }',
  '{"a":1.0,"b":"\\u00e9"}',
  '{}',
  '{"a":[{"b":null}]}',
  '{"n":12345678901234567890}',
)
const anyItem: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.tuple(words, fc.constantFrom('commentary', 'final_answer'), fc.boolean()).map(([said, phase, isRefusal]) => ({
    type: 'message',
    role: 'assistant',
    phase,
    content: [isRefusal ? { type: 'refusal', refusal: said } : { type: 'output_text', text: said }],
  })),
  fc.tuple(fc.array(words, { maxLength: 3 }), words).map(([texts, encrypted_content]) => ({
    type: 'reasoning',
    summary: texts.map((text) => ({ type: 'summary_text', text })),
    encrypted_content,
  })),
  fc.tuple(spaced, fc.option(words, { nil: undefined })).map(([json, namespace]) => ({
    type: 'function_call',
    name: 'read',
    arguments: json,
    ...(namespace !== undefined && { namespace }),
  })),
  fc
    .tuple(fc.constantFrom('patch', 'write_sql'), fc.string({ unit: 'grapheme', maxLength: 12 }))
    .map(([name, input]) => ({
      type: 'custom_tool_call',
      name,
      input,
    })),
  fc.constantFrom<JsonObject>(
    {
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'u' }] },
    },
    { type: 'tool_search_call', status: 'completed', execution: 'server', call_id: null, arguments: { paths: ['a'] } },
    { type: 'tool_search_output', status: 'completed', execution: 'server', call_id: null, tools: [] },
    { type: 'mcp_call', name: 'n', server_label: 's', arguments: '{}', output: 'o' },
    { type: 'brand_new', data: { a: [1] } },
  ),
)

/** Omits a part of the stream: nothing, its deltas, the ends of its items, or all but its last event. */
const anyLoss = fc.constantFrom(
  /^$/,
  /\.delta$/,
  /output_item\.done$/,
  /output_item\.added$/,
  /item\.(done|added)$|\.delta$/,
)

function eventsOf(items: readonly JsonObject[], cut: number): readonly JsonObject[] {
  const pieces = (text: string): readonly string[] => {
    const characters = Array.from(text)
    return [characters.slice(0, cut).join(''), characters.slice(cut).join('')]
  }
  const deltas = (item: JsonObject, place: number): readonly JsonObject[] => {
    const [part] = listOf(item.content) as readonly JsonObject[]
    if (part?.type === 'output_text') return pieces(part.text as string).map((delta) => textDelta(place, delta))
    if (item.type === 'function_call')
      return pieces(item.arguments as string).map((delta) => argumentsDelta(place, delta))
    if (item.type !== 'reasoning') return []
    return listOf(item.summary).flatMap((summary, summary_index) =>
      pieces((summary as JsonObject).text as string).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        output_index: place,
        summary_index,
        delta,
      })),
    )
  }
  const opening = ({ content: _, summary: __, arguments: json, input, ...item }: JsonObject): JsonObject => ({
    ...item,
    ...(typeof json === 'string' && { arguments: '' }),
    ...(input !== undefined && { input: '' }),
  })
  return [
    created,
    ...items.flatMap((item, place) => [added(place, opening(item)), ...deltas(item, place), done(place, item)]),
    ended({ output: items }),
  ]
}

test('sends any reply back as written, whatever events were lost', () => {
  const replies = fc.tuple(fc.array(anyItem, { minLength: 1, maxLength: 6 }), words, fc.nat(12), anyLoss)
  fc.assert(
    fc.property(replies, ([made, last, cut, lost]) => {
      const numbered = made.map((item, index) =>
        /^(function|custom_tool)_call$/.test(item.type as string) ? { ...item, call_id: `call_${index}` } : item,
      )
      // Reasoning goes back together with the item after it.
      const end = {
        type: 'message',
        role: 'assistant',
        phase: 'final_answer',
        content: [{ type: 'output_text', text: last }],
      }
      const items = [...numbered, end]
      const events = eventsOf(items, cut).filter(({ type }) => !lost.test(type as string))
      const { message } = replyOfRead(readEvents(events, { freeform }))
      const back = sentBack(message.content)
      // Blocks are in the order of their first pieces, so items without their start may be elsewhere.
      const inOrder = (list: readonly JsonObject[]): readonly string[] =>
        list.map((item) => JSON.stringify(sortKeys(item))).toSorted()
      expect(inOrder(back)).toEqual(inOrder(items.filter(mayGoBack).map(wanted)))
    }),
    { numRuns: drawn(3_000) },
  )
})

/** The same object, with sorted keys. */
function sortKeys(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => a.localeCompare(b)))
}

test.each(['messages', 'chat'] as const)(
  'sends only texts and calls to a model of another protocol (%s)',
  async (protocol) => {
    const replies = responsesRecordings.filter(({ name }) => !name.startsWith('openai-error'))
    const server = await startRawServer((response) => void response.writeHead(400).end('{}'))
    const options = { model: 'claude-test', baseUrl: server.url, apiKey: 'key' }
    const model = protocol === 'messages' ? anthropic(options) : openaiCompatible(options)
    for (const { events } of replies) {
      const { content } = replyOfRead(readEvents(events)).message
      const results = content
        .filter(isToolUse)
        .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }) as const)
      const end = results.length > 0 ? results : 'go on'
      const messages = [
        { role: 'user', content: 'go' },
        { role: 'assistant', content, by: 'asked' },
        { role: 'user', content: end },
      ] as const
      await call(model, { request: requestOf({ messages }) })
      const sent = JSON.stringify((JSON.parse(String(server.bodies.at(-1))) as JsonObject).messages)
      expect(sent).not.toMatch(
        /origin|citations|web_search|server_tool_use|tool_search|encrypted_content|responses_item|thinking/,
      )
    }
  },
)

test('carries encrypted reasoning over four turns, with each call and its result', async () => {
  const turns = responsesRecordings.filter(({ name }) => name.startsWith('openai-reasoning-encrypted-content'))
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(responsesBytes(turns[server.bodies.length - 1]?.events ?? []))
  })
  const calculator: AnyTool = {
    name: 'calculator',
    description: 'Calculates.',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' }, op: { type: 'string' } },
    },
    readOnly: true,
    execute: ({ a, b, op }: { a: number; b: number; op: string }) => String(op === 'add' ? a + b : a * b),
  }
  const model = openaiResponses({ model: 'gpt-5.1-codex-max', baseUrl: server.url, apiKey: 'key' })
  const running = streamRun(startRun({ prompt: 'What is (12 + 7) * 3 * 10?' }), {
    model,
    tools: [calculator],
    steps: createMemorySteps(),
  })
  const { terminal, state } = await running.ended
  expect(terminal.reason).toBe('completed')
  expect(JSON.stringify(state.transcript.messages().at(-1))).toContain('The final result is **570**.')
  const inputs = server.bodies.map((body) => listOf((JSON.parse(String(body)) as JsonObject).input))
  const expected = turns.slice(0, 3).flatMap(({ events }) => itemsDone(events).map(wanted))
  const results = ['19', '57', '570']
  const calls = inputs.at(-1)!.filter((item) => (item as JsonObject).role !== 'user')
  expect(calls.filter((item) => (item as JsonObject).type !== 'function_call_output')).toEqual(expected)
  expect(
    calls.flatMap((item) =>
      (item as JsonObject).type === 'function_call_output' ? [(item as JsonObject).output] : [],
    ),
  ).toEqual(results)
  // Each request starts with the whole previous one, so that the service finds it in its cache.
  for (const [index, input] of inputs.slice(1).entries())
    expect(input.slice(0, inputs[index]!.length)).toEqual(inputs[index])
  const counts = turns.map(
    ({ events }) => ((events.at(-1) as JsonObject).response as JsonObject).usage as Record<string, number>,
  )
  expect(state.spent.totalTokens).toBe(counts.reduce((sum, { total_tokens }) => sum + (total_tokens ?? 0), 0))
})
