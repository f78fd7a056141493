// Holds rules of docs/spec: R-TERM-13: the segmenter of the bundle splits a text as the runtime does, and its pattern matches the same emoji.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { lazyEmoji, lazySegmenter } from '../../src/terminal/screen/graphemes.ts'

const real = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

test('single characters stay separate graphemes next to any other', () => {
  const singles = Array.from({ length: 0xffff }, (_, code) => String.fromCharCode(code)).filter((character) =>
    Array.isArray(lazySegmenter.segment(character)),
  )
  expect(singles.length).toBeGreaterThan(30_000)
  // In pieces, because the time of the runtime is quadratic in the length of a text.
  for (let at = 0; at < singles.length; at += 256) {
    const piece = singles.slice(at, at + 257)
    expect([...real.segment(piece.join(''))].length).toBe(piece.length)
    expect([...real.segment(piece.toReversed().join(''))].length).toBe(piece.length)
  }
})

test('splits any text like the runtime', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('é', 'e\u0301', '👩‍💻', '🇩🇪', '漢字', '\r\n', '한', 'ᄒ', '⏺\uFE0F', '─', 'й'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('')
      expect([...lazySegmenter.segment(text)]).toEqual([...real.segment(text)])
    }),
  )
})

test('the emoji pattern matches the sequences, and nothing else', () => {
  const emoji = ['😀', '👩‍💻', '🇩🇪', '❤\uFE0F', '1\uFE0F\u20E3', '👍🏽']
  const others = ['', 'a', '1', '─', '❤', '漢', '⏺', '😀😀', '🇩']
  expect([...emoji, ...others].map((text) => lazyEmoji.test(text))).toEqual([
    ...emoji.map(() => true),
    ...others.map(() => false),
  ])
})
