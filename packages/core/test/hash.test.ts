// Tests R-FAST-6: ids of messages are the same as in records of older versions.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashText, uuidOf, uuidsUnder } from '../src/values/hash.ts'
import { drawn } from './support/deep.ts'

test.each([
  ['session 1/run1/event:0', '15c86bbc-9e82-8217-afb3-df803aaf0d7b'],
  ['', '1c4425d7-d009-8107-91d3-587ca4bf175f'],
  ['é€😀', '05771f70-c6e1-8911-ae62-fa7eed080888'],
])('the UUID of %j is unchanged', (name, uuid) => {
  expect(uuidOf(name)).toBe(uuid)
})

test('makes a UUID from three hashes of its name, and the same one from two pieces of it', () => {
  const text = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(text, text, (beginning, rest) => {
      const name = beginning + rest
      const hex = [1, 2, 3].map((link) => hashText(name, link).toString(16).padStart(14, '0')).join('')
      const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16)
      const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
      expect(uuidOf(name)).toBe(uuid)
      const under = uuidsUnder(beginning)
      expect([under(rest), under(''), under(rest)]).toEqual([uuid, uuidOf(beginning), uuid])
    }),
    { numRuns: drawn(2_000) },
  )
})
