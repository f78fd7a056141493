import { crc32 } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32OfLittle, crc32OfMuch, crc32OfWritten } from '../../src/files/crc32.ts'

// What a writer sums by itself, a reader sums with zlib.
test('is that of zlib, by whichever it is made', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3_000 }), (bytes) => {
      const sum = crc32(bytes)
      expect([crc32OfLittle(bytes), crc32OfMuch(bytes)]).toEqual([sum, sum])
    }),
  )
  // The check value of the standard.
  expect(crc32OfLittle(Buffer.from('123456789'))).toBe(0xcbf43926)
})

test('is that of the bytes in UTF-8 of a text, of whichever characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (some, more) => {
      const all = some + more
      const sum = crc32(Buffer.from(all))
      expect([crc32OfWritten(all), crc32OfMuch(all), crc32OfLittle(Buffer.from(all))]).toEqual([sum, sum, sum])
    }),
  )
})
