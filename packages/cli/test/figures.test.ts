import { expect, test } from 'vitest'
import { elapsed, moneyAtMost, oneLine, printable } from '../src/io/figures.ts'

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_949, '59.9 s'],
  [59_999, '1 min 0 s'],
  [119_900, '2 min 0 s'],
  [600_000, '10 min 0 s'],
  [3_599_900, '1 h'],
  [5_400_000, '1 h 30 min'],
  [90_000_000, '25 h'],
])('formats %i ms as %s', (ms, shown) => {
  expect(elapsed(ms)).toBe(shown)
})

test.each([
  [0.000_01, '$0.0001'],
  [0.1, '$0.1000'],
  [0.123_41, '$0.1235'],
  [1.201, '$1.21'],
])('formats at most %f dollars as at most %s', (usd, shown) => {
  expect(moneyAtMost(usd)).toBe(shown)
})

test('prevents external text from changing the text direction of its line', () => {
  expect(oneLine('a\u001B[2J\u202Eb\u2066c\u200F\n\u2028d\u061C', 80)).toBe('abc d')
})

test('keeps the lines of a multi-line text, each with its text direction', () => {
  expect(printable('\u001B]0;title\u0007a\n\u200Fb\u009B31m\tc\r')).toBe(']0;titlea\n\u200Fb31m\tc')
})
