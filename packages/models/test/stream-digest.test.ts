// Tests R-FAST-1 of docs/spec: only a broken stream is compared with an earlier one, and only a limited part of it.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteDigest, EventDigest } from '../src/http/stream-digest.ts'
import { countSteps } from './support/count-steps.ts'
import { drawn } from './support/deep.ts'

function digestOf(...datas: readonly string[]): string {
  const digest = new EventDigest()
  for (const data of datas) digest.add({ event: 'e', data })
  return String(digest)
}

const said = (text: string, id = 1): string => JSON.stringify({ id: `m-${id}`, text })
const long = Array.from({ length: 1_000 }, (_, index) => said(`word ${index}`))

describe('events', () => {
  test('are equal with other ids and times, and with keep-alive events', () => {
    const ping = '{"type": "ping"}'
    const others = long.flatMap((_, index) => [said(`word ${index}`, 9_000 - index), ...(index % 3 ? [ping, ''] : [])])
    expect(digestOf(...others)).toBe(digestOf(...long))
  })

  test.each([
    ['one at the beginning', [said('other'), ...long.slice(1)]],
    ['the last one', [...long.slice(0, -1), said('other')]],
    ['a missing one', long.slice(1)],
    ['one more at the end', [...long, long.at(-1)!]],
    ['two joined into one', [long[0]! + long[1]!, ...long.slice(2)]],
  ])('differ by %s', (_name, others) => {
    expect(digestOf(...others)).not.toBe(digestOf(...long))
  })

  test('that are long are distinguished by their beginning and their length', () => {
    const event = said('a'.repeat(5_000))
    expect(digestOf(event)).not.toBe(digestOf(said('a'.repeat(5_001))))
    expect(digestOf(event)).not.toBe(digestOf(said(`b${'a'.repeat(4_999)}`)))
    expect(digestOf(event)).toBe(digestOf(said('a'.repeat(5_000))))
  })

  test('are digested on demand, from a bounded part', () => {
    const digest = new EventDigest()
    const adding = countSteps(() => {
      for (const data of long) digest.add({ data: data + ' '.repeat(200) })
    })
    expect(adding.looked).toBe(0)
    expect(countSteps(() => void String(digest)).looked).toBeLessThan(40_000)
  })
})

describe('bytes', () => {
  const digestOfPieces = (pieces: readonly Uint8Array[]): string => {
    const digest = new ByteDigest()
    for (const piece of pieces) digest.add(piece)
    return String(digest)
  }

  test('are equal however they are split, and differ if one of the first changes or is missing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2, maxLength: 3_000 }), fc.nat(), fc.nat(), (bytes, cut, place) => {
        const whole = digestOfPieces([bytes])
        const at = cut % bytes.length
        expect(digestOfPieces([bytes.subarray(0, at), bytes.subarray(at)])).toBe(whole)
        expect(digestOfPieces([bytes.subarray(1)])).not.toBe(whole)
        const other = bytes.with(place % bytes.length, (bytes[place % bytes.length] ?? 0) ^ 1)
        expect(digestOfPieces([other])).not.toBe(whole)
      }),
      { numRuns: drawn(1_000) },
    )
  })

  test('beyond the first 16 KB are distinguished only by their number', () => {
    const bytes = new Uint8Array(100_000).fill(1)
    const pieces = [bytes.subarray(0, 10), bytes.subarray(10, 20_000), bytes.subarray(20_000)]
    expect(digestOfPieces(pieces)).toBe(digestOfPieces([bytes]))
    expect(digestOfPieces([bytes.subarray(1)])).not.toBe(digestOfPieces([bytes]))
    expect(digestOfPieces([bytes.with(16_383, 2)])).not.toBe(digestOfPieces([bytes]))
  })
})
