import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider'
import type { LanguageModelV4, LanguageModelV4CallOptions } from 'ai-sdk-provider-4'
import type { ContentBlock, Json, ModelMessage } from '@halting/core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { inVersion3 } from '../src/ai-sdk/language-model.ts'
import type { AiSdkModel, CallOptions } from '../src/ai-sdk/language-model.ts'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { call, recordOf, requestOf } from './support/call.ts'
import { finish, scriptedParts, text, toolCall } from './support/scripted-parts.ts'

// Tests R-WIRE-12 and R-WIRE-12a of docs/spec: both versions of the AI SDK interface.

test('accepts models of both versions, with the options of each version', () => {
  const options: CallOptions = { prompt: [], maxOutputTokens: 1, headers: {} }
  expect(inVersion3(options)).toEqual(options)
  expectTypeOf<LanguageModelV3>().toExtend<AiSdkModel>()
  expectTypeOf<LanguageModelV4>().toExtend<AiSdkModel>()
  expectTypeOf<CallOptions>().toExtend<LanguageModelV4CallOptions>()
  expectTypeOf<ReturnType<typeof inVersion3>>().toExtend<LanguageModelV3CallOptions>()
})

const asked: ModelMessage = { role: 'user', content: 'hi' }

function scripted(parts: readonly unknown[], version: 'v3' | 'v4') {
  const model = scriptedParts(parts)
  return { calls: model.calls, model: fromAiSdk({ ...model, specificationVersion: version }) }
}

async function answerTo(parts: readonly unknown[]) {
  const { reply, error, updates } = await call(scripted(parts, 'v4').model)
  const apiEvents = updates.flatMap((update) => (update.type === 'api_event' ? [update.event] : []))
  return { reply, error, apiEvents }
}

async function promptIn(version: 'v3' | 'v4', messages: readonly ModelMessage[]) {
  const { calls, model } = scripted([...text('ok'), finish()], version)
  await call(model, { request: requestOf({ messages }) })
  return calls[0]?.prompt as unknown
}

const png = 'AAAA'
const address = 'https://example.com/a.png'
const odd = 'https://example.com/A%2fb?x={y}'

describe('files', () => {
  const images: ModelMessage = {
    role: 'user',
    content: [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      { type: 'image', source: { type: 'url', url: address } },
      { type: 'image', source: { type: 'url', url: 'gs://bucket/a b' } },
    ],
  }

  test('are tagged for version 4, and plain values for version 3', async () => {
    const opaque = new URL('gs://bucket/a b')
    const files = (...datas: unknown[]) => [
      {
        role: 'user',
        content: datas.map((data, index) => ({ type: 'file', data, mediaType: index === 0 ? 'image/png' : 'image/*' })),
      },
    ]
    expect(await promptIn('v4', [images])).toEqual(
      files(
        { type: 'data', data: png },
        { type: 'url', url: new URL(address) },
        { type: 'url', url: opaque, originalUrl: 'gs://bucket/a b' },
      ),
    )
    expect(await promptIn('v3', [images])).toEqual(files(png, new URL(address), opaque))
  })

  test.each<[string, unknown, Json]>([
    ['base64', { type: 'data', data: png }, { type: 'base64', media_type: 'image/png', data: png }],
    ['bytes', { type: 'data', data: new Uint8Array(3) }, { type: 'base64', media_type: 'image/png', data: png }],
    ['an address', { type: 'url', url: new URL(address) }, { type: 'url', url: address }],
    ['an address as it was written', { type: 'url', url: new URL(odd), originalUrl: odd }, { type: 'url', url: odd }],
  ])('from the model are read as %s', async (_what, data, source) => {
    const { reply } = await answerTo([{ type: 'file', mediaType: 'image/png', data }, finish()])
    expect(reply?.message.content).toMatchObject([{ type: 'image', source }])
  })

  test('break the stream without data', async () => {
    const parts = [...text('So'), { type: 'file', mediaType: 'image/png', data: { type: 'reference' } }, finish()]
    const { reply } = await answerTo(parts)
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'connection' })
  })
})

describe('provider-specific content', () => {
  const providerMetadata = { openai: { itemId: 'cmp_1', encryptedContent: 'e' } }
  const parts = [
    { type: 'custom', kind: 'openai.compaction', providerMetadata },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: png } },
    ...text('ok'),
    finish(),
  ]

  test('is stored, and sent back to the model that created it', async () => {
    const { reply } = await answerTo(parts)
    const { content } = reply!.message
    expect(content.map(({ type }) => type)).toEqual(['ai_sdk_custom', 'ai_sdk_reasoning_file', 'text'])
    const history: readonly ModelMessage[] = [asked, { role: 'assistant', content, by: 'test-model' }, asked]
    expect(await promptIn('v4', history)).toMatchObject([
      {},
      {
        role: 'assistant',
        content: [
          { type: 'custom', kind: 'openai.compaction', providerOptions: providerMetadata },
          { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: png } },
          { type: 'text', text: 'ok' },
        ],
      },
      {},
    ])
  })

  test('is omitted for another model, and for version 3', async () => {
    const content = (await answerTo(parts)).reply!.message.content
    const plain = { role: 'assistant', content: [{ type: 'text', text: 'ok' }] }
    const by = (id: string): readonly ModelMessage[] => [asked, { role: 'assistant', content, by: id }, asked]
    expect(await promptIn('v4', by('another'))).toMatchObject([{}, plain, {}])
    expect(await promptIn('v3', by('test-model'))).toMatchObject([{}, plain, {}])
    const only: readonly ContentBlock[] = content.slice(0, 2)
    expect(await promptIn('v3', [asked, { role: 'assistant', content: only }, asked])).toHaveLength(2)
  })

  test('is emitted but not stored if it only announces something', async () => {
    const { reply, apiEvents } = await answerTo([
      { type: 'custom', kind: 'anthropic.message_start', providerMetadata: { anthropic: { id: 'msg_1' } } },
      ...text('ok'),
      finish(),
    ])
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'ok' }])
    const own = apiEvents.flatMap((event) => (event.type === 'ai_sdk_part' ? [event.part] : []))
    expect(own).toMatchObject([{ kind: 'anthropic.message_start' }])
  })
})

test('does not emit pings', async () => {
  const { reply, apiEvents } = await answerTo([{ type: 'ping' }, ...text('ok'), { type: 'ping' }, finish()])
  expect(reply?.message.content).toEqual([{ type: 'text', text: 'ok' }])
  expect(apiEvents.map(({ type }) => type)).not.toContain('ai_sdk_part')
})

test('emits a plain-text input once, as the JSON of its call', async () => {
  const { apiEvents } = await answerTo([
    { type: 'tool-input-start', id: 'call_1', toolName: 'Read', inputEncoding: 'text' },
    { type: 'tool-input-delta', id: 'call_1', delta: 'SELECT "a"' },
    { type: 'tool-input-end', id: 'call_1' },
    toolCall(JSON.stringify('SELECT "a"')),
    finish('tool-calls'),
  ])
  const deltas = apiEvents.flatMap(({ type, delta }) => (type === 'content_block_delta' ? [delta] : []))
  expect(deltas).toEqual([{ type: 'input_json_delta', partial_json: JSON.stringify('SELECT "a"') }])
})

describe('a reply that the service interrupted', () => {
  test('preserves complete parts, and reports the failure', async () => {
    const { reply } = await answerTo([...text('So'), finish('interrupted')])
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'So' }])
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test('may be retried before anything was complete', async () => {
    const { error } = await answerTo([...text('So').slice(0, 2), finish('interrupted')])
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: true })
  })
})

describe('an error in a stream has no status, whatever the provider infers', () => {
  const marked = (data: Json) => {
    const error = { message: 'x', statusCode: 429, isRetryable: true, data }
    return Object.defineProperty(error, Symbol.for('vercel.ai.providerStreamError'), { value: true })
  }
  const quota = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your current quota' }

  test.each<[string, Json]>([
    ['under error', { type: 'error', error: quota }],
    ['in the response that failed', { type: 'response.failed', response: { error: quota } }],
    ['as it is', quota],
  ])('%s', async (_what, data) => {
    const { error } = await answerTo([{ type: 'error', error: marked(data) }])
    expect(recordOf(error)).toMatchObject({ kind: 'billing_error', status: null, billed: 'unknown', retryable: false })
  })

  test.each([
    ['throttlingException', 'rate_limit', true],
    ['serviceUnavailableException', 'overloaded', true],
    ['internalServerException', 'server_error', true],
    ['modelStreamErrorException', 'server_error', true],
    ['validationException', 'invalid_request', false],
  ])('maps %s of Bedrock to %s', async (name, kind, retryable) => {
    const { error } = await answerTo([{ type: 'error', error: marked({ [name]: { message: 'Hm.' } }) }])
    expect(recordOf(error)).toMatchObject({ kind, retryable, status: null, billed: 'unknown' })
  })

  test('does not break the stream if the package has no schema for it', async () => {
    const misfit = (value: Json) =>
      Object.assign(new Error(`Type validation failed: ${'x'.repeat(5_000)}`), {
        name: 'AI_TypeValidationError',
        value,
      })
    const said = await answerTo([
      { type: 'error', error: misfit({ error: { message: 'Slow down', code: 'slow_down' } }) },
    ])
    expect(recordOf(said.error)).toMatchObject({ kind: 'overloaded', status: null, billed: 'unknown' })
    const other = await answerTo([{ type: 'error', error: misfit({ error: 'Slow down', id: 'x' }) }])
    const { kind, message } = recordOf(other.error)
    expect([kind, message.length < 500]).toEqual(['connection', true])
  })

  test('has no status either if it comes first and is thrown as the error of the call', async () => {
    const thrown = Object.assign(new Error('Slow down'), {
      name: 'AI_APICallError',
      statusCode: 429,
      isRetryable: true,
      responseHeaders: { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_1' },
      responseBody: JSON.stringify({ type: 'rate_limit_error', message: 'Slow down' }),
    })
    const model = fromAiSdk({
      ...scriptedParts([]),
      specificationVersion: 'v4',
      doStream: () => Promise.reject(thrown),
    })
    const { error } = await call(model)
    expect(recordOf(error)).toMatchObject({
      kind: 'rate_limit',
      status: null,
      billed: 'unknown',
      requestId: 'req_1',
    })
  })
})

test.each<[unknown, string]>([
  [{ specificationVersion: 'v2', doStream() {} }, 'a model of version v2'],
  [{ specificationVersion: 'v5', doStream() {} }, 'a model of version v5'],
  [{ specificationVersion: 'v4' }, 'a model of version v4'],
  ['gpt-5', 'a value of type string'],
  [null, 'a value of type object'],
  [undefined, 'a value of type undefined'],
])('rejects %j at once', (given, what) => {
  expect(() => fromAiSdk(given as AiSdkModel)).toThrow(
    `expects a language model of the AI SDK (version v3 or v4), and received ${what}`,
  )
})
