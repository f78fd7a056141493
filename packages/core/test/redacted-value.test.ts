// Holds R-SECRET-6 of docs/spec: what holds no key is not copied, and what does is changed nowhere else.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactedValue } from '../src/redact/secrets.ts'

const redact = (text: string): string => text.replaceAll('key', '***')

test('every text and name is redacted, and nothing else is changed', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: fc.constantFrom('a', 'key', 'ke', '__proto__', '"') }), (value) => {
      const before = JSON.stringify(value)
      const after = JSON.stringify(redactedValue(value, redact))
      expect(after).not.toContain('key')
      expect(JSON.stringify(value)).toBe(before)
      expect(after === before).toBe(!before.includes('key'))
    }),
  )
})

test('what holds nothing to redact is the same object, also beside what does', () => {
  const plain = { list: ['a', 1, null, { b: true }] }
  expect(redactedValue(plain, redact)).toBe(plain)
  const mixed = { plain, said: 'a key' }
  const made = redactedValue(mixed, redact)
  expect(made).toEqual({ plain, said: 'a ***' })
  expect(made.plain).toBe(plain)
})
