// Tests R-PROG-5: outputs are compared without parts that change by themselves.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exactHash, maskedHash, turnHash } from '../../src/limits/recent-turns.ts'
import { wellFormed } from '../../src/values/well-formed.ts'

const same = (a: string, b: string): boolean => maskedHash(a) === maskedHash(b)

describe('the masked hash', () => {
  test.each([
    ['numbers', 'pid 4711 has 3 children', 'pid 99 has 12 children'],
    ['numbers with separators and fractions', 'total 1,234.5 kB', 'total 9 kB'],
    ['times', 'at 2026-11-29T20:55:08.123Z ok', 'at 2025-01-02T03:04:05+01:00 ok'],
    ['times of a log', '[20:55:08.001] ready', '[7:05] ready'],
    ['durations', 'took 1m 30s in all', 'took 45s in all'],
    ['durations with a unit that is a word', 'done in 1.2 seconds.', 'done in 340 ms.'],
    ['durations in words', 'after 1 min 30 s', 'after 2 hours'],
    ['hashes', 'HEAD is at 1f0c2ab now', 'HEAD is at 77aa0e1 now'],
    [
      'UUIDs, also with a part without a digit',
      'id 123e4567-e89b-12d3-a456-426614174000',
      'id 1bcdefab-cdef-abcd-abcd-abcdefabcdef',
    ],
    ['addresses', 'at 0x7ffe12 in main', 'at 0x55aa in main'],
    ['temporary paths', 'wrote /tmp/vitest-ab/out.txt: ok', 'wrote /tmp/x/y-z/other.json: ok'],
    ['those of macOS', "open '/private/var/folders/ab/T/x'", "open '/private/var/folders/cd/T/yy/z'"],
    ['those of Windows', 'C:\\Users\\me\\AppData\\Local\\Temp\\a.txt', 'C:\\Users\\me\\AppData\\Local\\Temp\\b\\c'],
    ['lines in temporary files', '/tmp/a/b.ts:12:3 error', '/tmp/c.ts:7 error'],
    ['columns', 'size    12 kB', 'size 1,024 kB'],
    ['colours', '\u001B[31mfailed\u001B[0m: 3 tests', 'failed: 3 tests'],
    ['line ends', 'a\r\nb', 'a\nb'],
    ['tabs next to numbers', 'a\t5 b', 'a    5\tb'],
    ['numbers in other scripts', '共3个文件', '共12个文件'],
  ])('treats %s as the same', (_what, one, other) => {
    expect(same(one, other)).toBe(true)
  })

  test.each([
    ['another word', '3 tests failed', '3 tests passed'],
    ['another file', 'src/a.ts:3:1 error', 'src/b.ts:3:1 error'],
    ['a word that looks like a hash', 'the facade', 'the decade'],
    ['the case of a letter', 'Error', 'error'],
    ['one more line', 'error 1\nerror 2', 'error 1'],
    ['spaces in place of a line end', 'a b', 'a\nb'],
    ['a number in place of a word', 'the 5', 'the five'],
    ['another unit', 'size 12 kB', 'size 12 MB'],
    ['a path of another place', '/home/a/b', '/home/a/c'],
    ['the order of signs', 'f)(', 'f()'],
    ['a word of another script', '共3个文件', '共3个目录'],
    ['nothing', '', 'x'],
  ])('distinguishes %s', (_what, one, other) => {
    expect(same(one, other)).toBe(false)
  })

  const word = fc.stringMatching(/^[g-z]{1,9}$/)
  const number = fc.nat(10_000_000).map(String)
  const hex = fc.stringMatching(/^\d[\da-f]{6,39}$/)
  const clock = fc.tuple(fc.nat(23), fc.nat(59)).map(([hour, minute]) => `${hour}:${minute}`)
  const path = fc.stringMatching(/^\/tmp\/[\w-]{1,8}(\/[\w-]{1,8}){0,2}$/)
  const masked = fc.oneof(number, hex, clock, path)
  /** Words, and placeholders for values that are masked. */
  const parts = fc.array(
    fc.oneof(
      word.map((text) => ({ text })),
      fc.constant(null),
    ),
    { minLength: 1, maxLength: 30 },
  )
  const filled = (shape: readonly ({ readonly text: string } | null)[], fill: readonly string[]): string =>
    shape.map((part, index) => part?.text ?? fill[index % fill.length]).join(' = ')

  test('ignores a difference in masked values and detects one in a word anywhere', () => {
    fc.assert(
      fc.property(
        parts,
        fc.array(masked, { minLength: 1 }),
        fc.array(masked, { minLength: 1 }),
        (shape, one, other) => {
          expect(same(filled(shape, one), filled(shape, other))).toBe(true)
        },
      ),
    )
    fc.assert(
      fc.property(parts, fc.array(masked, { minLength: 1 }), fc.nat(), word, (shape, fill, at, other) => {
        const index = at % shape.length
        const changed = shape.with(index, { text: other })
        fc.pre(shape[index]?.text !== other)
        expect(same(filled(shape, fill), filled(changed, fill))).toBe(false)
      }),
    )
  })

  test('ignores escape sequences between words', () => {
    const sequence = fc.constantFrom(
      '\u001B[0m',
      '\u001B[1;31m',
      '\u001B[2K',
      '\u001B]0;title\u0007',
      '\u001B]8;;http://x\u001B\\',
    )
    fc.assert(
      fc.property(
        fc.array(fc.oneof(word, number), { minLength: 1 }),
        fc.array(sequence, { minLength: 1 }),
        (words, codes) => {
          const coloured = words.map((text, index) => `${codes[index % codes.length]}${text}\u001B[0m`)
          expect(same(coloured.join(' '), words.join(' '))).toBe(true)
        },
      ),
    )
  })

  test('hashes any text to a 32-bit integer that its link changes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), (text, link) => {
        const hash = maskedHash(text, link)
        expect([Number.isInteger(hash), hash >= 0, hash < 2 ** 32, maskedHash(text, link)]).toEqual([
          true,
          true,
          true,
          hash,
        ])
        expect(maskedHash(text, link + 1)).not.toBe(hash)
      }),
    )
  })

  test('does not depend on what was hashed before', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.oneof(word, number)).map((all) => all.join(' ')),
    )
    fc.assert(
      fc.property(text, text, (one, other) => {
        const alone = [maskedHash(one), exactHash(one, 1)]
        maskedHash(`${other}0123456789`.repeat(3))
        expect([maskedHash(one), exactHash(one, 1)]).toEqual(alone)
      }),
    )
  })

  test('distinguishes all texts by the exact hash, even huge ones that differ in one character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (one, other) => {
        expect(exactHash(one, 0) === exactHash(other, 0)).toBe(wellFormed(one) === wellFormed(other))
      }),
    )
    const huge = 'lorem ipsum '.repeat(25_000)
    for (const at of [0, 32_767, 32_768, 100_000, huge.length - 1])
      expect(exactHash(`${huge.slice(0, at)}#${huge.slice(at + 1)}`, 0)).not.toBe(exactHash(huge, 0))
  })

  test('compares the part of a huge text after its masked part exactly', () => {
    const huge = 'lorem ipsum '.repeat(25_000)
    expect(same(`1 ${huge}`, `2 ${huge}`)).toBe(true)
    expect(same(`${huge} 1`, `${huge} 2`)).toBe(false)
  })
})

test('compares a short result without letters exactly: its number is what was asked for', () => {
  const hash = (content: string): number =>
    turnHash(
      [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }],
      [{ type: 'tool_result', tool_use_id: 't', content }],
      false,
    )
  const differing: readonly (readonly [string, string])[] = [
    ['42 %', '43 %'],
    ['1\n', '2\n'],
    ['12:30:01', '12:30:02'],
  ]
  for (const [one, other] of differing) expect(hash(one)).not.toBe(hash(other))
  expect(hash('42 % done')).toBe(hash('43 % done'))
  expect(hash(`${'1 '.repeat(40)}2`)).toBe(hash(`${'1 '.repeat(40)}3`))
})
