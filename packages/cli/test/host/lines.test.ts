// Rules: R-HOST-2.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Line, LineReader, lineOf } from '../../src/host/lines.ts'

function read(...chunks: readonly (string | Buffer)[]): readonly Line[] {
  const reader = new LineReader()
  return [...chunks.flatMap((chunk) => reader.push(Buffer.from(chunk))), ...reader.end()]
}

const object = (value: object) => ({ kind: 'object', value })

test('splits two lines in one write, and joins a line in many writes', () => {
  expect(read('{"a":1}\n{"b":2}\n')).toEqual([object({ a: 1 }), object({ b: 2 })])
  expect(read(...'{"a":"é€😀"}\n'.split(''))).toHaveLength(1)
})

test('joins a character that two writes split', () => {
  const bytes = Buffer.from('{"a":"€😀"}\n')
  for (let at = 0; at <= bytes.length; at++)
    expect(read(bytes.subarray(0, at), bytes.subarray(at))).toEqual([object({ a: '€😀' })])
})

test('ignores carriage returns, empty lines, a byte order mark and a missing last line feed', () => {
  expect(read('\uFEFF{"a":1}\r\n\r\n  \n\n{"b":2}\r\n{"c":3}')).toEqual([
    object({ a: 1 }),
    object({ b: 2 }),
    object({ c: 3 }),
  ])
})

test('U+2028 and U+2029 end no line, and are escaped in output', () => {
  const text = 'a\u2028b\u2029c'
  expect(read(`{"text":"${text}"}\n`)).toEqual([object({ text })])
  expect(lineOf({ text })).toBe('{"text":"a\\u2028b\\u2029c"}\n')
})

test('reads invalid UTF-8 within a text as U+FFFD', () => {
  expect(read(Buffer.from([...Buffer.from('{"a":"'), 0xff, 0xfe, ...Buffer.from('"}\n')]))).toEqual([
    object({ a: '\uFFFD\uFFFD' }),
  ])
})

test('reports a line that is not an object, and reads the next one', () => {
  expect(read('{"a":\n[1]\nnull\n{"b":2}\n')).toEqual([
    { kind: 'broken', because: 'is not valid JSON', text: '{"a":' },
    { kind: 'broken', because: 'is not a JSON object', text: '[1]' },
    { kind: 'broken', because: 'is not a JSON object', text: 'null' },
    object({ b: 2 }),
  ])
})

test('reads a message of 10 MB in small writes', () => {
  const text = 'x'.repeat(10 * 1024 * 1024)
  const bytes = Buffer.from(lineOf({ text }))
  const chunks = Array.from({ length: Math.ceil(bytes.length / 1024) }, (_, at) =>
    bytes.subarray(at * 1024, (at + 1) * 1024),
  )
  expect(read(...chunks)).toEqual([object({ text })])
})

const longest = 32 * 1024 * 1024

test('reads a line of 32 MiB, and only the beginning of a longer one', () => {
  const text = 'x'.repeat(longest - 10)
  expect(read(`{"text":"${text.slice(1)}"}\n`)).toEqual([object({ text: text.slice(1) })])
  expect(read(`{"text":"${text}"}\n{"a":1}\n`)).toEqual([
    { kind: 'too long', head: `{"text":"${text}`.slice(0, 1000) },
    object({ a: 1 }),
  ])
})

test('a line without an end does not fill the memory, and the lines around it are read', () => {
  const reader = new LineReader()
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  expect(reader.push(Buffer.from('{"before":1}\n'))).toEqual([object({ before: 1 })])
  const before = process.memoryUsage().arrayBuffers
  for (let at = 0; at < 200; at++) expect(reader.push(Buffer.from(chunk))).toEqual([])
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024)
  expect(reader.push(Buffer.from('\n{"a":1}\n'))).toEqual([
    { kind: 'too long', head: 'x'.repeat(1000) },
    object({ a: 1 }),
  ])
  expect(reader.end()).toEqual([])
})

test('finds the end of an overlong line and of the stream, wherever writes split it', () => {
  const bytes = Buffer.from(`{"a":1}\n{"type":"user","x":"${'y'.repeat(longest)}"}\n{"b":2}`)
  for (const size of [65_536, 1_000_003, longest]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    expect(read(...chunks)).toEqual([
      object({ a: 1 }),
      { kind: 'too long', head: bytes.toString('utf8', 8, 1008) },
      object({ b: 2 }),
    ])
  }
})

test('reads any lines unchanged, however they are split', () => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 8 }),
      (values, cuts) => {
        const bytes = Buffer.from(values.map(lineOf).join(''))
        const places = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)
        const chunks = [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length))
        // As JSON stores them: without -0.
        const kept = values.map((value) => JSON.parse(JSON.stringify(value)) as object)
        expect(read(...chunks)).toEqual(kept.map(object))
      },
    ),
  )
})
