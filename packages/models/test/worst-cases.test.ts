// Tests R-WIRE-9 of docs/spec: the cost of reading grows linearly with the input.
import type { JsonObject } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { PartReader } from '../src/ai-sdk/part-reader.ts'
import { messagesReader } from '../src/anthropic/anthropic.ts'
import { createEventStream, createLineStream } from '../src/http/event-stream.ts'
import { parseJson } from '../src/json-fields.ts'
import { createObjectScanner } from '../src/openai/call-pieces.ts'
import { ChatReader } from '../src/openai/chat-reader.ts'
import { ResponsesReader } from '../src/responses/responses-reader.ts'
import { messageWaitMs } from '../src/service/reset-body.ts'
import { limitResetOf, retryAfterMsOf } from '../src/service/reset-headers.ts'
import { serviceError, streamError } from '../src/service/service-error.ts'
import { requestOf } from './support/call.ts'
import { isDeep, isWhole } from './support/deep.ts'
import { added, argumentsDelta, call as callItem, done, ended, message, textDelta } from './support/responses-read.ts'
import { countSteps } from './support/count-steps.ts'
import type { Steps } from './support/count-steps.ts'
import { text as textParts } from './support/scripted-parts.ts'

const quarter = 250_000
/** The most examined characters: this many times each one. */
const most = 40 * quarter
const longest = 4_096

function worst(unit: string): string {
  return unit.repeat(Math.ceil(quarter / unit.length)).slice(0, quarter)
}

/** The excessive figures of this reading. Empty if its cost is linear. */
function excess(read: () => void): Partial<Steps> {
  const { looked, longestSubject } = countSteps(read)
  return { ...(looked >= most && { looked }), ...(longestSubject > longest && { longestSubject }) }
}

test('counts steps of a pattern, a search and a list', () => {
  expect(countSteps(() => void /a/.test('bb'))).toEqual({ looked: 2, longestSubject: 2 })
  expect(countSteps(() => void 'bb'.replaceAll(/a/g, ''))).toEqual({ looked: 2, longestSubject: 2 })
  expect(countSteps(() => void 'abc'.indexOf('c'))).toEqual({ looked: 3, longestSubject: 0 })
  expect(countSteps(() => void [1, 2].find(() => false))).toEqual({ looked: 2, longestSubject: 0 })
})

const units = [
  '<', '<script', '<script>', '<style><script>', '</script', '<a', '< ', '>', ' ', '\n', '\u{a0}', 'İ<SCRIPT>',
  '1', '1.', 'retry in 1', 'retry in 1.1 ', 'try again in 1s1', 'resets at 1', 'wait 1s ', '1h', '1,', 'https://', 'http://a', 'max_tokens ', 'tokens',
  'exceeded your ', 'over the ', 'image', 'image does not match', 'credit ', 'token count ', 'prompt exceeds the ',
  'range of input', 'context ', 'prompt is too long: ', 'prompt is too long: 1', '1,000', 'maximum context length is ',
  'maximum context length is 9 tokens. ', 'you requested ', '1 in the ', '{', '[', '"', '\\"', '{"a":',
] as const // prettier-ignore

const labels = { name: 'the service', baseUrlSetting: 'URL', keySetting: 'KEY' }

describe.each(units)('a quarter of a megabyte of %j takes linear time', (unit) => {
  const text = worst(unit)

  test('as the body of an error, or in one', () => {
    const error = { type: text, code: text, message: text, metadata: { raw: text } }
    const bodies = [text, JSON.stringify({ error: { message: text } })]
    const others = [JSON.stringify({ error }), JSON.stringify({ detail: [text] })]
    for (const status of isWhole ? [200, 400, 403, 404, 429, 500, 503] : [429]) {
      for (const body of isDeep ? [...bodies, ...others] : bodies) {
        const answer = { status, headers: new Headers(), body, url: 'https://service.example', nowMs: 0 }
        expect(excess(() => void serviceError(answer, labels))).toEqual({})
        expect(serviceError(answer, labels).message.length).toBeLessThan(10_000)
      }
    }
  })

  test('as an error in a stream', () => {
    expect(excess(() => void streamError({ type: text, message: text, code: 429 }, null, 0))).toEqual({})
    expect(excess(() => void streamError(text, null, 0))).toEqual({})
  })

  test("as JSON, as a call's input, as a wait, as a header", () => {
    expect(excess(() => void parseJson(text))).toEqual({})
    expect(excess(() => createObjectScanner().feed(text))).toEqual({})
    expect(excess(() => void messageWaitMs(text, 0))).toEqual({})
    const headers = { get: () => text }
    expect(excess(() => void retryAfterMsOf(headers, 0))).toEqual({})
    expect(excess(() => void limitResetOf(headers, 0))).toEqual({})
  })
})

describe('a quarter of a megabyte of a stream takes linear time', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

  test.each(['\r', '\n', '\r\n', 'data', 'data:\r', 'data: x\r', ':', 'a', 'data: x\n', 'event: x\r\n'])(
    'of %j',
    (unit) => {
      const text = worst(unit)
      expect(excess(() => void createEventStream().feed(bytes(text)))).toEqual({})
      expect(excess(() => void createLineStream().feed(bytes(text)))).toEqual({})
      const stream = createEventStream()
      const lines = createLineStream()
      expect(
        excess(() => {
          for (let at = 0; at < text.length; at += 7) {
            stream.feed(bytes(text.slice(at, at + 7)))
            lines.feed(bytes(text.slice(at, at + 7)))
          }
        }),
      ).toEqual({})
    },
  )

  const seven = (index: number): string => index.toString(36)
  const many = Array.from({ length: 5_000 }, (_, index) => index)
  const request = requestOf()
  const chunkOf = (delta: JsonObject): JsonObject => ({ choices: [{ index: 0, delta }] })

  test.each<[string, (index: number) => JsonObject]>([
    ['calls', (index) => chunkOf({ tool_calls: [{ id: seven(index), function: { name: 'a', arguments: '{}' } }] })],
    ['calls at places of their own', (index) => chunkOf({ tool_calls: [{ index, function: { name: 'a' } }] })],
    ['empty calls', (index) => chunkOf({ tool_calls: [{ function: { name: `a${index}` } }] })],
    ['pieces of a call', () => chunkOf({ tool_calls: [{ index: 0, function: { name: 'a', arguments: ' {' } }] })],
    ['details', (index) => chunkOf({ reasoning_details: [{ type: 'a', index, text: 'b' }] })],
    ['texts and thoughts', (index) => chunkOf(index % 2 === 0 ? { content: 'a' } : { reasoning: 'a' })],
  ])('of chat completions: %s', (_name, eventOf) => {
    expect(
      excess(() => {
        const reader = new ChatReader('m', request, () => {})
        for (const index of many) if (reader.take(eventOf(index)).kind === 'violation') break
        reader.finish()
      }),
    ).toEqual({})
  })

  test.each<[string, (index: number) => JsonObject]>([
    ['calls', (index) => done(index, callItem('{}', { call_id: seven(index) }))],
    ['calls of one id', (index) => done(index, callItem('{}'))],
    ['pieces of a call', () => argumentsDelta(0, ' {')],
    [
      'complete arguments',
      (index) => ({
        type: 'response.function_call_arguments.done',
        output_index: 0,
        arguments: '{}'.repeat(index % 3),
      }),
    ],
    ['items that begin', (index) => added(index, message(''))],
    ['items of an unknown kind', (index) => done(index, { type: 'brand_new' })],
    ['the work of the service', (index) => done(index, { type: 'web_search_call', id: 'a' })],
    ['parts of a message', (index) => textDelta(0, 'a', index)],
    ['texts that end', (index) => ({ type: 'response.output_text.done', output_index: 0, text: seven(index) })],
    [
      'annotations',
      (index) => ({
        type: 'response.output_text.annotation.added',
        output_index: 0,
        annotation: { type: 'url_citation', url: 'u', start_index: 0, end_index: index },
      }),
    ],
    [
      'parts of a summary',
      (index) => ({ type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: index, delta: 'a' }),
    ],
    ['responses', (index) => ({ type: 'response.created', response: { id: seven(index) } })],
  ])('of the Responses API: %s', (_name, eventOf) => {
    expect(
      excess(() => {
        const reader = new ResponsesReader('m', request, () => {})
        for (const index of many) {
          const event = eventOf(index)
          if (reader.take(event, JSON.stringify(event)).kind === 'violation') break
        }
        reader.take(
          ended({ output: many.slice(0, 900).map((index) => callItem('{}', { call_id: `b${seven(index)}` })) }),
        )
        reader.finish()
      }),
    ).toEqual({})
  })

  test.each<[string, (index: number) => JsonObject]>([
    [
      'blocks',
      (index) => ({ type: 'content_block_start', index, content_block: { type: 'tool_use', id: 'a', name: 'b' } }),
    ],
    [
      'blocks that end',
      (index) =>
        index % 2 === 0
          ? { type: 'content_block_start', index: index / 2, content_block: { type: 'text' } }
          : { type: 'content_block_stop', index: (index - 1) / 2 },
    ],
    ['messages', () => ({ type: 'message_start', message: { content: [{ type: 'text', text: 'a' }] } })],
  ])('of the Messages API: %s', (_name, eventOf) => {
    expect(
      excess(() => {
        const reader = messagesReader(() => {})
        reader.take({ type: 'message_start', message: {} }, '{}')
        for (const index of many) {
          const event = eventOf(index)
          if (reader.take(event, JSON.stringify(event)).kind === 'violation') break
        }
        reader.finish()
      }),
    ).toEqual({})
  })

  test('of the AI SDK', () => {
    expect(
      excess(() => {
        const reader = new PartReader({ provider: 'p', modelId: 'm', messageId: 'i', emit() {} })
        for (const index of many) {
          for (const part of [
            ...textParts('a', seven(index)),
            { type: 'tool-input-start', id: `t${index}`, toolName: 'a' },
          ]) {
            if (reader.take(part).kind === 'violation') return void reader.finish()
          }
        }
        reader.finish()
      }),
    ).toEqual({})
  })
})
