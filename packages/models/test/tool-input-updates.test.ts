// Every adapter reports the input of a call as it is written: the pieces add up to the input of the complete block.
import type { ContentBlock, Json, JsonObject } from '@halting/core'
import { isJsonObject, type ModelUpdate } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { openaiCompatible, openaiResponses } from '../src/index.ts'
import { withRedactedStream } from '../src/service/redacted-stream.ts'
import { call, modelAt } from './support/call.ts'
import { chatBytes, chatRecordings } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, recordings } from './support/recordings.ts'
import { responsesBytes } from './support/responses-expected.ts'
import { responsesRecordings } from './support/responses-recordings.ts'
import { scriptedParts } from './support/scripted-parts.ts'

async function serve(bytes: Buffer): Promise<string> {
  const { url } = await startRawServer((response) => {
    beginStream(response)
    response.end(bytes)
  })
  return url
}

interface Streamed {
  readonly callId: string
  readonly name: string
  readonly json: string
}

/** The streamed inputs of the calls, by the index of their blocks. */
function streamedIn(updates: readonly ModelUpdate[]): ReadonlyMap<number, Streamed> {
  const inputs = new Map<number, Streamed>()
  for (const update of updates) {
    if (update.type === 'tool_input_start') inputs.set(update.index, { ...update, json: '' })
    if (update.type !== 'tool_input_delta') continue
    // A piece without a start belongs to no call.
    const begun = inputs.get(update.index) ?? { callId: 'none', name: 'none', json: '' }
    inputs.set(update.index, { ...begun, json: begun.json + update.json })
  }
  return inputs
}

interface CallBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: object
}

const isCall = (block: ContentBlock): block is ContentBlock & CallBlock => block.type === 'tool_use'

/** Compares the streamed pieces with the complete calls, and returns the number of calls. */
function compareCalls(updates: readonly ModelUpdate[]): number {
  const streamed = streamedIn(updates)
  let calls = 0
  const givenWhole = new Map<unknown, unknown>()
  for (const update of updates) {
    if (update.type === 'api_event')
      for (const block of beginningsIn(update.event)) givenWhole.set(block.id, block.input)
    if (update.type !== 'block' || !isCall(update.block)) continue
    calls++
    const { id, name, input } = update.block
    const { callId, name: begunAs, json } = streamed.get(update.index) ?? {}
    expect({ callId, name: begunAs }).toEqual({ callId: id, name })
    // Calls without an input, and those whose input is sent at the start, have no pieces. Invalid JSON is stored in its
    // own field.
    const written: unknown =
      json === '' ? (givenWhole.get(id) ?? {}) : 'INVALID_JSON' in input ? input : JSON.parse(json ?? '')
    expect(written).toEqual(input)
  }
  return calls
}

/** The blocks that an event starts. Some are complete in the start of the message. */
function beginningsIn({ content_block: block, message }: JsonObject): readonly JsonObject[] {
  const content = isJsonObject(message) && Array.isArray(message.content) ? (message.content as readonly Json[]) : []
  return [block, ...content].filter(isJsonObject)
}

const hasCall = (recorded: unknown, mark: string): boolean => JSON.stringify(recorded).includes(mark)

describe('the deltas of an input', () => {
  test('add up to the input of the call: Messages API', async () => {
    let calls = 0
    for (const { events } of recordings.filter((each) => hasCall(each.events, '"type":"tool_use"'))) {
      const { updates } = await call(modelAt(await serve(bytesOf(events))))
      calls += compareCalls(updates)
    }
    expect(calls).toBeGreaterThan(2)
  })

  test('add up to the input of the call: chat completions', async () => {
    let calls = 0
    for (const { chunks } of chatRecordings.filter((each) => hasCall(each.chunks, 'tool_calls'))) {
      const model = openaiCompatible({ model: 'asked', baseUrl: await serve(chatBytes(chunks)), apiKey: 'key' })
      calls += compareCalls((await call(model)).updates)
    }
    expect(calls).toBeGreaterThan(2)
  })

  test('add up to the input of the call: the Responses API', async () => {
    let calls = 0
    for (const { events } of responsesRecordings.filter((each) => hasCall(each.events, 'function_call'))) {
      const model = openaiResponses({ model: 'asked', baseUrl: await serve(responsesBytes(events)), apiKey: 'key' })
      calls += compareCalls((await call(model)).updates)
    }
    expect(calls).toBeGreaterThan(2)
  })

  test('add up to the input of the call: a package of the AI SDK', async () => {
    const input = '{"path":"a","line":12}'
    const { updates } = await call(
      fromAiSdk(
        scriptedParts([
          { type: 'tool-input-start', id: 'call_1', toolName: 'Read' },
          { type: 'tool-input-delta', id: 'call_1', delta: input.slice(0, 9) },
          { type: 'tool-input-delta', id: 'call_1', delta: input.slice(9) },
          { type: 'tool-input-end', id: 'call_1' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'Read', input },
          { type: 'tool-input-start', id: 'call_2', toolName: 'search', providerExecuted: true },
          { type: 'tool-input-delta', id: 'call_2', delta: '{"q":1}' },
          { type: 'tool-call', toolCallId: 'call_2', toolName: 'search', input: '{"q":1}', providerExecuted: true },
          { type: 'tool-result', toolCallId: 'call_2', toolName: 'search', result: [] },
          { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage: {} },
        ]),
      ),
    )
    expect(compareCalls(updates)).toBe(1)
    const inputs = updates.filter(({ type }) => type === 'tool_input_start' || type === 'tool_input_delta')
    expect(inputs).toEqual([
      { type: 'tool_input_start', index: 0, callId: 'call_1', name: 'Read' },
      { type: 'tool_input_delta', index: 0, json: input.slice(0, 9) },
      { type: 'tool_input_delta', index: 0, json: input.slice(9) },
    ])
  })

  test('contain no key of this program, wherever they are split', async () => {
    const key = 'sk-a-key-of-this-program'
    const input = `{"command":"curl -H ${key}"}`
    for (let at = 1; at < input.length; at++) {
      const model = withRedactedStream(
        {
          id: 'm',
          contextWindow: 1,
          maxOutputTokens: 1,
          call(_request, options) {
            const emit = (update: ModelUpdate): void => options.emit(update)
            emit({ type: 'tool_input_start', index: 0, callId: 'c', name: 'Bash' })
            emit({ type: 'tool_input_delta', index: 0, json: input.slice(0, at) })
            emit({ type: 'tool_input_delta', index: 0, json: input.slice(at) })
            return Promise.reject(new Error('the reply itself is not looked at'))
          },
        },
        { ANTHROPIC_API_KEY: key },
      )
      const { updates } = await call(model)
      const json = updates.map((update) => (update.type === 'tool_input_delta' ? update.json : '')).join('')
      expect(json).not.toContain(key)
      expect(json).toContain('"command":"curl -H ')
    }
  })
})
