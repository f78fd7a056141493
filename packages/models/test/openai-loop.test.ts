// A run of the loop against a chat completion service: the result of one turn is in the next request.
import { streamRun, startRun } from '@halting/core'
import type { AnyTool, JsonObject } from '@halting/core'
import { expect, test } from 'vitest'
import { openaiCompatible } from '../src/openai/openai.ts'
import { chunk, finish, piece, usageChunk } from './support/chat-read.ts'
import { chatBytes } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const
const read: AnyTool = {
  name: 'Read',
  description: 'Reads.',
  inputSchema,
  readOnly: true,
  execute: ({ path }: { readonly path: string }) => {
    if (path === 'gone') throw new Error('There is no such file.')
    return `text of ${path}`
  },
}

/** Answers with one stream after another. */
async function serve(...streams: readonly (readonly JsonObject[])[]) {
  let answered = 0
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(chatBytes(streams[answered++] ?? []))
  })
  return {
    model: openaiCompatible({ model: 'm', id: 'local/m', baseUrl: `${server.url}/v1`, apiKey: 'key' }),
    bodies: () => server.bodies.map((body) => JSON.parse(String(body)) as JsonObject),
  }
}

test('sends calls, reasoning and results back unchanged, and completes the run', async () => {
  const { model, bodies } = await serve(
    [
      chunk({ reasoning_content: 'Two files.' }),
      chunk({ content: 'I read both.' }),
      piece({ index: 0, id: 'call_a' }, { name: 'Read', arguments: '{"path": ' }),
      piece({ index: 1, id: 'call_b' }, { name: 'Read', arguments: '{"path": ' }),
      piece({ index: 0 }, { arguments: '"a.ts"}' }),
      piece({ index: 1 }, { arguments: '"gone"}' }),
      finish('tool_calls'),
      usageChunk,
    ],
    [chunk({ content: 'One is gone.' }), finish('stop'), usageChunk],
  )
  const run = streamRun(startRun({ prompt: 'Compare them.' }), { model, system: 'Be brief.', tools: [read] })
  const terminal = await run.result
  expect(terminal).toMatchObject({ reason: 'completed' })
  expect(bodies()).toHaveLength(2)
  const [first, second] = bodies()
  const asked = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Compare them.' },
  ]
  const rest = {
    model: 'm',
    tools: [{ type: 'function', function: { name: 'Read', description: 'Reads.', parameters: inputSchema } }],
    max_tokens: 16_384,
    stream: true,
    stream_options: { include_usage: true },
  }
  expect(first).toEqual({ ...rest, messages: asked })
  const called = (id: string, args: string): JsonObject => ({
    id,
    type: 'function',
    function: { name: 'Read', arguments: args },
  })
  expect(second).toEqual({
    ...rest,
    messages: [
      ...asked,
      {
        role: 'assistant',
        content: 'I read both.',
        reasoning_content: 'Two files.',
        tool_calls: [called('call_a', '{"path": "a.ts"}'), called('call_b', '{"path": "gone"}')],
      },
      { role: 'tool', tool_call_id: 'call_a', content: 'text of a.ts' },
      { role: 'tool', tool_call_id: 'call_b', content: 'Error: There is no such file.' },
    ],
  })
})

test('repeats a request with the highest cap if a call was cut, without running it', async () => {
  const half = piece({ index: 0, id: 'call_a' }, { name: 'Read', arguments: '{"path":"a' })
  const { model, bodies } = await serve(
    [half, finish('length'), usageChunk],
    [chunk({ content: 'Done.' }), finish('stop'), usageChunk],
  )
  let ran = 0
  const counting: AnyTool = { ...read, execute: () => `${++ran}` }
  const run = streamRun(startRun({ prompt: 'Go.' }), {
    model: { ...model, defaultOutputTokens: 1_000 },
    tools: [counting],
  })
  expect(await run.result).toMatchObject({ reason: 'completed' })
  expect(ran).toBe(0)
  expect(bodies().map(({ max_tokens }) => max_tokens)).toEqual([1_000, 16_384])
  expect(bodies()[1]?.messages).toEqual(bodies()[0]?.messages)
})

test('reports invalid JSON input to the model, and runs nothing', async () => {
  const { model, bodies } = await serve(
    [piece({ index: 0, id: 'call_a' }, { name: 'Read', arguments: '{"path": tru' }), finish('stop'), usageChunk],
    [chunk({ content: 'Done.' }), finish('stop'), usageChunk],
  )
  expect(await streamRun(startRun({ prompt: 'Go.' }), { model, tools: [read] }).result).toMatchObject({
    reason: 'completed',
  })
  expect(bodies()[1]?.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    { role: 'tool', tool_call_id: 'call_a', content: expect.stringContaining('path') },
  ])
})
