import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUuid } from '@halting/core/adapters'
import { newUuid } from '../src/files/new-uuid.ts'
import { shortDigest } from '../src/sessions/session-folder.ts'

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

test('equals the beginning of the SHA-256', () => {
  expect(shortDigest('')).toBe('e3b0c44298fc')
  expect(shortDigest('abc')).toBe('ba7816bf8f01')
  // Around the boundaries of blocks.
  for (let length = 50; length < 200; length++)
    expect(shortDigest('é'.padEnd(length, 'x'))).toBe(digestOf('é'.padEnd(length, 'x')))
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      expect(shortDigest(text)).toBe(digestOf(text))
    }),
  )
})

test('returns a different random UUID each time', () => {
  const ids = Array.from({ length: 100 }, () => newUuid())
  expect(new Set(ids).size).toBe(100)
  for (const id of ids) {
    expect(isUuid(id)).toBe(true)
    expect(id.slice(14, 15)).toBe('4')
  }
})
