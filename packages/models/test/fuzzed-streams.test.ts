// Tests R-WIRE-1 to R-WIRE-5 for arbitrarily broken streams: many in process, some over a real connection.
import { isJsonObject } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { ContentBlock, Model, ModelReply } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import type { ServiceOptions } from '../src/service/endpoint.ts'
import { call } from './support/call.ts'
import type { Called } from './support/call.ts'
import type { FaultProtocol } from './support/fault-reply.ts'
import {
  cuts,
  frameMutation,
  garbage,
  mutatedBytes,
  piecesOf,
  recordedStreams,
  truncation,
} from './support/fuzz-stream.ts'
import type { Mutation, RecordedStream } from './support/fuzz-stream.ts'
import { beginStream, startRawServer, write } from './support/raw-server.ts'
import { amiss, drawn } from './support/deep.ts'

const protocols = ['messages', 'chat', 'responses'] as const

/** Without a limit on silence: nothing waits for a stream that ended. */
function modelOf(protocol: FaultProtocol, baseUrl: string, options: ServiceOptions = {}): Model {
  const named = { model: 'm', apiKey: 'key', baseUrl, idleTimeoutMs: Infinity, requestTimeoutMs: Infinity, ...options }
  return { messages: anthropic, chat: openaiCompatible, responses: openaiResponses }[protocol](named)
}

const head = { headers: { 'content-type': 'text/event-stream' } }

/** One call whose response consists of these chunks, without a network. */
function answeredWith(protocol: FaultProtocol, pieces: readonly Uint8Array[]): Promise<Called> {
  const fetch = async (): Promise<Response> => new Response(bodyOf(pieces), head)
  return call(modelOf(protocol, 'http://127.0.0.1:1', { fetch }))
}

function bodyOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = [...pieces]
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(piece)
    },
  })
}

/** The result of a stream without faults. */
async function wholeReply(protocol: FaultProtocol, { frames }: RecordedStream): Promise<ModelReply> {
  const { reply } = await answeredWith(protocol, [Buffer.from(frames.join(''))])
  if (reply === undefined) throw new Error('a recorded stream gives no reply')
  return reply
}

/** Returns the first violation of what must hold for any mistreated stream. */
function problemOf({ reply, error, updates }: Called, bytes: Uint8Array): string | undefined {
  if (reply === undefined) return error instanceof ModelError ? undefined : `it threw something that is not a ModelError: ${String(error)}` // prettier-ignore
  const { message, streamError } = reply
  const blocks = updates.flatMap((update) => (update.type === 'block' ? [update] : []))
  const emitted = blocks.toSorted((a, b) => a.index - b.index).map(({ block }) => block)
  const due = streamError === undefined ? emitted : emitted.filter((block) => !isUnanswered(block, emitted))
  if (!isSame(message.content, due)) return 'a block that was emitted as complete differs from the reply'
  for (const { index, block } of blocks) {
    const shown = updates.map((update) => (update.type === 'text_delta' && update.index === index ? update.text : ''))
    if (block.type === 'text' && !block.text.endsWith(shown.join('')) && !isSaidWhole(block.text, bytes)) {
      return 'text that was shown is not stored'
    }
    if (block.type === 'tool_use' && !isJsonObject(block.input)) return 'a call has no input'
  }
  const counts = [message.usage.input_tokens, message.usage.output_tokens, message.usage.cache_read_input_tokens]
  if (!counts.every((count) => Number.isFinite(count) && count >= 0)) return 'the usage is invalid'
  if (streamError === undefined) {
    if (message.stop_reason === null) return 'a reply without a stop reason is reported as complete'
    return saysWhyItEnded(bytes) ? undefined : 'a reply without an end is reported as complete'
  }
  if (!(streamError instanceof ModelError)) return 'its error is not a ModelError'
  if (message.stop_reason !== null) return 'a broken reply has a stop reason'
  return message.content.length > 0 ? undefined : 'nothing is kept, and yet there is a reply'
}

/** Whether the service sent this text as a whole. Then it wins over the streamed pieces (spec R-RESP-31a). */
function isSaidWhole(text: string, bytes: Uint8Array): boolean {
  return new TextDecoder().decode(bytes).includes(`"text":${JSON.stringify(text)}`)
}

/** The call of a server tool that has no result or lost its id: it cannot be sent back. */
function isUnanswered(block: ContentBlock, all: readonly ContentBlock[]): boolean {
  if (!block.type.endsWith('_tool_use')) return false
  return !('id' in block) || !all.some((other) => 'tool_use_id' in other && other.tool_use_id === block.id)
}

/** Whether the bytes have an end, by a straightforward search. */
function saysWhyItEnded(bytes: Uint8Array): boolean {
  const ends = /"stop_reason"\s*:\s*"|"finish_reason"\s*:\s*"|\[DONE\]|"type":"response\.(completed|incomplete)"/
  return ends.test(new TextDecoder().decode(bytes))
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

describe.each(protocols)('a stream in process (%s)', (protocol) => {
  const streams = recordedStreams(protocol)
  const stream = fc.constantFrom(...streams)

  test('is among the recorded ones', () => {
    expect(streams.length).toBeGreaterThan(4)
  })

  test('yields the same message, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(stream, cuts, async (recorded, cutsAt) => {
        const whole = await wholeReply(protocol, recorded)
        const { reply } = await answeredWith(protocol, piecesOf(Buffer.from(recorded.frames.join('')), cutsAt))
        expect(reply).toEqual(whole)
      }),
      { numRuns: drawn(150) },
    )
  })

  test('yields the message, a beginning of it, or a retryable error when it is cut at any byte', async () => {
    const outcomes = new Set<string>()
    await fc.assert(
      fc.asyncProperty(stream, truncation, cuts, async (recorded, cut, cutsAt) => {
        const bytes = mutatedBytes(recorded.frames, [cut])
        const called = await answeredWith(protocol, piecesOf(bytes, cutsAt))
        expect(problemOf(called, bytes)).toBeUndefined()
        const whole = await wholeReply(protocol, recorded)
        outcomes.add(cutOutcome(called, whole))
      }),
      { numRuns: drawn(600) },
    )
    expect(amiss(outcomes, ['a retryable error', 'a beginning', 'the whole message'])).toEqual([])
  })

  const several = (mutation: fc.Arbitrary<Mutation>) => fc.array(mutation, { minLength: 1, maxLength: 4 })
  test.each([
    ['with repeated, lost and swapped frames', several(frameMutation)],
    ['with garbage in it', several(garbage)],
    ['with all of that, and cut off', several(fc.oneof(frameMutation, garbage, truncation))],
  ])('loses nothing complete when it is %s, and reports when it is incomplete', async (_name, mutations) => {
    const outcomes = new Set<string>()
    await fc.assert(
      fc.asyncProperty(stream, mutations, cuts, async (recorded, mutated, cutsAt) => {
        const bytes = mutatedBytes(recorded.frames, mutated)
        const called = await answeredWith(protocol, piecesOf(bytes, cutsAt))
        expect(problemOf(called, bytes)).toBeUndefined()
        outcomes.add(called.reply === undefined ? 'failed' : called.reply.streamError === undefined ? 'whole' : 'kept')
      }),
      { numRuns: drawn(800) },
    )
    expect(amiss(outcomes, ['failed', 'kept', 'whole'])).toEqual([])
  })

  test('is a ModelError if it is only garbage', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), cuts, async (bytes, cutsAt) => {
        const { error } = await answeredWith(protocol, piecesOf(Buffer.from(bytes), cutsAt))
        expect(error).toBeInstanceOf(ModelError)
      }),
      { numRuns: drawn(300) },
    )
  })
})

function cutOutcome({ reply, error }: Called, whole: ModelReply): string {
  if (reply === undefined) return error instanceof ModelError && error.retryable ? 'a retryable error' : 'another error'
  const { content } = reply.message
  if (reply.streamError === undefined) return isSame(content, whole.message.content) ? 'the whole message' : 'something else' // prettier-ignore
  const beginning = whole.message.content.filter((block) => !isUnanswered(block, content)).slice(0, content.length)
  return isSame(content, beginning) ? 'a beginning' : 'something else'
}

describe.each(protocols)('a stream over a real connection (%s)', (protocol) => {
  test('loses nothing complete and never hangs when it is disturbed', async () => {
    let pieces: readonly Buffer[] = []
    let isCut = false
    const server = await startRawServer(async (response) => {
      beginStream(response)
      response.on('error', () => {})
      for (const piece of pieces) if (!response.destroyed) await write(response, piece)
      if (isCut) response.socket?.resetAndDestroy()
      else response.end()
    })
    const model = modelOf(protocol, server.url)
    const mutations = fc.array(fc.oneof(frameMutation, garbage, truncation), { maxLength: 3 })
    const stream = fc.constantFrom(...recordedStreams(protocol))
    await fc.assert(
      fc.asyncProperty(stream, mutations, cuts, fc.boolean(), async (recorded, mutated, cutsAt, endsBadly) => {
        const bytes = mutatedBytes(recorded.frames, mutated)
        pieces = piecesOf(bytes, cutsAt)
        isCut = endsBadly
        expect(problemOf(await call(model), bytes)).toBeUndefined()
      }),
      { numRuns: drawn(150) },
    )
  })
})
