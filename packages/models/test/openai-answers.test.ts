// Responses with status 200 that are not, or not only, the requested stream.
import type { JsonObject } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { openaiCompatible } from '../src/openai/openai.ts'
import { call, recordOf } from './support/call.ts'
import type { Called } from './support/call.ts'
import { chunk, finish, piece, usageChunk } from './support/chat-read.ts'
import { chatBytes } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

describe('a response with status 200 that is not a stream', () => {
  const answer = async (body: unknown): Promise<Called> => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'req_1' })
      response.end(JSON.stringify(body))
    })
    return call(openaiCompatible({ model: 'm', baseUrl: server.url, apiKey: 'key' }))
  }

  test('is the whole reply of a service without streaming', async () => {
    const { reply, updates } = await answer({
      id: 'c1',
      model: 'm',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Yes.',
            reasoning_content: 'Hm.',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'Read', arguments: '{"p":1}' } },
              { id: 'b', type: 'function', function: { name: 'List', arguments: '{}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    })
    expect(reply).toEqual({
      message: {
        role: 'assistant',
        id: 'c1',
        model: 'm',
        content: [
          {
            type: 'thinking',
            thinking: 'Hm.',
            signature: '',
            origin: { api: 'chat_completions', field: 'reasoning_content' },
          },
          { type: 'text', text: 'Yes.' },
          { type: 'tool_use', id: 'a', name: 'Read', input: { p: 1 } },
          { type: 'tool_use', id: 'b', name: 'List', input: {} },
        ],
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    })
    expect(updates.filter(({ type }) => type === 'block')).toHaveLength(4)
  })

  test('contains no call if it was cut inside one', async () => {
    const message = { content: 'Yes.', tool_calls: [{ id: 'a', function: { name: 'Read', arguments: '{"p":' } }] }
    const { reply } = await answer({ id: 'c1', model: 'm', choices: [{ message, finish_reason: 'length' }] })
    expect(reply).toMatchObject({
      billed: 'unknown',
      message: { content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'max_tokens' },
    })
  })

  test.each([
    [{ error: { message: 'Too many.', code: 429 } }, 'rate_limit', true],
    [{ error: { message: 'Slow down.', code: 'rate_limit_exceeded', type: 'requests' } }, 'rate_limit', true],
    [{ error: 'boom' }, 'server_error', true],
    [{ object: 'error', message: 'No such field', type: 'BadRequestError', code: 400 }, 'invalid_request', false],
    [{ error: { message: 'No money.', code: 'insufficient_quota' } }, 'billing_error', false],
    [{ choices: [{ finish_reason: 'error', error: { code: 429, message: 'Too many.' } }] }, 'rate_limit', true],
  ])('is reported if it contains an error: %j', async (body, kind, retryable) => {
    expect(recordOf((await answer(body)).error)).toMatchObject({
      kind,
      retryable,
      status: 200,
      billed: 'unknown',
      requestId: 'req_1',
    })
  })
})

describe('an error in the middle of a stream', () => {
  const half = chunk({ content: 'Yes' })
  const whole = piece({ index: 0, id: 'a' }, { name: 'Read', arguments: '{"p":1}' })
  const stream = async (bytes: Buffer | string): Promise<Called> => {
    const server = await startRawServer((response) => {
      beginStream(response, { 'x-request-id': 'req_2' })
      response.end(bytes)
    })
    return call(openaiCompatible({ model: 'm', baseUrl: server.url, apiKey: 'key' }))
  }
  const after = (first: readonly JsonObject[], data: string, event = ''): Promise<Called> =>
    stream(`${chatBytes(first, '\n', '').toString()}${event}data: ${data}\n\n`)

  test.each([
    ['{"error":{"message":"boom","type":"server_error","code":null}}', '', 'server_error', true],
    ['{"error":{"message":"Slow down.","code":"rate_limit_exceeded","type":"requests"}}', '', 'rate_limit', true],
    ['{"error":{"message":"too long","code":"context_length_exceeded"}}', '', 'prompt_too_long', false],
    ['{"error":{"message":"No money.","code":"insufficient_quota"}}', '', 'billing_error', false],
    ['{"error":{"message":"Bad gateway","code":502}}', '', 'server_error', true],
    ['{"error":{"message":"gone","code":"503","type":"overloaded"}}', 'event: error\n', 'server_error', true],
    ['{"message":"The model is overloaded","code":503}', 'event: error\n', 'overloaded', true],
    ['upstream went away', 'event: error\n', 'server_error', true],
    ['{"object":"error","message":"boom","type":"BadRequestError","code":400}', '', 'invalid_request', false],
    [
      '{"id":"c","error":{"code":429,"message":"Too many."},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}',
      '',
      'rate_limit',
      true,
    ],
    [
      '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":429,"message":"Too many."}}]}',
      '',
      'rate_limit',
      true,
    ],
    [
      '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}',
      '',
      'server_error',
      true,
    ],
  ])('rejects before anything was complete: %s', async (data, event, kind, retryable) => {
    const { error } = await after([half], data, event)
    expect(recordOf(error)).toMatchObject({ kind, retryable, status: null, billed: 'unknown', requestId: 'req_2' })
  })

  test('preserves a complete call, and reports the error', async () => {
    const { reply } = await after([half, whole], '{"error":{"message":"boom","code":502}}')
    expect(reply?.message.content).toEqual([
      { type: 'text', text: 'Yes' },
      { type: 'tool_use', id: 'a', name: 'Read', input: { p: 1 } },
    ])
    expect(recordOf(reply?.streamError)).toMatchObject({
      kind: 'server_error',
      message: 'The service aborted its reply: boom.',
    })
  })

  test('changes nothing after the finish reason', async () => {
    const { reply } = await after([whole, finish('tool_calls'), usageChunk], '{"error":{"message":"boom"}}')
    expect(reply?.streamError).toBeUndefined()
    expect(reply?.message).toMatchObject({ stop_reason: 'tool_use', usage: { input_tokens: 10, output_tokens: 5 } })
  })

  test('breaks the stream if it is not JSON, and may be retried', async () => {
    expect(recordOf((await after([half], '<html>')).error)).toMatchObject({
      kind: 'connection',
      retryable: true,
      message: 'The reply stream failed: it contained an event that is not of the chat completions API.',
    })
  })

  test('is not seen in comments, empty data and event names', async () => {
    const { reply } = await stream(
      `: OPENROUTER PROCESSING\n\ndata:\n\nevent: message\n${chatBytes([half, finish('stop'), usageChunk]).toString()}`,
    )
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'Yes' }])
  })
})
