// Tests `toSse`: any text survives, ids are sent with the chunks, silence is filled, and a disconnected client is noticed.
import { DefaultChatTransport, type UIMessage } from 'ai'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { streamRun, startRun } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { shareRun, sseHeaders, toSse, toUIMessageStream } from '../../src/ui/index.ts'
import { tick } from '../support/harness.ts'
import { collected, chunksSentBy } from './support.ts'

function streamOf<Item>(items: readonly Item[]): ReadableStream<Item> {
  return new ReadableStream({
    start(controller) {
      for (const item of items) controller.enqueue(item)
      controller.close()
    },
  })
}

/** The part of the client of `ai` that reads bytes. */
class WireReader extends DefaultChatTransport<UIMessage> {
  read(bytes: ReadableStream<Uint8Array>): ReadableStream<object> {
    return this.processResponseStream(bytes)
  }
}

async function textOf(bytes: ReadableStream<Uint8Array>): Promise<string> {
  return Buffer.concat(await collected(bytes)).toString('utf8')
}

const textOfRun = (text: string) =>
  streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([text]),
    clock: createFakeClock({ autoAdvance: true }),
  })

describe('a stream as server-sent events', () => {
  test('has an event with its id for each chunk', async () => {
    const shared = shareRun(textOfRun('Hi'))
    const sentEvents = await chunksSentBy(toUIMessageStream(shared))
    await shared.done
    const late = await chunksSentBy(toUIMessageStream(shared))
    expect(late.length).toBeLessThanOrEqual(sentEvents.length)
    const text = await textOf(toSse(toUIMessageStream(shared)))
    expect(text).toBe(late.map(({ id, chunk }) => `id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`).join(''))
    expect(text.startsWith('id: run1:1\ndata: {"type":"start","messageId":"run1"}\n\n')).toBe(true)
  })

  test('ends with the configured last event', async () => {
    expect(await textOf(toSse(streamOf([{ a: 1 }]), { done: '[DONE]' }))).toBe('data: {"a":1}\n\ndata: [DONE]\n\n')
  })

  test('preserves any text: line ends, U+2028, nulls, lone surrogates, the syntax of events', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(
          fc.constantFrom(
            '\n',
            '\r',
            '\r\n',
            '\u2028',
            '\u2029',
            '\u0000',
            '\ud800',
            '\udc00',
            'data: x\n\n',
            ':',
            'id: 1\n',
          ),
        )
        .map((parts) => parts.join('')),
    )
    await fc.assert(
      fc.asyncProperty(text, text, async (data, id) => {
        const item = { type: 'error', errorText: data } as const
        const bytes = toSse(streamOf([item, item]), { idOf: () => id })
        expect(await collected(new WireReader().read(bytes))).toEqual([item, item])
      }),
      { numRuns: 200 },
    )
  })

  test('has as many lines as events for 2.5 MB of output', async () => {
    const item = { type: 'tool-output-available', toolCallId: 'a', output: '\n'.repeat(2_500_000) }
    const text = await textOf(toSse(streamOf([item])))
    expect(text.split('\n').length).toBe(3)
    expect(JSON.parse(text.slice('data: '.length))).toEqual(item)
  })

  test('fills silence with comments, and stops with the stream', async () => {
    const clock = createFakeClock({})
    let controller: ReadableStreamDefaultController<object> | undefined
    const items = new ReadableStream<object>({ start: (streamController) => void (controller = streamController) })
    const reader = toSse(items, { heartbeatMs: 1_000, clock }).getReader()
    const lines: string[] = []
    const reading = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read())
        lines.push(Buffer.from(next.value).toString())
    })()
    await tick()
    for (let beat = 0; beat < 2; beat++) {
      await clock.advance(1_000)
      await tick()
    }
    controller?.enqueue({ a: 1 })
    await tick()
    controller?.close()
    await reading
    await clock.advance(10_000)
    expect(lines).toEqual([': heartbeat\n\n', ': heartbeat\n\n', 'data: {"a":1}\n\n'])
  })

  test('sends no more into a silence than a slow client reads', async () => {
    const clock = createFakeClock({})
    const reader = toSse(new ReadableStream<object>({}), { heartbeatMs: 1_000, clock }).getReader()
    const first = reader.read()
    await tick()
    for (let beat = 0; beat < 100; beat++) await clock.advance(1_000)
    expect(Buffer.from((await first).value ?? []).toString()).toBe(': heartbeat\n\n')
    let more = 0
    const reading = (async () => {
      while (!(await reader.read()).done) more++
    })()
    await tick()
    expect(more).toBe(1)
    await reader.cancel()
    await reading
  })

  test('rejects an interval that would not end', () => {
    for (const heartbeatMs of [0, -1, Number.NaN, 0.5])
      expect(() => toSse(streamOf([]), { heartbeatMs })).toThrow('heartbeatMs')
  })

  test('notifies the run that the client has disconnected', async () => {
    const run = streamRun(startRun({ prompt: 'go' }), {
      model: scriptedModel([{ hang: true }]),
      clock: createFakeClock({}),
    })
    const reader = toSse(toUIMessageStream(run)).getReader()
    await reader.read()
    await reader.cancel()
    expect((await run.result).reason).toBe('abandoned')
  })

  test('has headers for clients and proxies', () => {
    expect(sseHeaders['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(sseHeaders['x-vercel-ai-ui-message-stream']).toBe('v1')
  })
})
