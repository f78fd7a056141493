// Holds R-CTX-10d of docs/spec.md: what is not counted yet is estimated by the kinds of its characters. The counts are those of o200k_base
// (gpt-tokenizer 4.0.0); of these tokenizers the newer one needs fewer tokens for scripts other than Latin, and older ones up to three times as many.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roughTokens, upperBoundOfText } from '../../src/adapters/index.ts'
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

describe('an estimate is between 0.7 and 1.4 times what a tokenizer counts', () => {
  test.each(Object.keys(tokenSamples))('%s', (name) => {
    const ratio = roughTokens.estimate(tokenSamples[name] ?? '') / (counted[name] ?? Number.NaN)
    expect(ratio).toBeGreaterThan(0.7)
    expect(ratio).toBeLessThan(1.4)
  })

  test('and words of plain characters are four characters a token, as long as they may be', () => {
    for (const text of ['x'.repeat(4_000), 'page '.repeat(800), '  const a = takeFirst(b, c)\n'.repeat(100)])
      expect(roughTokens.estimate(text)).toBe(Math.ceil(text.length / 4))
  })
})

describe('whatever a text holds', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.base64String(),
    fc.string(),
  )

  test('the estimate is a whole number, and never above the bound that is reserved', () => {
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
})
