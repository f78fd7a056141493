// Tests R-FAST-2 and R-FAST-3 of docs/spec: for any bytes and any cuts, texts and events equal those of TextDecoder and
// of an independent parser.
import { createParser } from 'eventsource-parser'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEventStream, createLineStream, createUtf8Decoder } from '../src/http/event-stream.ts'
import type { EventStream, ServerSentEvent } from '../src/http/event-stream.ts'
import { drawn } from './support/deep.ts'

/** The bytes, split at each of these places. */
function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [...ends, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
}

const cuts = fc.array(fc.nat(4_000), { maxLength: 12 })

/** Bytes with multi-byte characters that are cut, invalid or incomplete. */
const someBytes = fc
  .array(
    fc.oneof(
      fc.constantFrom(0xef, 0xbb, 0xbf, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xc3, 0xa9, 0xc0, 0xed, 0xa0, 0xf4, 0x90, 0xf8, 0xff, 0x41, 0x0a).map((byte) => [byte]), // prettier-ignore
      fc.string({ unit: 'binary', maxLength: 6 }).map((text) => [...new TextEncoder().encode(text)]),
    ),
    { maxLength: 40 },
  )
  // The last character shows that nothing is held back.
  .map((parts) => Uint8Array.from([...parts.flat(), 0x41]))

describe('text', () => {
  test('is decoded like TextDecoder does, for any bytes split anywhere', () => {
    fc.assert(
      fc.property(someBytes, cuts, (bytes, places) => {
        const decoder = createUtf8Decoder()
        const text = cutAt(bytes, places)
          .map((piece) => decoder.decode(piece))
          .join('')
        expect(text).toBe(new TextDecoder().decode(bytes))
      }),
      { numRuns: drawn(20_000) },
    )
  })

  test('does not change when a chunk is overwritten after reading', () => {
    const decoder = createUtf8Decoder()
    const piece = Uint8Array.from([0x41, 0xe2, 0x82])
    expect(decoder.decode(piece)).toBe('A')
    piece.fill(0x42)
    expect(decoder.decode(Uint8Array.from([0xac]))).toBe('€')
  })

  test('drops a byte order mark at the beginning, however it is split, and preserves later ones', () => {
    const bytes = new TextEncoder().encode('\u{feff}a\u{feff}b')
    const whole = createUtf8Decoder()
    const single = createUtf8Decoder()
    expect(whole.decode(bytes)).toBe('a\u{feff}b')
    expect([...bytes].map((byte) => single.decode(Uint8Array.of(byte))).join('')).toBe('a\u{feff}b')
  })
})

const field = fc.constantFrom('data', 'event', 'id', 'retry', '', 'dat', 'datax', 'events', 'Data', ' data', 'x', '{')
const value = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constantFrom('', ' ', '  two', ':', '{"a":1}'))
const line = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(field, fc.constantFrom(':', ': ', ''), value).map((parts) => parts.join('')) },
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
)
const ending = fc.constantFrom('\n', '\r\n', '\r')
const stream = fc.array(fc.tuple(line, ending), { maxLength: 40 }).map((lines) => lines.flat().join(''))

/** The events of the independent parser. It does not handle a line ending that is cut. */
function oracle(text: string): readonly ServerSentEvent[] {
  const events: ServerSentEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => void events.push({ event, data }) })
  parser.feed(text.replaceAll('\r\n', '\n').replaceAll('\r', '\n'))
  return events
}

function eventsOf(events: EventStream, pieces: readonly Uint8Array[]): readonly ServerSentEvent[] {
  return pieces.flatMap((piece) => {
    const fed = events.feed(piece)
    if (fed === 'too_long') throw new Error('No event of this is too long.')
    return fed.map(({ event, data }) => ({ event, data }))
  })
}

describe('events', () => {
  test('are parsed like an independent parser does, for any lines split anywhere', () => {
    fc.assert(
      fc.property(stream, cuts, (text, places) => {
        const pieces = cutAt(new TextEncoder().encode(text), places)
        expect(eventsOf(createEventStream(), pieces)).toEqual(oracle(text))
      }),
      { numRuns: drawn(20_000) },
    )
  })

  test.each(['\n', '\r\n', '\r'])('are emitted at their last line end %j, before any further byte arrives', (end) => {
    const bytes = new TextEncoder().encode(`data: 1${end}${end}data: 2${end}${end}`)
    expect(eventsOf(createEventStream(), [bytes]).map(({ data }) => data)).toEqual(['1', '2'])
    const single = [...bytes].map((byte) => Uint8Array.of(byte))
    expect(eventsOf(createEventStream(), single).map(({ data }) => data)).toEqual(['1', '2'])
  })

  test.each([
    ['one line that does not end', 'data: ', '12345', 5],
    ['lines of one event', 'data: 1234\n', 'data: 1234\n', 4],
  ])('are reported when they exceed the limit: %s', (_name, first, next, limit) => {
    const events = createEventStream(limit + first.length - 1)
    const bytes = new TextEncoder()
    expect(events.feed(bytes.encode(first))).toEqual([])
    expect(events.feed(bytes.encode(next.repeat(3)))).toBe('too_long')
  })

  test('are the lines, if there is one per line', () => {
    const row = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ''))
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), cuts, (rows, places) => {
        const pieces = cutAt(new TextEncoder().encode(`${rows.join('\n')}\n`), places)
        const read = eventsOf(createLineStream(), pieces).map(({ data }) => data)
        expect(read).toEqual(`${rows.join('\n')}\n`.replace(/^\u{feff}/u, '').split('\n').slice(0, -1).map((one) => one.trim())) // prettier-ignore
      }),
      { numRuns: drawn(2_000) },
    )
  })
})
