// The recorded responses of the Responses API: each gives the reply that is in its last event.
import type { Json } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { replyOfEvents, responsesBytes } from './support/responses-expected.ts'
import { readEvents, readPieces, replyOfRead } from './support/responses-read.ts'
import { responsesRecordings } from './support/responses-recordings.ts'

const whole = responsesRecordings.filter(({ name }) => !name.startsWith('openai-error'))
const failed = responsesRecordings.filter(({ name }) => name.startsWith('openai-error'))

describe('a recorded response', () => {
  test.each(whole)('$name', ({ events }) => {
    expect(replyOfRead(readEvents(events))).toEqual(replyOfEvents(events))
  })

  test.each(whole)('$name from its last event alone', ({ events }) => {
    const { message } = replyOfRead(readEvents(events.slice(-1)))
    const { response } = events.at(-1) as { response: { id: string; output: Json } }
    const { message: expected } = replyOfEvents(events, response.output)
    const withoutIds = (content: unknown): unknown =>
      JSON.parse(JSON.stringify(content).replaceAll(/"(id|tool_use_id)":"(ws|tsc)_[^"]*"/g, '"$1":""'))
    expect(withoutIds(message)).toEqual(withoutIds({ ...expected, id: response.id }))
  })

  test.each(failed)('$name', ({ events }) => {
    const { assembled, end } = readEvents(events)
    expect(assembled).toEqual({ kind: 'nothing' })
    expect(end).toMatchObject({ kind: 'error_event', error: { code: 'insufficient_quota' } })
  })
})

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
] as const)('split at any byte, with %s', (_name, lineEnd) => {
  test.each(whole)('$name', ({ events }) => {
    const bytes = responsesBytes(events, lineEnd)
    const expected = readEvents(events)
    // Testing each cut alone takes long. This cuts at all places with this distance at once, for each offset.
    for (const size of [1, 7, 1_000]) {
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
      expect(readPieces(pieces)).toEqual(expected)
    }
  })
})
