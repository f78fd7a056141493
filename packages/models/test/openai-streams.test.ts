// Every stream of chat completion chunks, wherever the network cuts it.
import { describe, expect, test } from 'vitest'
import { openaiCompatible } from '../src/openai/openai.ts'
import { call } from './support/call.ts'
import { readPieces, replyOfRead } from './support/chat-read.ts'
import { chatBytes, chatRecordings } from './support/chat-recordings.ts'
import { beginStream, startRawServer, write } from './support/raw-server.ts'
import { cutsOf, isDeep } from './support/deep.ts'

const lineEnds = { lf: '\n', crlf: '\r\n' } as const
/** For longer streams, every byte over a real connection would take minutes. */
const smallBytes = isDeep ? 1_000 : 700

describe('reads the reply of every stream in process', () => {
  test.each(chatRecordings)('of $name, wherever it is split, with LF and with CRLF', ({ chunks, reply }) => {
    for (const lineEnd of Object.values(lineEnds)) {
      const bytes = chatBytes(chunks, lineEnd)
      const outcomes = new Set<string>()
      // Every place of short streams. Of long ones, every place in the first and last 400 bytes, and a sample with a
      // prime step between.
      for (const at of cutsOf(bytes.length, { edge: 400, step: bytes.length > 20_000 ? 149 : 1 })) {
        outcomes.add(JSON.stringify(replyOfRead(readPieces([bytes.subarray(0, at), bytes.subarray(at)]))))
      }
      expect([...outcomes].map((outcome) => JSON.parse(outcome) as unknown)).toEqual([reply])
    }
  })

  test.each(chatRecordings)('of $name, one byte at a time', ({ chunks, reply }) => {
    for (const lineEnd of Object.values(lineEnds)) {
      const bytes = chatBytes(chunks, lineEnd)
      const read = readPieces(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)))
      expect(replyOfRead(read)).toEqual(reply)
    }
  })

  test.each(chatRecordings)('of $name, reporting each block complete once, as it is in the message', ({ chunks }) => {
    const read = readPieces([chatBytes(chunks)])
    const emitted = read.updates.flatMap((update) => (update.type === 'block' ? [update] : []))
    expect(emitted.toSorted((a, b) => a.index - b.index).map(({ block }) => block)).toEqual(
      replyOfRead(read).message.content,
    )
  })

  test.each(chatRecordings)('of $name, with events in the order of the Messages API', ({ chunks }) => {
    const { updates } = readPieces([chatBytes(chunks)])
    const events = updates.flatMap((update) => (update.type === 'api_event' ? [update.event] : []))
    const begun = events.flatMap(({ type, index }) => (type === 'content_block_start' ? [index] : []))
    const ended = events.flatMap(({ type, index }) => (type === 'content_block_stop' ? [index] : []))
    expect(begun).toEqual(begun.map((_, index) => index))
    expect(new Set(ended).size).toBe(ended.length)
    expect(events[0]?.type).toBe('message_start')
    expect(events.at(-1)?.type).toBe('message_stop')
  })
})

describe('reads the reply of every stream over a real connection', () => {
  /** A server that cuts at the place in the address, such as `/lf/123/…`. Without a place it cuts after every byte. */
  const startCutting = (chunks: (typeof chatRecordings)[number]['chunks']) =>
    startRawServer(async (response, request) => {
      const [, lineEnd, place] = (request.url ?? '').split('/')
      const bytes = chatBytes(chunks, lineEnd === 'crlf' ? '\r\n' : '\n')
      beginStream(response)
      if (place === 'each') {
        for (let at = 0; at < bytes.length; at++) await write(response, bytes.subarray(at, at + 1))
      } else {
        await write(response, bytes.subarray(0, Number(place)))
        await write(response, bytes.subarray(Number(place)))
      }
      response.end()
    })
  const ask = (baseUrl: string) => call(openaiCompatible({ model: 'asked', baseUrl, apiKey: 'key' }))

  test.each(chatRecordings)(
    'of $name, split at sampled positions, or at all positions if it is short',
    async (recording) => {
      const { chunks, reply } = recording
      const { url } = await startCutting(chunks)
      for (const [name, lineEnd] of Object.entries(lineEnds)) {
        const { length } = chatBytes(chunks, lineEnd)
        const step = length < smallBytes ? 1 : Math.ceil(length / 16)
        const places = Array.from({ length: Math.ceil(length / step) - 1 }, (_, index) => (index + 1) * step)
        for (let from = 0; from < places.length; from += 16) {
          const answers = await Promise.all(
            places.slice(from, from + 16).map((place) => ask(`${url}/${name}/${place}`)),
          )
          for (const answer of answers) expect(answer.reply).toEqual(reply)
        }
      }
    },
  )

  test.each(chatRecordings.filter(({ chunks }) => chatBytes(chunks).length < smallBytes))(
    'of $name, one byte at a time',
    async ({ chunks, reply }) => {
      const { url } = await startCutting(chunks)
      for (const name of Object.keys(lineEnds)) expect((await ask(`${url}/${name}/each`)).reply).toEqual(reply)
    },
  )
})
