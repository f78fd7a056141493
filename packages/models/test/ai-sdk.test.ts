import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { ConfigurationError, RunAbort } from '@halting/core'
import type { Json } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { call, recordOf, requestOf } from './support/call.ts'
import type { Called } from './support/call.ts'
import { finish, scriptedParts, text, throwingModel, toolCall, usage } from './support/scripted-parts.ts'

// The result of AI SDK parts. A1 to A4 of the message assembler and D1 to D3 of the part reader apply here.

function ask(parts: readonly unknown[]): Promise<Called> {
  return call(fromAiSdk(scriptedParts(parts)))
}

async function contentOf(parts: readonly unknown[]): Promise<readonly unknown[] | undefined> {
  const { reply } = await ask(parts)
  return reply?.message.content
}

function eventsOf(updates: readonly ModelUpdate[]): readonly unknown[] {
  return updates.flatMap((update) => (update.type === 'api_event' ? [update.event] : []))
}

function kindsOf(updates: readonly ModelUpdate[]): readonly string[] {
  return updates.map((update) => {
    if (update.type === 'api_event') return `event ${JSON.stringify(update.event.type)}`
    switch (update.type) {
      case 'block':
        return `block ${update.block.type}`
      case 'tool_input_start':
        return `tool_input_start ${update.callId} ${update.name}`
      case 'tool_input_delta':
        return `tool_input_delta ${update.json}`
      case 'text_delta':
      case 'thinking_delta':
        return `${update.type} ${update.text}`
    }
  })
}

const read = { type: 'tool_use', id: 'call_1', name: 'Read' }

describe('a reply', () => {
  test('equals the message of its parts', async () => {
    const { reply } = await ask([
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'resp_1', modelId: 'test-model-2026', timestamp: new Date(0) },
      ...text('Hello'),
      finish(),
    ])
    expect(reply).toEqual({
      message: {
        role: 'assistant',
        id: 'resp_1',
        model: 'test-model-2026',
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: {
          input_tokens: 7,
          output_tokens: 5,
          cache_creation_input_tokens: 1,
          cache_read_input_tokens: 2,
        },
      },
    })
  })

  test('gets its id from the request if the stream reports none', async () => {
    const { reply } = await ask([...text('Hello'), finish()])
    expect(reply?.message).toMatchObject({ id: 'msg_run-1/main/model:1', model: 'test-model' })
  })

  test('is emitted while it arrives, as Messages API events, deltas and blocks', async () => {
    const { updates } = await ask([...text('Hello'), finish()])
    expect(kindsOf(updates)).toEqual([
      'event "message_start"',
      'event "content_block_start"',
      'event "content_block_delta"',
      'text_delta Hello',
      'block text',
      'event "content_block_stop"',
      'event "message_delta"',
      'event "message_stop"',
    ])
    expect(eventsOf(updates).slice(1, 4)).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_stop', index: 0 },
    ])
  })

  test('keeps interleaved blocks apart, in the order in which they started', async () => {
    const content = await contentOf([
      { type: 'reasoning-start', id: '1' },
      { type: 'text-start', id: '1' },
      { type: 'tool-input-start', id: 'call_1', toolName: 'Read' },
      { type: 'reasoning-delta', id: '1', delta: 'I ' },
      { type: 'tool-input-delta', id: 'call_1', delta: '{"a"' },
      { type: 'text-delta', id: '1', delta: 'Look' },
      toolCall('{"a":1}'),
      { type: 'reasoning-delta', id: '1', delta: 'think' },
      { type: 'text-end', id: '1' },
      { type: 'reasoning-end', id: '1' },
      finish('tool-calls'),
    ])
    expect(content).toEqual([
      { type: 'thinking', thinking: 'I think', signature: '' },
      { type: 'text', text: 'Look' },
      { ...read, input: { a: 1 } },
    ])
  })

  test('may reuse an id for another block', async () => {
    expect(await contentOf([...text('one'), ...text('two'), finish()])).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ])
  })

  test('is complete with its finish, even with an open block and an open stream', async () => {
    const model = scriptedParts((controller) => {
      for (const part of [...text('one'), { type: 'text-start', id: '2' }, finish()]) controller.enqueue(part as never)
    })
    const { reply } = await call(fromAiSdk(model))
    expect(reply?.message.content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: '' },
    ])
  })

  test('lets its stream end by itself when it is complete, and cancels one that does not end', async () => {
    let resume = (): void => {}
    const stepping = (isEndless: boolean) => {
      let count = 0
      const parts = [...text('Hello'), finish(), { type: 'raw', rawValue: 1 }]
      return new Promise<string>((resolve) => {
        const stream = new ReadableStream({
          async pull(controller) {
            const part = parts[count++]
            if (part !== undefined) return controller.enqueue(part)
            if (isEndless) return new Promise<void>((wake) => void (resume = wake))
            controller.close()
            resolve('ended')
          },
          cancel: () => resolve('cancelled'),
        })
        void call(fromAiSdk({ ...scriptedParts([]), doStream: () => Promise.resolve({ stream }) }))
      })
    }
    expect(await stepping(false)).toBe('ended')
    expect(await stepping(true)).toBe('cancelled')
    resume()
  })

  test('emits parts that do not belong to a message, and only those', async () => {
    const warning = { type: 'unsupported', feature: 'topK' }
    const source = { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com/' }
    const { reply, updates } = await ask([
      { type: 'stream-start', warnings: [warning] },
      { type: 'raw', rawValue: {} },
      source,
      { type: 'something-new', size: 1n },
      { type: 'something-new', size: 1 },
      ...text('Hello'),
      finish(),
    ])
    expect(eventsOf(updates).slice(0, 3)).toEqual([
      { type: 'ai_sdk_part', part: { type: 'stream-start', warnings: [warning] } },
      { type: 'ai_sdk_part', part: source },
      { type: 'ai_sdk_part', part: { type: 'something-new', size: 1 } },
    ])
    expect(reply?.message.content).toMatchObject([
      { type: 'text', text: 'Hello' },
      { type: 'ai_sdk_sources', sources: [{ type: 'url', url: 'https://example.com/' }] },
    ])
  })
})

describe('a call', () => {
  test('is emitted while the model writes it, and exists once its own part has arrived', async () => {
    const { reply, updates } = await ask([
      { type: 'tool-input-start', id: 'call_1', toolName: 'Read' },
      { type: 'tool-input-delta', id: 'call_1', delta: '{"a"' },
      { type: 'tool-input-end', id: 'call_1' },
      toolCall('{"a":1}'),
      finish('tool-calls'),
    ])
    expect(reply?.message).toMatchObject({ content: [{ ...read, input: { a: 1 } }], stop_reason: 'tool_use' })
    expect(eventsOf(updates).slice(1, 5)).toEqual([
      { type: 'content_block_start', index: 0, content_block: { ...read, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ':1}' } },
      { type: 'content_block_stop', index: 0 },
    ])
  })

  test('is emitted completely if it was not announced', async () => {
    const { updates } = await ask([toolCall('{"a":1}'), finish('tool-calls')])
    expect(kindsOf(updates)).toEqual([
      'event "message_start"',
      'event "content_block_start"',
      'tool_input_start call_1 Read',
      'event "content_block_delta"',
      'tool_input_delta {"a":1}',
      'block tool_use',
      'event "content_block_stop"',
      'event "message_delta"',
      'event "message_stop"',
    ])
  })

  test('has the input of its own part, whatever was emitted before', async () => {
    const content = await contentOf([
      { type: 'tool-input-start', id: 'call_1', toolName: 'Read' },
      { type: 'tool-input-delta', id: 'call_1', delta: '{"b":2}' },
      toolCall('{"a":1}'),
      finish('tool-calls'),
    ])
    expect(content).toEqual([{ ...read, input: { a: 1 } }])
  })

  test('exists with an unreadable input if the reply ended normally', async () => {
    const { reply } = await ask([toolCall('{"a":'), ...text('so'), finish('tool-calls')])
    expect(reply?.message.content).toEqual([
      { ...read, input: { INVALID_JSON: '{"a":' } },
      { type: 'text', text: 'so' },
    ])
  })

  test.each([
    ['whose input was cut', [toolCall('{"a":'), finish('length')]],
    [
      'whose input was cut while another one was complete',
      [toolCall('{"a":'), toolCall('{"b":', { toolCallId: 'call_2' }), finish('length')],
    ],
    ['that has no input yet', [toolCall('{}'), finish('length')]],
    ['that never arrived', [{ type: 'tool-input-start', id: 'call_1', toolName: 'Read' }, finish('length')]],
    ['that a refusal cut', [toolCall(''), finish('content-filter')]],
  ])('is not reported when %s', async (_name, parts) => {
    const { reply, updates } = await ask([...text('Hello'), ...parts])
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'Hello' }])
    expect(updates.filter((update) => update.type === 'block')).toHaveLength(1)
  })

  test('exists without input if the reply ended normally or continued', async () => {
    const withoutInput = { ...read, input: {} }
    expect(await contentOf([toolCall(''), finish('tool-calls')])).toEqual([withoutInput])
    expect(await contentOf([toolCall('{}'), ...text('so'), finish('length')])).toEqual([
      withoutInput,
      { type: 'text', text: 'so' },
    ])
  })

  test('without a name calls a tool that does not exist', async () => {
    expect(await contentOf([toolCall('{"a":1}', { toolName: '' }), finish('tool-calls')])).toEqual([
      { ...read, name: 'unknown_tool', input: { a: 1 } },
    ])
  })

  test('that was announced but never sent breaks a complete reply', async () => {
    const { error } = await ask([{ type: 'tool-input-start', id: 'call_1', toolName: 'Read' }, finish('tool-calls')])
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: true })
  })
})

describe('provider metadata of a block', () => {
  test('is stored with it, wherever it occurred in the block', async () => {
    const content = await contentOf([
      { type: 'reasoning-start', id: '0', providerMetadata: { test: { itemId: 'rs_1', sealed: null } } },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { test: { signature: 'c2ln' } } },
      { type: 'reasoning-end', id: '0', providerMetadata: { test: { sealed: 'x' }, other: { a: 1 } } },
      toolCall('{"a":1}', { providerMetadata: { test: { thoughtSignature: 'dHM=' } } }),
      finish('tool-calls'),
    ])
    const origin = { api: 'ai_sdk', provider: 'test.chat' }
    expect(content).toEqual([
      {
        type: 'thinking',
        thinking: 'hm',
        signature: '',
        origin: { ...origin, metadata: { test: { itemId: 'rs_1', sealed: 'x', signature: 'c2ln' }, other: { a: 1 } } },
      },
      { ...read, input: { a: 1 }, origin: { ...origin, metadata: { test: { thoughtSignature: 'dHM=' } } } },
    ])
  })

  test('is in the update of the block, too', async () => {
    const { reply, updates } = await ask([toolCall('{"a":1}', { providerMetadata: { test: { s: 1 } } }), finish()])
    const block = updates.find((update) => update.type === 'block')?.block
    expect(block).toEqual(reply?.message.content[0])
    expect(block).toHaveProperty('origin.metadata', { test: { s: 1 } })
  })

  test('makes a server tool a call and a result that only the provider understands', async () => {
    const content = await contentOf([
      toolCall('{"q":"x"}', { providerExecuted: true, toolName: 'web_search' }),
      { type: 'tool-result', toolCallId: 'call_1', toolName: 'web_search', result: [0], preliminary: true },
      { type: 'tool-result', toolCallId: 'call_1', toolName: 'web_search', result: [{ url: 'u' }], isError: true },
      ...text('Found'),
      finish(),
    ])
    const origin = { api: 'ai_sdk', provider: 'test.chat' }
    expect(content).toEqual([
      { type: 'server_tool_use', id: 'call_1', name: 'web_search', input: { q: 'x' }, origin },
      {
        type: 'server_tool_result',
        tool_use_id: 'call_1',
        name: 'web_search',
        content: [{ url: 'u' }],
        is_error: true,
        origin,
      },
      { type: 'text', text: 'Found' },
    ])
  })

  test('converts files to images or documents', async () => {
    const origin = { api: 'ai_sdk', provider: 'test.chat' }
    expect(
      await contentOf([
        { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
        { type: 'file', mediaType: 'application/pdf', data: 'JVBERg==' },
        finish(),
      ]),
    ).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' }, origin },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' }, origin },
    ])
  })
})

describe('stop reasons', () => {
  test.each([
    ['stop', undefined, 'end_turn', 'tool_use'],
    ['stop', 'pause_turn', 'pause_turn', 'pause_turn'],
    ['stop', 'stop_sequence', 'stop_sequence', 'stop_sequence'],
    ['length', 'max_tokens', 'max_tokens', 'max_tokens'],
    ['length', 'model_context_window_exceeded', 'model_context_window_exceeded', 'model_context_window_exceeded'],
    ['content-filter', 'SAFETY', 'refusal', 'refusal'],
    ['tool-calls', undefined, 'end_turn', 'tool_use'],
    ['other', 'odd', 'end_turn', 'tool_use'],
    ['of the future', undefined, 'end_turn', 'tool_use'],
  ])('maps %s (%s) to %s, with calls %s', async (unified, raw, withText, withCalls) => {
    const end = finish(unified, { finishReason: { unified, raw } })
    const reasons = await Promise.all(
      [text('Hello'), [toolCall('{"a":1}')]].map(
        async (parts) => (await ask([...parts, end])).reply?.message.stop_reason,
      ),
    )
    expect(reasons).toEqual([withText, withCalls])
  })

  test('reports an error, and an unknown reason without content', async () => {
    const { error } = await ask([finish('error')])
    expect(recordOf(error)).toMatchObject({ kind: 'server_error', retryable: true, billed: 'unknown' })
    const { error: nothing } = await ask([finish('other', { finishReason: { unified: 'other', raw: 'odd' } })])
    expect(recordOf(nothing).message).toBe(
      'The service aborted its reply: it ended without content and without a reason (odd).',
    )
  })

  test('preserves a completed block before an error', async () => {
    const { reply } = await ask([...text('Hello'), finish('error')])
    expect(reply?.message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], stop_reason: null })
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'server_error' })
  })
})

describe('usage', () => {
  const usageOf = async (reported: unknown): Promise<readonly unknown[]> => {
    const { reply } = await ask([...text('Hello'), finish('stop', { usage: reported })])
    const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = reply!.message.usage
    const counts = [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens]
    return [...counts, reply?.billed ?? 'reported']
  }
  const nothing = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
  const { inputTokens, outputTokens } = usage

  test.each([
    ['reported', usage, [7, 5, 1, 2, 'reported']],
    [
      'as a total alone',
      { inputTokens: { ...nothing, total: 9, cacheRead: 4 }, outputTokens },
      [5, 5, 0, 4, 'reported'],
    ],
    [
      'without a total',
      { inputTokens: { ...nothing, noCache: 9 }, outputTokens: { reasoning: 2, text: 1 } },
      [9, 3, 0, 0, 'reported'],
    ],
    ['that does not add up', { inputTokens: { ...inputTokens, total: 20 }, outputTokens }, [17, 5, 1, 2, 'reported']],
    ['left out', undefined, [0, 0, 0, 0, 'unknown']],
    ['without counts', { inputTokens: nothing, outputTokens: { total: undefined } }, [0, 0, 0, 0, 'unknown']],
    ['of zeros', { inputTokens: { total: 0 }, outputTokens: { total: 0 } }, [0, 0, 0, 0, 'unknown']],
    [
      'of zeros that the service itself reported',
      { inputTokens: { total: 0 }, outputTokens: { total: 0 }, raw: { input_tokens: 0 } },
      [0, 0, 0, 0, 'reported'],
    ],
    [
      'with reasoning apart from the completion',
      { inputTokens, outputTokens, raw: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 35 } },
      [7, 25, 1, 2, 'reported'],
    ],
    ['without the output', { inputTokens, outputTokens: {} }, [0, 0, 0, 0, 'unknown']],
    [
      'with invalid numbers, which core checks',
      { inputTokens: { total: Number.NaN }, outputTokens: { total: -1 } },
      [Number.NaN, Number.NaN, 0, 0, 'reported'],
    ],
  ])('%s', async (_name, reported, expected) => {
    expect(await usageOf(reported)).toEqual(expected)
  })
})

describe('a stream that breaks', () => {
  const breakAfter = (parts: readonly unknown[], thrown: unknown) =>
    call(
      fromAiSdk(
        scriptedParts(
          (controller) => {
            for (const part of parts) controller.enqueue(part as never)
            // The parts are read before the error.
            setImmediate(() => controller.error(thrown))
          },
          { headers: { 'x-request-id': 'req_7' } },
        ),
      ),
    )
  const cut = new TypeError('terminated', { cause: Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }) })

  test('rejects before the first completed block, and may be retried', async () => {
    const { error } = await breakAfter(
      [
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'He' },
      ],
      cut,
    )
    expect(recordOf(error)).toMatchObject({
      kind: 'connection',
      retryable: true,
      billed: 'unknown',
      message: expect.stringMatching(/^test\.chat closed the connection \(UND_ERR_SOCKET\)/),
    })
  })

  test('preserves complete blocks and reports the failure', async () => {
    const { reply } = await breakAfter([...text('Hello'), { type: 'text-start', id: '1' }], new Error('odd'))
    expect(reply?.message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], stop_reason: null })
    expect(recordOf(reply?.streamError)).toEqual({
      kind: 'connection',
      message: 'The reply stream failed: odd',
      status: null,
      retryable: true,
      retryAfterMs: null,
      requestId: 'req_7',
      usage: null,
      billed: 'unknown',
    })
  })

  test('preserves complete blocks and reports the failure when it ends without an error', async () => {
    const { error } = await ask([{ type: 'text-start', id: '0' }])
    expect(recordOf(error).message).toBe('The reply stream failed: it ended before the reply was complete.')
  })

  test.each([
    ['no part', 'words'],
    ['a delta of an unknown block', { type: 'text-delta', id: '9', delta: 'x' }],
    ['an end of an unknown block', { type: 'reasoning-end', id: '9' }],
    ['a delta without text', { type: 'text-delta', id: '0', delta: 1 }],
    ['a block that begins twice', { type: 'text-start', id: '0' }],
    ['a call without an id', toolCall('{}', { toolCallId: '' })],
    ['a result without content', { type: 'tool-result', toolCallId: 'x', toolName: 'y' }],
    ['a file without a type', { type: 'file', data: 'AA==' }],
  ])('preserves complete blocks and reports the failure after %s', async (_name, part) => {
    const { error } = await ask([{ type: 'text-start', id: '0' }, part, finish()])
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test.each([
    ['words', 'overloaded', 'server_error', true],
    ['an error of the Messages API', { type: 'overloaded_error', message: 'Overloaded' }, 'overloaded', true],
    ['an error of OpenAI', { message: 'Too long', code: 'context_length_exceeded' }, 'prompt_too_long', false],
    ['an error of a router', { message: 'Provider returned error', code: 429 }, 'rate_limit', true],
    ['an exception', Object.assign(new Error('bad chunk'), { name: 'AI_JSONParseError' }), 'connection', true],
    ['nothing', undefined, 'server_error', true],
  ])('has the kind of an error part with %s', async (_name, error, kind, retryable) => {
    const { error: thrown } = await ask([{ type: 'error', error }, ...text('lost'), finish()])
    expect(recordOf(thrown)).toMatchObject({ kind, retryable, billed: 'unknown' })
  })

  test('reports the failure when a call is repeated, and preserves the first one', async () => {
    const { reply } = await ask([toolCall('{"a":1}'), toolCall('{"a":2}'), finish('tool-calls')])
    expect(reply?.message.content).toEqual([{ ...read, input: { a: 1 } }])
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test('is cancelled because of its content', async () => {
    const model = scriptedParts((controller) => controller.enqueue({ type: 'error', error: 'odd' }))
    await call(fromAiSdk(model))
    expect(model.cancelled()).toBe(1)
  })

  test('explains what to do about a request for approval', async () => {
    const { error } = await ask([
      toolCall('{"a":1}', { providerExecuted: true }),
      { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'call_1' },
      finish(),
    ])
    expect(recordOf(error)).toMatchObject({ kind: 'invalid_request', retryable: false, billed: 'unknown' })
  })
})

describe('what a model throws', () => {
  const thrownBy = async (thrown: unknown) => recordOf((await call(fromAiSdk(throwingModel(thrown)))).error)
  const named = (name: string, message = 'said', more: object = {}) =>
    Object.assign(new Error(message), { name, ...more })

  test.each([
    [named('AI_NoSuchModelError'), 'model_not_found', false, 'nothing'],
    [named('AI_LoadAPIKeyError'), 'authentication_failed', false, 'nothing'],
    [named('AI_LoadSettingError'), 'invalid_request', false, 'nothing'],
    [named('AI_InvalidPromptError'), 'invalid_request', false, 'nothing'],
    [named('AI_UnsupportedFunctionalityError', "'image parts' not supported"), 'image', false, 'nothing'],
    [named('AI_UnsupportedFunctionalityError', "'file URL data' not supported"), 'image', false, 'nothing'],
    [named('AI_UnsupportedFunctionalityError', "'file mime type: text/x' not supported"), 'image', false, 'nothing'],
    [named('AI_UnsupportedFunctionalityError', "'profiles' not supported"), 'invalid_request', false, 'nothing'],
    [named('AI_EmptyResponseBodyError'), 'connection', true, 'unknown'],
    [named('TimeoutError'), 'timeout', true, 'unknown'],
    [named('Error', 'fetch failed'), 'connection', true, 'unknown'],
    [
      named('GatewayRateLimitError', 'slow down', { statusCode: 429, isRetryable: true }),
      'rate_limit',
      true,
      'nothing',
    ],
    [named('AI_APICallError', 'locked', { statusCode: 423, isRetryable: true }), 'invalid_request', true, 'nothing'],
    [named('Error', 'odd'), 'unknown', false, 'unknown'],
    ['words', 'unknown', false, 'unknown'],
    [undefined, 'unknown', false, 'unknown'],
  ])('becomes a typed error: %s', async (thrown, kind, retryable, billed) => {
    expect(await thrownBy(thrown)).toMatchObject({ kind, retryable, billed })
  })

  test('becomes a typed error for a response that is not a stream', async () => {
    const model = { ...scriptedParts([]), doStream: () => Promise.resolve({} as never) }
    expect(recordOf((await call(fromAiSdk(model))).error)).toMatchObject({ kind: 'unknown', retryable: false })
  })

  test('is rejected at once for something that is not a model', () => {
    const older = { ...scriptedParts([]), specificationVersion: 'v2' }
    // As JavaScript passes it.
    expect(() => fromAiSdk(older as never)).toThrow(ConfigurationError)
    expect(() => fromAiSdk('openai/gpt-5' as never)).toThrow(ConfigurationError)
  })
})

describe('an abort', () => {
  const reason = new RunAbort('user')

  test('rejects with its reason at once before an unresponsive model responds, and cancels a late response', async () => {
    const controller = new AbortController()
    type Answer = { stream: ReadableStream<LanguageModelV3StreamPart> }
    let answer = (_answer: Answer): void => {}
    let isCancelled = (): void => {}
    const cancelled = new Promise<void>((resolve) => void (isCancelled = resolve))
    const late = new Promise<Answer>((resolve) => void (answer = resolve))
    const deaf = { ...scriptedParts([]), doStream: () => late }
    const asked = call(fromAiSdk(deaf), { signal: controller.signal })
    controller.abort(reason)
    expect((await asked).error).toBe(reason)
    answer({ stream: new ReadableStream({ cancel: () => isCancelled() }) })
    await cancelled
  })

  test('rejects with its reason at once during an unresponsive stream, cancels it and emits nothing more', async () => {
    const controller = new AbortController()
    const model = scriptedParts((stream) => {
      for (const part of text('Hello')) stream.enqueue(part as never)
    })
    const { error, updates } = await call(fromAiSdk(model), {
      signal: controller.signal,
      onUpdate: (update) => {
        if (update.type === 'api_event' && update.event.type === 'content_block_delta') controller.abort(reason)
      },
    })
    expect(error).toBe(reason)
    expect(kindsOf(updates).at(-1)).toBe('event "content_block_delta"')
    expect(model.cancelled()).toBe(1)
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true)
  })

  test('before the call prevents it', async () => {
    const model = scriptedParts([])
    const { error } = await call(fromAiSdk(model), { signal: AbortSignal.abort(reason) })
    expect(error).toBe(reason)
    expect(model.calls).toEqual([])
  })
})

describe('silence', () => {
  test('of the stream is a timeout, and cancels it', async () => {
    const model = scriptedParts(() => {})
    const { error } = await call(fromAiSdk(model, { idleTimeoutMs: 20 }))
    expect(recordOf(error)).toMatchObject({
      kind: 'timeout',
      retryable: true,
      billed: 'unknown',
      message: 'The stream was silent for 20 ms.',
    })
    expect(model.cancelled()).toBe(1)
  })

  test('before the response is a timeout, too', async () => {
    const model = { ...scriptedParts([]), doStream: () => new Promise<never>(() => {}) }
    const { error } = await call(fromAiSdk(model, { requestTimeoutMs: 20 }))
    expect(recordOf(error)).toMatchObject({ kind: 'timeout', message: 'The response did not start within 20 ms.' })
  })

  test('after a completed block preserves it', async () => {
    const model = scriptedParts((stream) => {
      for (const part of text('Hello')) stream.enqueue(part as never)
    })
    const { reply } = await call(fromAiSdk(model, { idleTimeoutMs: 20 }))
    expect(reply?.message.content).toEqual([{ type: 'text', text: 'Hello' }])
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'timeout' })
  })
})

// F4
describe('an endless stream of available parts', () => {
  // The limit ends the test if neither a timer nor an abort gets a turn.
  function endless(part: object) {
    const end = performance.now() + 3_000
    const stream = new ReadableStream<LanguageModelV3StreamPart>({
      pull: (parts) => (performance.now() < end ? parts.enqueue(part as never) : parts.error(new Error('endless'))),
    })
    return { ...scriptedParts([]), doStream: () => Promise.resolve({ stream }) }
  }

  test('times out if it has no content', async () => {
    const { error } = await call(fromAiSdk(endless({ type: 'raw', rawValue: 1 }), { requestTimeoutMs: 20 }))
    expect(recordOf(error)).toMatchObject({ kind: 'timeout', message: 'Only keep-alive events arrived for 20 ms.' })
  })

  test('ends when the run is aborted', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(reason), 20)
    const model = endless({ type: 'source', sourceType: 'url', id: 's', url: 'https://a.example' })
    expect((await call(fromAiSdk(model), { signal: controller.signal })).error).toBe(reason)
  })

  const reason = new RunAbort('user')
})

describe('the sizes of a model', () => {
  const figures = (options?: Parameters<typeof fromAiSdk>[1], modelId = 'test-model'): Json => {
    const { id, contextWindow, maxOutputTokens, defaultOutputTokens } = fromAiSdk(
      { ...scriptedParts([]), modelId },
      options,
    )
    return [id, contextWindow, maxOutputTokens, defaultOutputTokens ?? null]
  }

  test('come from the options, the snapshot, or careful defaults', () => {
    expect(figures()).toEqual(['test-model', 128_000, 16_384, 16_384])
    expect(figures({}, 'claude-sonnet-5-5')).toEqual(['claude-sonnet-5-5', 1_000_000, 128_000, 32_000])
    expect(figures({ id: 'anthropic/claude-haiku-4-5' })).toEqual([
      'anthropic/claude-haiku-4-5',
      200_000,
      64_000,
      32_000,
    ])
    expect(figures({ contextWindow: 1, maxOutputTokens: 2, defaultOutputTokens: 3 })).toEqual(['test-model', 1, 2, 2])
  })
})

test('passes a request on with its cap, tools, headers and options', async () => {
  const model = scriptedParts([...text('Hello'), finish()])
  const adapted = fromAiSdk(model, { headers: { 'X-Team': 'a' }, providerOptions: { test: { effort: 'low' } } })
  const tools = [{ name: 'Read', description: 'Reads', input_schema: { type: 'object' } }]
  await call(adapted, { request: requestOf({ tools, toolChoice: 'none', idempotencyKey: 'läufe/1' }) })
  await call(adapted)
  const [withTools, without] = model.calls.map(({ abortSignal: _, ...options }) => options)
  expect(withTools).toEqual({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    maxOutputTokens: 100,
    tools: [{ type: 'function', name: 'Read', description: 'Reads', inputSchema: { type: 'object' } }],
    toolChoice: { type: 'none' },
    headers: { 'idempotency-key': 'l%e4ufe/1', 'x-team': 'a' },
    providerOptions: { test: { effort: 'low' } },
  })
  expect(without).not.toHaveProperty('tools')
  expect(without).not.toHaveProperty('toolChoice')
})
