import { crc32 } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32Of } from '../../src/files/crc32.ts'

test('equals the standard, also in chunks', () => {
  // The check value of the standard.
  expect(crc32Of('123456789')).toBe(0xcbf43926)
  expect(crc32Of('6789', crc32Of(Buffer.from('12345')))).toBe(0xcbf43926)
})

// A writer computes checksums of strings, a reader of bytes.
test("equals that of a text's UTF-8 bytes, for any characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (some, more) => {
      const bytes = Buffer.from(some + more)
      expect([crc32Of(some + more), crc32Of(bytes)]).toEqual([crc32(bytes), crc32(bytes)])
    }),
  )
})
