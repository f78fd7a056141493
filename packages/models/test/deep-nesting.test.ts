// Tests R-WIRE-1 and R-WIRE-5b of docs/spec: an attempt returns a reply or a ModelError, however deeply a service
// nests.
import { messageOf } from '@halting/core/adapters'
import { streamRun, ModelError, startRun } from '@halting/core'
import type { AnyTool, JsonObject, Model } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import { call } from './support/call.ts'
import { chunk, finish, piece, usageChunk } from './support/chat-read.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { call as callItem, created, done, ended, message } from './support/responses-read.ts'
import { finish as finishPart, scriptedParts, text as textParts, toolCall } from './support/scripted-parts.ts'

const depths = [150, 250, 5_000, 100_000] as const

function deepText(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}

/** Marks the place of the deep value in an event: `JSON.stringify` could not write it. */
const hole = '<deep>'

function frames(events: readonly JsonObject[], deep: string): string {
  return events.map((event) => `data: ${JSON.stringify(event).replaceAll(`"${hole}"`, deep)}\n\n`).join('')
}

async function serve(body: string, status = 200, type = 'text/event-stream'): Promise<string> {
  const server = await startRawServer((response) => {
    response.writeHead(status, { 'content-type': type })
    response.end(body)
  })
  return server.url
}

async function outcomeOf(model: Model): Promise<string> {
  const { reply, error, updates } = await call(model)
  if (error !== undefined) return error instanceof ModelError ? 'error' : `no ModelError: ${messageOf(error)}`
  // Its result can be written and displayed.
  JSON.stringify([reply?.message, updates])
  return reply?.streamError === undefined ? 'reply' : 'part'
}

const usage = { input_tokens: 5, output_tokens: 1 }
const start = (content: readonly JsonObject[] = []): JsonObject => ({
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', content, usage },
})
const begin = (block: JsonObject): JsonObject => ({ type: 'content_block_start', index: 0, content_block: block })
const delta = (fields: JsonObject): JsonObject => ({ type: 'content_block_delta', index: 0, delta: fields })
const stop = { type: 'content_block_stop', index: 0 }
const ends = [stop, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }, { type: 'message_stop' }]
const named = { type: 'tool_use', id: 'a', name: 'b', input: {} }

describe.each(depths)('%i levels', (depth) => {
  const deep = deepText(depth)
  const isTaken = depth < 190

  test.each<[string, readonly JsonObject[]]>([
    ['the input at the start of a call', [start(), begin({ ...named, input: hole }), ...ends]],
    ['a block of an unknown kind', [start(), begin({ type: 'brand_new', it: hole }), ...ends]],
    ['the content of a message', [start([{ type: 'brand_new', it: hole }]), ...ends.slice(1)]],
    [
      'a citation',
      [start(), begin({ type: 'text', text: 'x' }), delta({ type: 'citations_delta', citation: hole }), ...ends],
    ],
    ['an error', [start(), { type: 'error', error: hole }]],
    [
      'an event of an unknown kind',
      [start(), { type: 'brand_new', it: hole }, begin({ type: 'text', text: 'x' }), ...ends],
    ],
  ])('reads Messages API input: %s', async (name, events) => {
    const url = await serve(frames(events, deep))
    const outcome = await outcomeOf(anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: url }))
    expect(outcome).toBe(isTaken && name !== 'an error' ? 'reply' : 'error')
  })

  test('passes a streamed Messages API input on as text', async () => {
    const events = [start(), begin(named), delta({ type: 'input_json_delta', partial_json: deep }), ...ends]
    const model = anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: await serve(frames(events, '')) })
    const { reply } = await call(model)
    const input = isTaken ? (JSON.parse(deep) as unknown) : { INVALID_JSON: deep }
    expect(reply?.message.content).toEqual([{ ...named, input }])
  })

  test.each<[string, readonly JsonObject[], boolean]>([
    ['a string as input', [piece({ index: 0, id: 'a' }, { name: 'b', arguments: deep }), finish('tool_calls')], true],
    ['an object as input', [piece({ index: 0, id: 'a' }, { name: 'b', arguments: hole }), finish('stop')], isTaken],
    [
      'content to send back',
      [piece({ index: 0, id: 'a', extra_content: hole }, { name: 'b', arguments: '{}' }), finish('stop')],
      isTaken,
    ],
    [
      'reasoning',
      [chunk({ reasoning_details: [{ type: 'x', it: hole }] }), chunk({ content: 'x' }), finish('stop')],
      isTaken,
    ],
    ['an error', [{ error: { message: hole } }], false],
  ])('reads chat completions: %s', async (_name, events, isReply) => {
    const url = await serve(frames([...events, usageChunk], deep))
    expect(await outcomeOf(openaiCompatible({ model: 'm', baseUrl: url }))).toBe(isReply ? 'reply' : 'error')
  })

  const annotated = [{ type: 'output_text', text: 'x', annotations: [{ type: 'x', it: hole }] }]
  test.each<[string, readonly JsonObject[], boolean]>([
    ['a string as input', [done(0, callItem(deep))], true],
    ['an object as input', [done(0, callItem('', { arguments: hole }))], isTaken],
    ['an item of an unknown kind', [done(0, { type: 'brand_new', it: hole })], isTaken],
    ['the work of the service', [done(0, { type: 'web_search_call', action: { query: hole } })], isTaken],
    ['reasoning', [done(0, { type: 'reasoning', encrypted_content: 'e', it: hole })], isTaken],
    ['an annotation', [done(0, message('', { content: annotated }))], isTaken],
    ['an event of an unknown kind', [{ type: 'brand_new', it: hole }, done(0, message('x'))], isTaken],
    ['an error', [{ type: 'error', message: hole }], false],
  ])('reads Responses API input: %s', async (_name, events, isReply) => {
    const url = await serve(frames([created, ...events, ended()], deep))
    expect(await outcomeOf(openaiResponses({ model: 'm', baseUrl: url, apiKey: 'key' }))).toBe(
      isReply ? 'reply' : 'error',
    )
  })

  test.each<[string, string, number]>([
    ['an error', `{"type":"error","error":{"type":"api_error","message":${deep}}}`, 500],
    ['an invalid error', deep, 400],
    [
      'a complete reply',
      `{"type":"message","content":[{"type":"x","it":${deep}}],"choices":[{"message":{"x":${deep}}}],"output":${deep}}`,
      200,
    ],
  ])('survives %s in a body of each service', async (_name, body, status) => {
    const baseUrl = await serve(body, status, 'application/json')
    expect(await outcomeOf(anthropic({ model: 'claude-test', apiKey: 'key', baseUrl }))).toBe('error')
    expect(await outcomeOf(openaiCompatible({ model: 'm', baseUrl }))).toBe('error')
    expect(await outcomeOf(openaiResponses({ model: 'm', baseUrl, apiKey: 'key' }))).toBe('error')
  })

  // A provider passes on objects of any origin.
  const object = JSON.parse(deep) as unknown
  test.each<[string, readonly unknown[]]>([
    ['an input', [toolCall(deep), finishPart('tool-calls')]],
    [
      'a result',
      [...textParts('x'), { type: 'tool-result', toolCallId: 'a', toolName: 'b', result: object }, finishPart()],
    ],
    [
      'metadata',
      [{ type: 'text-start', id: '0', providerMetadata: { x: object } }, ...textParts('y', '1'), finishPart()],
    ],
    ['usage', [...textParts('x'), finishPart('stop', { usage: { raw: object } })]],
    ['an error', [{ type: 'error', error: object }]],
    ['a part of an unknown kind', [{ type: 'brand-new', it: object }, ...textParts('x'), finishPart()]],
  ])('reads AI SDK input: %s', async (_name, parts) => {
    expect(['reply', 'part', 'error']).toContain(await outcomeOf(fromAiSdk(scriptedParts(parts))))
  })
})

test('reports an invalid input to the model, and continues', async () => {
  const deep = deepText(5_000)
  const streams = [
    [piece({ index: 0, id: 'a' }, { name: 'Read', arguments: deep }), finish('tool_calls'), usageChunk],
    [chunk({ content: 'Done.' }), finish('stop'), usageChunk],
  ]
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(frames(streams.shift() ?? [], ''))
  })
  const read: AnyTool = {
    name: 'Read',
    description: 'Reads.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    readOnly: true,
    execute: () => 'read',
  }
  const running = streamRun(startRun({ prompt: 'go' }), {
    model: openaiCompatible({ model: 'm', baseUrl: server.url }),
    tools: [read],
  })
  const { terminal, state } = await running.ended
  expect(terminal.reason).toBe('completed')
  expect(JSON.stringify(state.transcript.messages()[2])).toMatch(/"is_error":true/)
})
