// Tests R-REQ-13 of docs/spec on the wire: invalid text of a service is not sent back to it, not even in the text that
// adapters store.
import { streamRun, startRun } from '@halting/core'
import type { AnyTool, JsonObject } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { anthropic } from '../src/anthropic/anthropic.ts'
import { openaiCompatible, openaiResponses } from '../src/openai/openai.ts'
import { chunk, finish, piece, usageChunk } from './support/chat-read.ts'
import { chatBytes } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf } from './support/recordings.ts'
import { responsesBytes } from './support/responses-expected.ts'
import { messageItem, reasoningItem, replyEvents } from './support/responses-service.ts'

const look: AnyTool = {
  name: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'cut in the middle: \ud83d',
}

async function serve(...answers: readonly Buffer[]) {
  let answered = 0
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(answers[answered++] ?? Buffer.alloc(0))
  })
  return { url: server.url, bodies: () => server.bodies.map(String) }
}

/** All texts of a body, including those in JSON within its texts. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.startsWith('{') ? [value, ...textsIn(JSON.parse(value))] : [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => [key, ...textsIn(part)])
}

/** Expects that no lone surrogate is left. */
function expectSound(body: string): void {
  expect(textsIn(JSON.parse(body)).filter((text) => /\p{Surrogate}/u.test(text))).toEqual([])
}

test('is well-formed for the Messages API', async () => {
  const usage = { ...noUsage, input_tokens: 10, output_tokens: 5 }
  const message = (id: string, stop: string, ...blocks: readonly (readonly [JsonObject, ...JsonObject[]])[]): Buffer =>
    bytesOf([
      { type: 'message_start', message: { id, type: 'message', role: 'assistant', model: 'm', content: [], usage } },
      ...blocks.flatMap(([content_block, ...deltas], index) => [
        { type: 'content_block_start', index, content_block },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ] as readonly JsonObject[])
  const { url, bodies } = await serve(
    message(
      'msg_1',
      'tool_use',
      [
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'half \ud83d' },
        { type: 'signature_delta', signature: 'sig' },
      ],
      [
        { type: 'tool_use', id: 'toolu_1', name: 'Look', input: {} },
        // JavaScript would write this number differently, so the adapter stores the text.
        { type: 'input_json_delta', partial_json: '{"path":"\\ud83d","size":1.0}' },
      ],
    ),
    message('msg_2', 'end_turn', [
      { type: 'text', text: '' },
      { type: 'text_delta', text: 'done' },
    ]),
  )
  const model = anthropic({ model: 'm', baseUrl: url, apiKey: 'key', contextManagement: { note: '\ud83d' } })
  expect(await streamRun(startRun({ prompt: 'go \ude00' }), { model, tools: [look] }).result).toMatchObject({
    reason: 'completed',
  })
  expect(bodies()).toHaveLength(2)
  bodies().forEach(expectSound)
  const { messages } = JSON.parse(bodies()[1]!) as { readonly messages: readonly JsonObject[] }
  expect(messages).toMatchObject([
    { role: 'user', content: [{ type: 'text', text: 'go \ufffd' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', input: { path: '\ufffd', size: 1 } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'cut in the middle: \ufffd' }] },
  ])
})

test('is well-formed for chat completions', async () => {
  const { url, bodies } = await serve(
    chatBytes([
      chunk({ reasoning_content: 'half \ud83d' }),
      piece({ index: 0, id: 'call_\ud83d' }, { name: 'Look', arguments: '{"path":"\\ud83d"}' }),
      finish('tool_calls'),
      usageChunk,
    ]),
    chatBytes([chunk({ content: 'done' }), finish('stop'), usageChunk]),
  )
  const model = openaiCompatible({
    model: 'm',
    id: 'local/m',
    baseUrl: `${url}/v1`,
    apiKey: 'key',
    extraBody: { user: '\ud83d' },
  })
  expect(await streamRun(startRun({ prompt: 'go \ude00' }), { model, tools: [look] }).result).toMatchObject({
    reason: 'completed',
  })
  expect(bodies()).toHaveLength(2)
  bodies().forEach(expectSound)
  const { messages } = JSON.parse(bodies()[1]!) as { readonly messages: readonly JsonObject[] }
  const [, asked, result] = messages
  const { tool_calls: called } = asked as { readonly tool_calls: readonly JsonObject[] }
  expect(asked).toMatchObject({
    reasoning_content: 'half \ufffd',
    tool_calls: [{ function: { name: 'Look', arguments: '{"path":"\ufffd"}' } }],
  })
  expect(result).toMatchObject({ role: 'tool', tool_call_id: called[0]?.id })
})

test('is well-formed for the Responses API', async () => {
  const call = {
    type: 'function_call',
    call_id: 'call_\ud83d',
    name: 'Look',
    arguments: '{"path":"\\ud83d", "size":1.0}',
  }
  const summary = [{ type: 'summary_text', text: 'half \ud83d' }]
  const { url, bodies } = await serve(
    responsesBytes(replyEvents([reasoningItem('gAAA', { summary }), call])),
    responsesBytes(replyEvents([messageItem('done')])),
  )
  const model = openaiResponses({
    model: 'gpt-5',
    baseUrl: `${url}/v1`,
    apiKey: 'key',
    extraBody: { user: '\ud83d', reasoning: { context: '\ud83d' } },
    serverTools: [{ type: 'file_search', note: '\ud83d' }],
    freeform: { Other: { field: 'text', format: { type: 'grammar', definition: '\ud83d' } } },
  })
  const other: AnyTool = { ...look, name: 'Other' }
  expect(await streamRun(startRun({ prompt: 'go \ude00' }), { model, tools: [look, other] }).result).toMatchObject({
    reason: 'completed',
  })
  expect(bodies()).toHaveLength(2)
  bodies().forEach(expectSound)
  const { input } = JSON.parse(bodies()[1]!) as { readonly input: readonly JsonObject[] }
  // The encrypted content belongs to a text that has changed.
  expect(input).toMatchObject([
    { role: 'user', content: [{ type: 'input_text', text: 'go \ufffd' }] },
    { type: 'function_call', name: 'Look', arguments: '{"path":"\ufffd","size":1}' },
    { type: 'function_call_output', call_id: input[1]?.call_id, output: 'cut in the middle: \ufffd' },
  ])
})
