import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isIsoTimeOfCalendar, isoTimeOf } from '../src/values/iso-time.ts'

const number = (most: number, digits: number): fc.Arbitrary<string> =>
  fc.nat(most).map((value) => String(value).padStart(digits, '0'))

test('accepts a text as a moment exactly when the calendar of the host formats it the same', () => {
  const parts = fc.tuple(number(9_999, 4), number(19, 2), number(39, 2), number(29, 2), number(59, 2), number(59, 2))
  fc.assert(
    fc.property(parts, ([year, month, day, hour, minute, second]) => {
      const text = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`
      const date = new Date(text)
      const isThere = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === text.slice(0, 19)
      expect(isIsoTimeOfCalendar(text)).toBe(isThere && year !== '0000')
    }),
    { numRuns: 2_000, examples: [[['2024', '02', '29', '00', '00', '00']], [['1900', '02', '29', '23', '59', '59']]] },
  )
})

test('reads what it writes, and nothing around it', () => {
  const written = isoTimeOf(1_796_000_000_123) ?? ''
  expect(isIsoTimeOfCalendar(written)).toBe(true)
  for (const text of [` ${written}`, `${written}\n`, written.slice(0, -1), '', '2026-01-31'])
    expect(isIsoTimeOfCalendar(text)).toBe(false)
})
