import { ModelError } from '@halting/core'
import type { ContentBlock } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromAiSdk } from '../src/ai-sdk/index.ts'
import { call } from './support/call.ts'
import { finish, scriptedParts, text, toolCall, usage } from './support/scripted-parts.ts'
import { drawn } from './support/deep.ts'

// For any stream: it ends, it never throws an untyped error, and blocks that were reported complete remain.

const ids = fc.constantFrom('0', '1', 'call_1')
const metadata = fc.constantFrom(undefined, { test: { s: 'x' } }, { test: 1n }, null, 'x')
const words = fc.constantFrom('', ' ', 'Hello', '{"a":', '1}', '{}', '{"a": 1}')
const unified = fc.constantFrom(
  'stop',
  'length',
  'content-filter',
  'tool-calls',
  'error',
  'interrupted',
  'other',
  'new',
)

const citations = fc.oneof(
  fc.anything(),
  fc.array(
    fc.record({
      source: fc.oneof(fc.anything(), fc.constant({ type: 'source', sourceType: 'url', url: 'https://a.b/' })),
      citedText: fc.anything(),
    }),
    { maxLength: 2 },
  ),
)
const warnings = fc.oneof(
  fc.anything(),
  fc.array(
    fc.record({ type: fc.constantFrom('unsupported', 'other', 1), feature: fc.anything(), message: fc.anything() }),
    {
      maxLength: 2,
    },
  ),
)
const goodPart = fc.oneof(
  fc.record({
    type: fc.constantFrom('text-start', 'reasoning-start', 'text-end', 'reasoning-end'),
    id: ids,
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constantFrom('text-delta', 'reasoning-delta'),
    id: ids,
    delta: words,
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constant('tool-input-start'),
    id: ids,
    toolName: fc.constant('Read'),
    inputEncoding: fc.constantFrom(undefined, 'text'),
  }),
  fc.record({ type: fc.constantFrom('tool-input-delta', 'tool-input-end'), id: ids, delta: words }),
  fc.record({
    type: fc.constant('tool-call'),
    toolCallId: ids,
    toolName: fc.constant('Read'),
    input: words,
    providerExecuted: fc.constantFrom(undefined, true),
    providerMetadata: metadata,
  }),
  fc.record({ type: fc.constant('tool-result'), toolCallId: ids, toolName: fc.constant('Read'), result: words }),
  fc.record({
    type: fc.constantFrom('file', 'reasoning-file'),
    mediaType: fc.constantFrom('image/png', 'a/b'),
    data: fc.constantFrom(
      'AA==',
      new Uint8Array(1),
      { type: 'data', data: 'AA==' },
      { type: 'url', url: new URL('https://a.b/c') },
      { type: 'url', url: 1 },
    ),
  }),
  fc.record({ type: fc.constant('custom'), kind: fc.constantFrom('a.b', 'anthropic.message_start', 1) }),
  fc.record({
    type: fc.constant('source'),
    sourceType: fc.constantFrom('url', 'document', 1),
    url: fc.constantFrom('https://a.b/', '', 1),
    title: fc.constantFrom('T', undefined, 1),
    filename: fc.constantFrom('f', undefined, 1),
  }),
  fc.record({ type: fc.constant('text-end'), id: ids, citations }),
  fc.record({ type: fc.constant('stream-start'), warnings }),
  fc.record({ type: fc.constantFrom('source', 'raw', 'ping', 'stream-start', 'response-metadata', 'new'), id: ids }),
  fc.record({
    type: fc.constant('finish'),
    usage: fc.constantFrom(usage, undefined),
    finishReason: fc.record({ unified }),
    providerMetadata: fc.oneof(
      metadata,
      fc.record({
        anthropic: fc.record({ stopSequence: fc.anything(), stopDetails: fc.anything(), container: fc.anything() }),
      }),
    ),
  }),
)
const badPart = fc.oneof(
  fc.anything(),
  fc.record({ type: fc.constantFrom('error', 'tool-approval-request'), error: fc.anything() }),
  fc.record({
    type: fc.constantFrom(
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-call',
      'tool-result',
      'file',
      'finish',
      'source',
      'stream-start',
    ),
    id: fc.anything(),
    citations: fc.anything(),
    warnings: fc.anything(),
    sourceType: fc.constantFrom('url', 'document'),
    url: fc.anything(),
    title: fc.anything(),
    delta: fc.anything(),
    toolCallId: fc.anything(),
    input: fc.anything(),
    result: fc.anything(),
    data: fc.anything(),
    finishReason: fc.anything(),
    usage: fc.anything(),
    providerMetadata: fc.anything(),
  }),
)
const parts = fc.array(fc.oneof({ weight: 9, arbitrary: goodPart }, { weight: 1, arbitrary: badPart }), {
  maxLength: 24,
})
const ends = fc.oneof(fc.constant('closes'), fc.constant('breaks'))

/** Shuffled sequences of well-formed blocks. Most of them end by themselves. */
const plausible = fc
  .array(
    fc.constantFrom(
      text('Hello', 'a'),
      text('', 'b'),
      [
        { type: 'reasoning-start', id: 'a' },
        { type: 'reasoning-delta', id: 'a', delta: 'hm' },
        { type: 'reasoning-end', id: 'a' },
      ],
      [{ type: 'tool-input-start', id: 'call_1', toolName: 'Read' }, toolCall('{"a":1}')],
      [toolCall('{}', { toolCallId: 'call_2' })],
      [toolCall('{"a":', { toolCallId: 'call_3' })],
    ),
    { maxLength: 6 },
  )
  .chain((blocks) =>
    fc.tuple(
      fc.infiniteStream(fc.nat()).map((picks) => {
        const queues = [...new Set(blocks)].map((block) => [...block])
        const mixed: unknown[] = []
        for (const pick of picks) {
          const open = queues.filter((queue) => queue.length > 0)
          if (open.length === 0) break
          mixed.push(open[pick % open.length]?.shift())
        }
        return mixed
      }),
      unified.map((reason) => finish(reason)),
    ),
  )
  .map(([mixed, end]) => [...mixed, end])

async function expectEnding(sequence: readonly unknown[], end: string): Promise<void> {
  const model = scriptedParts((controller) => {
    for (const part of sequence) controller.enqueue(part as never)
    if (end === 'closes') controller.close()
    else setImmediate(() => controller.error(new Error('broken')))
  })
  const { reply, error, updates } = await call(fromAiSdk(model, { idleTimeoutMs: 5_000 }))
  if (reply === undefined && !(error instanceof ModelError)) throw new TypeError('an untyped error', { cause: error })
  const completed = updates.flatMap((update) => (update.type === 'block' ? [update.block] : []))
  const kept: readonly ContentBlock[] = reply?.message.content ?? []
  // A broken stream keeps no block that is empty or that cannot be sent back alone.
  const isKeepable = (block: ContentBlock): boolean => {
    if (block.type === 'server_tool_use') return false
    if (reply !== undefined) return true
    return block.type !== 'thinking' && !(block.type === 'text' && block.text.trim() === '')
  }
  expect(completed.filter((block) => isKeepable(block) && !kept.includes(block))).toEqual([])
  expect(JSON.parse(JSON.stringify(reply?.message ?? null))).toEqual(reply?.message ?? null)
  for (const block of kept) expect(completed).toContain(block)
  expect(() => JSON.stringify(updates)).not.toThrow()
}

test('survives any sequence of parts', async () => {
  await fc.assert(fc.asyncProperty(parts, ends, expectEnding), { numRuns: drawn(3_000) })
})

test('survives well-formed blocks in any order', async () => {
  await fc.assert(fc.asyncProperty(plausible, ends, expectEnding), { numRuns: drawn(1_500) })
})
