// Every recorded stream over a real connection, cut at every byte. Each byte leaves the server after the previous one
// has arrived, so that no two are read together. A quick run tests only the short streams.
import type { ServerResponse } from 'node:http'
import type { ModelReply } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { openaiCompatible, openaiResponses } from '../src/index.ts'
import { call, modelAt } from './support/call.ts'
import { chatBytes, chatRecordings } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, recordings, replyOf } from './support/recordings.ts'
import { replyOfEvents, responsesBytes } from './support/responses-expected.ts'
import { responsesRecordings } from './support/responses-recordings.ts'
import { isDeep, isWhole } from './support/deep.ts'

type LineEnd = '\n' | '\r\n'
const lineEnds = [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
] as const

/** Counts the received bytes of a response, so that the sender can wait for them. */
function createArrival(): { readonly fetch: typeof globalThis.fetch; arrived(bytes: number): Promise<void> } {
  let count = 0
  let wanted = Infinity
  let wake = (): void => {}
  const counted = (bytes: Uint8Array): void => {
    count += bytes.length
    if (count >= wanted) wake()
  }
  return {
    async fetch(input, init) {
      count = 0
      const response = await globalThis.fetch(input, init)
      const body = response.body!.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>(
          {
            transform(bytes, controller) {
              pieces.push(bytes.length)
              controller.enqueue(bytes)
              counted(bytes)
            },
          },
          // Nothing is buffered: each read requests data that is not available yet.
          { highWaterMark: 1 },
          { highWaterMark: 0 },
        ),
      )
      return new Response(body, response)
    },
    arrived(bytes) {
      if (count >= bytes) return Promise.resolve()
      wanted = bytes
      return new Promise((resolve) => void (wake = resolve))
    },
  }
}

let pieces: number[] = []

/** Sends the bytes one by one, and returns the result of the adapter. */
async function readByteByByte(bytes: Buffer, ask: (url: string, fetch: typeof globalThis.fetch) => Promise<unknown>) {
  const arrival = createArrival()
  const send = async (response: ServerResponse): Promise<void> => {
    beginStream(response)
    response.flushHeaders()
    for (let index = 0; index < bytes.length; index++) {
      response.write(bytes.subarray(index, index + 1))
      await arrival.arrived(index + 1)
    }
    response.end()
  }
  const { url } = await startRawServer(send)
  pieces = []
  const reply = await ask(url, arrival.fetch)
  expect(new Set(pieces)).toEqual(new Set([1]))
  return reply
}

const isSent = (bytes: Buffer): boolean => bytes.length < (isWhole ? 20_000 : isDeep ? 8_000 : 2_000)

describe.each(lineEnds)('the Messages API, with %s', (_name, lineEnd: LineEnd) => {
  test.each(recordings.filter(({ events }) => isSent(bytesOf(events, lineEnd))))(
    '$name',
    { timeout: 120_000 },
    async ({ events }) => {
      const reply = await readByteByByte(
        bytesOf(events, lineEnd),
        async (url, fetch) => (await call(modelAt(url, { fetch }))).reply,
      )
      expect(reply).toEqual(replyOf(events))
    },
  )
})

describe.each(lineEnds)('chat completions, with %s', (_name, lineEnd: LineEnd) => {
  test.each(chatRecordings.filter(({ chunks }) => isSent(chatBytes(chunks, lineEnd))))(
    '$name',
    { timeout: 120_000 },
    async ({ chunks, reply: expected }) => {
      const reply = await readByteByByte(chatBytes(chunks, lineEnd), async (url, fetch) => {
        const model = openaiCompatible({ model: 'asked', baseUrl: url, apiKey: 'key', fetch })
        return (await call(model)).reply satisfies ModelReply | undefined
      })
      expect(reply).toEqual(expected)
    },
  )
})

describe.each(lineEnds)('the Responses API, with %s', (_name, lineEnd: LineEnd) => {
  const whole = responsesRecordings.filter(({ events }) => events.at(-1)?.type === 'response.completed')
  // Each recording repeats its content several times: one is longer than the limit.
  const isShortest = (name: string): boolean => name.startsWith('openai-custom-tool')
  const sent = whole.filter(({ name, events }) => isShortest(name) || isSent(responsesBytes(events, lineEnd)))
  test.each(sent)('$name', { timeout: 120_000 }, async ({ events }) => {
    const reply = await readByteByByte(responsesBytes(events, lineEnd), async (url, fetch) => {
      const model = openaiResponses({ model: 'asked', baseUrl: url, apiKey: 'key', fetch })
      return (await call(model)).reply satisfies ModelReply | undefined
    })
    expect(reply).toEqual(replyOfEvents(events))
  })
})
