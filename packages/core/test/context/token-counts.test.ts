// Tests R-CTX-10d: text without a count is estimated by the kinds of its characters. The counts are those of o200k_base
// (gpt-tokenizer 4.0.0). Among these tokenizers, newer ones need fewer tokens for scripts other than Latin, and older
// ones up to three times as many.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roughTokens, upperBoundOfText } from '../../src/entries/adapters.ts'
import { estimateByLoop, estimateByPatterns } from '../../src/model/token-estimate.ts'
import { drawn } from '../support/deep.ts'
import { tokenSamples } from '../support/token-samples.ts'

const counted: Readonly<Record<string, number>> = {
  base64: 1372,
  'base64 in lines': 1402,
  'base64 of a text': 911,
  'hexadecimal digits': 891,
  ids: 710,
  Chinese: 63,
  'Chinese, traditional': 67,
  Japanese: 80,
  Korean: 59,
  emoji: 244,
  'emoji in a list': 270,
  Russian: 43,
  Greek: 57,
  Arabic: 42,
  Hebrew: 42,
  Hindi: 35,
  Thai: 39,
  German: 37,
  French: 38,
  English: 40,
  code: 95,
  'numbered code': 123,
  JSON: 378,
  'JSON in one line': 154,
  numbers: 539,
  log: 1229,
  'a table': 245,
}

describe('an estimate is between 0.7 and 1.4 times the count of a tokenizer', () => {
  test.each(Object.keys(tokenSamples))('%s', (name) => {
    const ratio = roughTokens.estimate(tokenSamples[name] ?? '') / (counted[name] ?? Number.NaN)
    expect(ratio).toBeGreaterThan(0.7)
    expect(ratio).toBeLessThan(1.4)
  })

  test('and words of plain characters are four characters a token, whatever their length', () => {
    for (const text of ['x'.repeat(4_000), 'page '.repeat(800), '  const a = takeFirst(b, c)\n'.repeat(100)])
      expect(roughTokens.estimate(text)).toBe(Math.ceil(text.length / 4))
  })
})

describe('for any text', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.base64String(),
    fc.string(),
  )

  test('the estimate is an integer, and never above the reserved bound', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const estimate = roughTokens.estimate(text)
        expect(Number.isInteger(estimate) && estimate >= 0).toBe(true)
        expect(estimate).toBeLessThanOrEqual(upperBoundOfText(text))
      }),
      { numRuns: drawn(2_000) },
    )
  })

  test('more text is never fewer tokens', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom('\n', ' ', '。', '🚀'), anyText, (one, between, other) => {
        const both = roughTokens.estimate(one + between + other)
        expect(both).toBeGreaterThanOrEqual(Math.max(roughTokens.estimate(one), roughTokens.estimate(other)))
      }),
      { numRuns: drawn(1_000) },
    )
  })

  test('the estimate by patterns is the same for long texts at a start', () => {
    const parts = fc.constantFrom(
      'word',
      'B',
      '7',
      '+',
      '/',
      '=',
      '_',
      '-',
      'aB3',
      'x9Y8z7W6v5U4t3S2r1Q0',
      ' ',
      '\n',
      '{"',
    )
    const texts = fc.array(fc.oneof(parts, fc.string({ unit: 'binary-ascii' })), { maxLength: 80 })
    fc.assert(
      fc.property(texts, (all) => {
        const text = all.join('')
        expect(estimateByPatterns(text)).toBe(estimateByLoop(text))
        expect(roughTokens.estimate(text.padEnd(2_000, '7 x'))).toBe(estimateByLoop(text.padEnd(2_000, '7 x')))
      }),
      { numRuns: drawn(2_000) },
    )
  })

  test('runs of 20 characters or more count as random when a third of their neighbours are of different kinds', () => {
    const parts = fc.constantFrom('a', 'B', '7', '+', '/', '=', '_', '-', 'aB3', 'x9Y8z7W6v5U4t3S2r1Q0', ' ', '\n', '(')
    const texts = fc.array(parts, { maxLength: 60 }).map((all) => all.join(''))
    fc.assert(
      fc.property(texts, (text) => {
        const hundredths = (of: string): number =>
          Array.from(of).reduce((sum, each) => sum + (/\d/.test(each) ? 50 : 25), 0)
        const excess = text.split(/[^\w+/=-]/).map((run) => {
          const plainKinds = Array.from(run.replace(/[+/=_-]/g, '')).map((each) =>
            /\d/.test(each) ? 3 : /[A-Z]/.test(each) ? 2 : 1,
          )
          const changes = plainKinds.filter((kind, at) => at > 0 && kind !== plainKinds[at - 1]).length
          return run.length >= 20 && changes >= run.length * 0.35 ? run.length * 62 - hundredths(run) : 0
        })
        const all = excess.reduce((sum, each) => sum + each, hundredths(text))
        expect(roughTokens.estimate(text)).toBe(Math.ceil(all / 100))
      }),
      { numRuns: drawn(1_000) },
    )
  })
})
