// The recorded answers of the Responses API: each comes to the reply that its last event says.
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
    // Each cut on its own takes long: all that are so many bytes apart at once, for each shift.
    for (const size of [1, 7, 1_000]) {
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
      expect(readPieces(pieces)).toEqual(expected)
    }
  })
})
