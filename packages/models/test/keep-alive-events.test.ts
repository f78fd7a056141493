// Tests R-WIRE-4a and R-WIRE-4b of docs/spec: only progress of the reply keeps a call alive.
import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { textOf } from '@halting/core/adapters'
import type { JsonObject, Model } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import { call, recordOf } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import {
  added,
  argumentsDelta,
  call as callItem,
  created,
  done,
  message as item,
  textDelta,
} from './support/responses-read.ts'

const limits = { requestTimeoutMs: 250, idleTimeoutMs: 60_000, endTimeoutMs: 150 }
/** For tests in which something other than silence ends the reply, however slow the machine is. */
const patient = { ...limits, requestTimeoutMs: 60_000 }
const noNews = 'timeout: Only keep-alive events arrived for 250 ms.'

/** A service that starts with these events and then repeats the others forever. */
async function repeating(begun: readonly JsonObject[], again: readonly JsonObject[]): Promise<string> {
  const frames = (events: readonly JsonObject[]): string =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const server = await startRawServer((response) => {
    beginStream(response)
    response.write(frames(begun))
    const timer = setInterval(() => response.write(frames(again)), 10)
    response.once('close', () => clearInterval(timer))
  })
  return server.url
}

/** The same event, each time with another number. */
async function numbering(again: (index: number) => readonly JsonObject[]): Promise<string> {
  const server = await startRawServer((response) => {
    beginStream(response)
    response.write(`data: ${JSON.stringify(start)}\n\n`)
    let index = 0
    const timer = setInterval(() => {
      for (const event of again(index++)) response.write(`data: ${JSON.stringify(event)}\n\n`)
    }, 10)
    response.once('close', () => clearInterval(timer))
  })
  return server.url
}

const usage = { input_tokens: 5, output_tokens: 1 }
const start = { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], usage } }
const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const delta = (fields: JsonObject): JsonObject => ({ type: 'content_block_delta', index: 0, delta: fields })
const text = delta({ type: 'text_delta', text: 'Hi' })
const stop = { type: 'content_block_stop', index: 0 }
const reason = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }
const call1 = { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'a', name: 'b' } }

const call0 = { ...call1, index: 0 }

const chunk = (choice: JsonObject, fields: JsonObject = {}): JsonObject => ({
  choices: [{ index: 0, ...choice }],
  ...fields,
})
const said = chunk({ delta: { content: 'Hi' } })
const piece = (fields: JsonObject): JsonObject => chunk({ delta: { tool_calls: [{ index: 0, ...fields }] } })
const begun = piece({ id: 'a', function: { name: 'b', arguments: '{' } })
const named = piece({ id: 'a', function: { name: 'b', arguments: '{"c":1}' } })

async function timedOut(model: Model): Promise<string> {
  const { error, reply } = await call(model)
  const failure = error === undefined ? reply?.streamError : error
  const { kind, message } = recordOf(failure)
  return `${kind}: ${message}`
}

describe('keep-alive events do not extend a reply', () => {
  test.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    ['events of an unknown name', [start], [{ type: 'brand_new', index: 0 }]],
    ['deltas of an unknown name', [start, block], [delta({ type: 'brand_new', text: 'x' })]],
    ['deltas without a text', [start, block], [delta({ type: 'text_delta', text: '' })]],
    [
      'pieces of an input without a text',
      [start, call1],
      [{ ...delta({ type: 'input_json_delta', partial_json: '' }), index: 1 }],
    ],
    [
      'the same signature',
      [start, { ...block, content_block: { type: 'thinking', thinking: '' } }],
      [delta({ type: 'signature_delta', signature: 's' })],
    ],
    ['usage without a reason', [start, block, text], [{ type: 'message_delta', delta: {}, usage }]],
    ['the end of a block that has ended', [start, block, text, stop], [stop]],
    [
      'white space in an input',
      [start, call1],
      [{ ...delta({ type: 'input_json_delta', partial_json: ' \n' }), index: 1 }],
    ],
    ['empty citations', [start, block], [delta({ type: 'citations_delta', citation: {} })]],
  ])('Messages API: %s', async (_name, begun, again) => {
    const url = await repeating(begun, again)
    const model = anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: url, ...limits })
    expect(await timedOut(model)).toBe(noNews)
  })

  test.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    ['chunks of an unknown kind', [said], [{ object: 'brand_new', choices: [] }]],
    ['chunks without a text', [said], [chunk({ delta: { content: '' } })]],
    ['usage', [said], [{ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } }]],
    ['empty reasoning details', [said], [chunk({ delta: { reasoning_details: [{}] } })]],
    ['pieces of a call without an input', [named], [piece({ function: { arguments: '' } })]],
    ['white space in an input', [begun], [piece({ function: { arguments: ' \n' } })]],
    ['the same call', [named], [named]],
  ])('chat completions: %s', async (_name, begun, again) => {
    const url = await repeating(begun, again)
    const model = openaiCompatible({ model: 'test', baseUrl: url, ...limits })
    expect(await timedOut(model)).toBe(noNews)
  })

  const partDone = (said: string): JsonObject => ({ type: 'response.output_text.done', output_index: 0, text: said })
  const searching = { type: 'response.web_search_call.searching', output_index: 0 }
  test.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    ['events of an unknown name', [created], [{ type: 'response.brand_new', output_index: 0 }, searching]],
    ['the beginning of the response', [created], [created, { ...created, type: 'response.in_progress' }]],
    ['deltas without a text', [created, textDelta(0, 'Hi')], [textDelta(0, '')]],
    ['texts that end in turn as one and as another', [textDelta(0, 'Hi')], [partDone('Ho'), partDone('He')]],
    ['white space in an input', [added(0, callItem('{'))], [argumentsDelta(0, ' \n')]],
    ['the end of an item that has ended', [done(0, item('Hi'))], [done(0, item('Ho'))]],
    [
      'an invalid annotation',
      [textDelta(0, 'Hi')],
      [{ type: 'response.output_text.annotation.added', output_index: 0 }],
    ],
  ])('Responses API: %s', async (_name, begun, again) => {
    const url = await repeating(begun, again)
    const model = openaiResponses({ model: 'test', apiKey: 'key', baseUrl: url, ...limits })
    expect(await timedOut(model)).toBe(noNews)
  })

  test('in the Responses API: empty messages and repeated responses', async () => {
    const items = await numbering((index) => [added(index, item('')), done(index, item(''))])
    const named = { model: 'test', apiKey: 'key', ...limits }
    expect(await timedOut(openaiResponses({ ...named, baseUrl: items }))).toMatch(/^timeout: Only keep-alive events/)
    const responses = await numbering((index) => [{ type: 'response.created', response: { id: `resp_${index}` } }])
    expect(await timedOut(openaiResponses({ ...named, ...patient, baseUrl: responses }))).toBe(
      'connection: The reply stream failed: message after message started.',
    )
  })

  test('in the Messages API: empty blocks', async () => {
    const url = await numbering((index) => [
      { ...block, index },
      { ...stop, index },
    ])
    const model = anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: url, ...limits })
    expect(await timedOut(model)).toBe(noNews)
  })

  test('in the Messages API: repeated messages', async () => {
    const url = await numbering(() => [start, call0])
    const model = anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: url, ...patient })
    expect(await timedOut(model)).toBe('connection: The reply stream failed: message after message started.')
  })

  const opened = { type: 'text-start', id: '1' } as const
  const nothing = { type: 'text-delta', id: '1', delta: '' } as const
  test.each<[string, readonly LanguageModelV3StreamPart[], LanguageModelV3StreamPart]>([
    ['raw parts', [opened], { type: 'raw', rawValue: {} }],
    ['texts without a text', [opened], nothing],
    ['who answers', [opened], { type: 'response-metadata', id: 'x' }],
    // A provider of a later version.
    ['parts of an unknown kind', [opened], { type: 'brand-new' } as unknown as LanguageModelV3StreamPart],
  ])('AI SDK: %s', async (_name, begun, again) => {
    const model = fromAiSdk(partsModel(begun, again), limits)
    expect(await timedOut(model)).toBe(noNews)
  })
})

describe('waits no longer after the stop reason', () => {
  test.each<[string, readonly JsonObject[]]>([
    ['the reason repeated', [reason]],
    ['usage', [{ type: 'message_delta', usage }]],
    ['deltas', [text]],
    ['pings', [{ type: 'ping' }]],
  ])('Messages API: %s', async (_name, again) => {
    const url = await repeating([start, block, text, reason], again)
    const model = anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: url, ...patient })
    const { reply } = await call(model)
    expect(reply?.message.stop_reason).toBe('end_turn')
  })

  test.each<[string, JsonObject]>([
    ['the reason repeated', chunk({ delta: {}, finish_reason: 'stop' })],
    ['usage', { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } }],
    ['text', said],
  ])('chat completions: %s', async (_name, again) => {
    const url = await repeating([said, chunk({ delta: {}, finish_reason: 'stop' })], [again])
    const model = openaiCompatible({ model: 'test', baseUrl: url, ...patient })
    const { reply } = await call(model)
    expect(reply?.message.stop_reason).toBe('end_turn')
  })

  test('reads to the end if a service sends a reason with every chunk', async () => {
    const every = chunk({ delta: { content: 'a' }, finish_reason: 'stop' })
    const server = await startRawServer((response) => {
      beginStream(response)
      let count = 0
      const timer = setInterval(() => {
        response.write(`data: ${JSON.stringify(every)}\n\n`)
        if (++count === 20) response.end('data: [DONE]\n\n')
      }, 60)
      response.once('close', () => clearInterval(timer))
    })
    // All chunks together take longer than this.
    const options = { ...patient, endTimeoutMs: 1_000 }
    const { reply } = await call(openaiCompatible({ model: 'test', baseUrl: server.url, ...options }))
    expect(textOf(reply?.message.content ?? [])).toBe('a'.repeat(20))
  })
})

/** A model of the AI SDK that starts with these parts and then repeats the other one forever. */
function partsModel(begun: readonly LanguageModelV3StreamPart[], again: LanguageModelV3StreamPart): LanguageModelV3 {
  const doStream = async ({ abortSignal }: { readonly abortSignal?: AbortSignal }) => {
    let timer: NodeJS.Timeout | undefined
    const stream = new ReadableStream<LanguageModelV3StreamPart>({
      start(controller) {
        for (const part of begun) controller.enqueue(part)
        timer = setInterval(() => controller.enqueue(again), 10)
        abortSignal?.addEventListener('abort', () => clearInterval(timer))
      },
      cancel: () => clearInterval(timer),
    })
    return { stream }
  }
  return {
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'test',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not asked')),
    doStream,
  }
}

test.each(['messages', 'chat'] as const)('breaks an endless reply of %s when it is too long', async (protocol) => {
  const url = await repeating(protocol === 'messages' ? [start, block] : [], protocol === 'messages' ? [text] : [said])
  const options = { model: 'test', apiKey: 'key', baseUrl: url, ...patient, maxEventLength: 500 }
  const { error } = await call(protocol === 'messages' ? anthropic(options) : openaiCompatible(options))
  expect(recordOf(error).message).toBe('The reply stream failed: the reply was longer than the limit.')
})
