import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitText, linesOf, textWidth } from '../../../src/page/picture/text-width.ts'

const style = { size: 12 }
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ unit: fc.constantFrom('a', 'W', ' ', '  ', '\n', 'é', '日', '👩‍👩‍👧', '⟦U+202E⟧'), maxLength: 200 }),
)
const styles = fc.record({ size: fc.constantFrom(12, 20), isBold: fc.boolean(), isCode: fc.boolean() })
const withoutSpaces = (text: string): string => text.replaceAll(/\s+/g, '')

describe('a text in a picture', () => {
  it('is wrapped to lines that fit its width, and loses nothing', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 120, max: 400 }), styles, (text, width, style) => {
        const lines = linesOf(text, width, style)
        expect(lines.filter((line) => textWidth(line, style) > width + 1e-6)).toEqual([])
        expect(withoutSpaces(lines.join(''))).toBe(withoutSpaces(text))
      }),
    )
  })

  it('is truncated where it has too many lines, and says so', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 120, max: 400 }), fc.integer({ min: 1, max: 4 }), (text, width, most) => {
        const all = linesOf(text, width, style)
        const lines = linesOf(text, width, style, most)
        expect(lines).toHaveLength(Math.min(most, all.length))
        expect(lines.filter((line) => textWidth(line, style) > width + 1e-6)).toEqual([])
        expect(lines.slice(0, -1)).toEqual(all.slice(0, lines.length - 1))
        const isCut = all.length > most
        expect(isCut ? lines.at(-1)?.endsWith('…') : lines.at(-1) === all.at(-1)).toBe(true)
      }),
    )
  })

  it('is truncated between grapheme clusters on one line', () => {
    expect(fitText('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 60, style)).toBe('👩‍👩‍👧…')
    expect(fitText('a\n  b', 60, style)).toBe('a b')
    expect(fitText('anything', 3, style)).toBe('')
  })

  it('breaks at spaces, and preserves spaces in monospace text', () => {
    expect(linesOf('one two three', 60, style)).toEqual(['one two', 'three'])
    expect(linesOf('  turns    ███\n\n  x', 200, { size: 12, isCode: true })).toEqual(['  turns    ███', '', '  x'])
  })
})
