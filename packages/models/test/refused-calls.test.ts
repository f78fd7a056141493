// Tests R-WIRE-5e and R-TOOL-2b of docs/spec: a call that a service could not parse gets an answer, and the run
// continues.
import { streamRun, startRun, type JsonObject, type Tool } from '@halting/core'
import { expect, test } from 'vitest'
import { openaiCompatible } from '../src/index.ts'
import { readChunks } from './support/chat-read.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

/** The error of Groq in a stream, also after the start of a reply. */
const failed = (generation: string): JsonObject => ({
  error: {
    message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    type: 'invalid_request_error',
    code: 'tool_use_failed',
    failed_generation: generation,
    status_code: 400,
  },
})

test.each([
  ['{"name": "mcp__web__search", "arguments": {"query": "a', 'mcp__web__search'],
  ['<function=mcp__web__search{"query": "a"}</function>', 'mcp__web__search'],
  ['mcp__web__search{"query": "a"}</function>', 'mcp__web__search'],
  ['Tool use failed: JSON does not match the expected schema for tool calls', 'unknown_tool'],
])('treats %s as a call of %s that cannot run', (generation, name) => {
  const { assembled, updates } = readChunks([failed(generation)])
  const call = { type: 'tool_use', name, input: { INVALID_JSON: generation } }
  expect(assembled).toMatchObject({
    kind: 'complete',
    billed: 'unknown',
    message: { stop_reason: 'tool_use', content: [call] },
  })
  expect(updates.filter(({ type }) => type === 'block')).toMatchObject([{ block: call }])
})

test('follows the content of the reply', () => {
  const chunk = { id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: 'I look.' } }] }
  const { assembled } = readChunks([chunk, failed('{"name": "Read", "arguments": {}}')])
  expect(assembled).toMatchObject({
    message: {
      content: [
        { type: 'text', text: 'I look.' },
        { name: 'Read', input: { INVALID_JSON: expect.any(String) } },
      ],
    },
  })
})

test.each([
  ['', []],
  ['{}', []],
  ['{"a":', []],
  ['{"a":1}', [{ id: 'a', input: { a: 1 } }]],
])('preserves a call with %j before the rejected one only if it was complete', (written, whole) => {
  const call = { index: 0, id: 'a', type: 'function', function: { name: 'Delete', arguments: written } }
  const chunk = { id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [call] } }] }
  const { assembled, updates } = readChunks([chunk, failed('{"name": "Read", "arguments": {')])
  const calls = [...whole, { name: 'Read', input: { INVALID_JSON: expect.any(String) } }]
  expect(assembled).toMatchObject({ kind: 'complete', message: { content: calls } })
  expect(assembled.kind === 'complete' && assembled.message.content).toHaveLength(calls.length)
  expect(updates.filter(({ type }) => type === 'block')).toHaveLength(calls.length)
})

test('reports the rejection to the model, which may call again', async () => {
  const done = { id: 'd', model: 'm', choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }] }
  const refusal = JSON.stringify(failed('{"name": "Write", "arguments": {"text": "a'))
  const server = await startRawServer((response) => {
    beginStream(response)
    const isFirst = server.bodies.length === 1
    response.end(`${isFirst ? `event: error\ndata: ${refusal}` : `data: ${JSON.stringify(done)}`}\n\ndata: [DONE]\n\n`)
  })
  const ran: unknown[] = []
  const write: Tool = {
    readOnly: false,
    name: 'Write',
    description: '',
    inputSchema: { type: 'object' },
    execute: (input) => String(ran.push(input)),
  }
  const model = openaiCompatible({ model: 'm', baseUrl: `${server.url}/v1`, apiKey: 'k' })
  const running = streamRun(startRun({ prompt: 'go' }), { model, tools: [write] })
  for await (const _ of running);
  const { terminal } = await running.ended
  expect([terminal.reason, ran]).toEqual(['completed', []])
  expect(String(server.bodies[1])).toContain('The arguments of Write are not valid JSON: they were cut off after')
})
