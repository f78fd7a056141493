// Tests R-SECRET-6: values without keys are not copied, and values with keys are changed nowhere else.
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

test('a value without secrets is the same object, also next to one with secrets', () => {
  const plain = { list: ['a', 1, null, { b: true }] }
  expect(redactedValue(plain, redact)).toBe(plain)
  const mixed = { plain, said: 'a key' }
  const redacted = redactedValue(mixed, redact)
  expect(redacted).toEqual({ plain, said: 'a ***' })
  expect(redacted.plain).toBe(plain)
})
