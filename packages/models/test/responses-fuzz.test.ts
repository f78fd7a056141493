// Streams of the Responses API that are cut, repeated, reordered or full of garbage, in process: R-RESP-30 to
// R-RESP-41.
import { isJsonObject, isToolUse } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawn } from './support/deep.ts'
import { disorderIn, disturbed, emittedAndStored } from './support/disturbed-streams.ts'
import {
  added,
  argumentsDelta,
  call,
  created,
  done,
  ended,
  message,
  readEvents,
  textDelta,
} from './support/responses-read.ts'
import { responsesRecordings } from './support/responses-recordings.ts'

const all = responsesRecordings.flatMap(({ events }) => events)
const place = fc.constantFrom(0, 1, 2)
const json = fc.constantFrom('', '{', '{"p":', '1}', '{"p":1}', '{}', ' ', '"', '[', 'x')

/** Items that no service would send on purpose. */
const anyItem = fc.oneof(
  fc
    .tuple(json, fc.constantFrom('a', 'b', ''), fc.constantFrom('completed', 'incomplete', ''))
    .map(([args, call_id, status]) => call(args, { call_id, status })),
  fc
    .tuple(json, fc.constantFrom('a', 'b'))
    .map(([input, call_id]) => ({ type: 'custom_tool_call', call_id, name: 'sql', input })),
  fc.constantFrom('', 'x', 'xy', ' ').map((said) => message(said)),
  fc.constantFrom<JsonObject>(
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'r' }], encrypted_content: 'e' },
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 't' }] },
    { type: 'web_search_call', id: 'ws', action: { type: 'search', query: 'q', sources: [{ url: 'u' }] } },
    { type: 'web_search_call' },
    { type: 'brand_new', data: 1 },
    {},
  ),
)
const anyEnd = fc
  .tuple(
    fc.constantFrom('completed', 'incomplete', 'failed', 'done'),
    fc.array(anyItem, { maxLength: 3 }),
    fc.constantFrom('max_output_tokens', 'content_filter', 'new_reason'),
  )
  .map(([type, output, reason]) => ended({ output, incomplete_details: { reason } }, type))
const anyEvent: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.tuple(place, anyItem).map(([at, item]) => added(at, item)),
  fc.tuple(place, anyItem).map(([at, item]) => done(at, item)),
  fc.tuple(place, json).map(([at, delta]) => argumentsDelta(at, delta)),
  fc.tuple(place, fc.constantFrom('x', ' ', ''), fc.nat(1)).map(([at, delta, part]) => textDelta(at, delta, part)),
  fc
    .tuple(place, json)
    .map(([output_index, args]) => ({ type: 'response.function_call_arguments.done', output_index, arguments: args })),
  fc.tuple(place, fc.nat(1)).map(([output_index, summary_index]) => ({
    type: 'response.reasoning_summary_text.delta',
    output_index,
    summary_index,
    delta: 'r',
  })),
  fc.constant(created),
)
const garbage = fc.oneof(
  fc.constantFrom(...all),
  anyEvent,
  anyEnd,
  fc
    .tuple(
      fc.constantFrom(...all.map(({ type }) => type as string)),
      fc.dictionary(
        fc.constantFrom(
          'item',
          'output_index',
          'content_index',
          'delta',
          'text',
          'response',
          'annotation',
          'arguments',
        ),
        fc.jsonValue(),
      ),
    )
    .map(([type, fields]) => ({ type, ...fields })),
  fc.dictionary(fc.string(), fc.jsonValue()),
) as fc.Arbitrary<JsonObject>

const anyStream: fc.Arbitrary<readonly JsonObject[]> = fc.constantFrom(...responsesRecordings).chain(({ events }) =>
  fc.oneof(
    ...disturbed(events, garbage),
    fc.tuple(fc.array(anyEvent, { maxLength: 20 }), anyEnd).map(([events_, end]) => [...events_, end]),
  ),
)

describe('for any input', () => {
  test('preserves a block that was emitted as complete, unchanged and once', () => {
    fc.assert(
      fc.property(anyStream, fc.boolean(), (events, isOver) => {
        const blocks = emittedAndStored(readEvents(events, { isOver }))
        expect(blocks?.stored).toEqual(blocks?.emitted)
      }),
      { numRuns: drawn(5_000) },
    )
  })

  test('omits an unfinished call from a cut reply', () => {
    const cut = fc
      .constantFrom('max_output_tokens', 'content_filter')
      .map((reason) => ended({ incomplete_details: { reason } }, 'incomplete'))
    fc.assert(
      fc.property(fc.array(anyEvent), cut, (events, end) => {
        const { assembled } = readEvents([created, ...events, end])
        const calls = assembled.kind === 'nothing' ? [] : assembled.message.content.filter(isToolUse)
        const whole = events.filter(
          ({ type, item }) =>
            type === 'response.output_item.done' &&
            isJsonObject(item) &&
            item.status !== 'incomplete' &&
            ((item.type as string | undefined) ?? '_call').endsWith('_call'),
        )
        expect(calls.length).toBeLessThanOrEqual(whole.length)
      }),
      { numRuns: drawn(5_000) },
    )
  })

  test('gives every call a name, a unique id and an object as input', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), anyEnd, (events, end) => {
        const { assembled } = readEvents([created, ...events, end])
        const content = assembled.kind === 'nothing' ? [] : assembled.message.content
        const calls = content.filter((block) => block.type === 'tool_use' || block.type === 'server_tool_use')
        const ids = calls.map((block) => 'id' in block && block.id)
        expect(new Set(ids).size).toBe(ids.length)
        expect(content.filter(isToolUse).filter(({ name, input }) => name === '' || !isJsonObject(input))).toEqual([])
      }),
      { numRuns: drawn(3_000) },
    )
  })

  test('includes the result of every server tool', () => {
    fc.assert(
      fc.property(anyStream, (events) => {
        const { assembled } = readEvents(events)
        const content = assembled.kind === 'nothing' ? [] : assembled.message.content
        const ids = (type: string, field: 'id' | 'tool_use_id'): readonly unknown[] =>
          content.flatMap((block) =>
            block.type.endsWith(type) && field in block ? [(block as JsonObject)[field]] : [],
          )
        expect(new Set(ids('_tool_result', 'tool_use_id'))).toEqual(new Set(ids('server_tool_use', 'id')))
      }),
      { numRuns: drawn(3_000) },
    )
  })

  test('emits events in the right order', () => {
    fc.assert(
      fc.property(anyStream, (events) => {
        expect(disorderIn(readEvents(events).updates)).toEqual([])
      }),
      { numRuns: drawn(3_000) },
    )
  })

  test('reads the same reply from a stream without its deltas, ends of parts or items', () => {
    const whole = responsesRecordings.filter(({ name }) => !name.startsWith('openai-error'))
    const lost = [
      /\.delta$/,
      /\.done$|\.added$/,
      /(_text|arguments|part|input)\.done$/,
      /in_progress|searching|annotation/,
    ]
    const shownOf = (events: readonly JsonObject[]): readonly string[] => {
      const { assembled } = readEvents(events)
      const content = 'message' in assembled ? assembled.message.content : []
      return content.map((block) => {
        const { type, text, thinking, name, input, citations } = block as Record<string, unknown>
        return JSON.stringify({ type, text, thinking, name, input, citations })
      })
    }
    for (const { events } of whole) {
      for (const pattern of lost) {
        const left = events.filter(({ type }) => !pattern.test(type as string))
        // Blocks are in the order of their first pieces.
        expect(shownOf(left).toSorted()).toEqual(shownOf(events).toSorted())
      }
    }
  })
})
