import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createObjectScanner } from '../src/openai/call-pieces.ts'

function isWhole(...pieces: readonly string[]): boolean {
  const scanner = createObjectScanner()
  for (const piece of pieces) scanner.feed(piece)
  return scanner.isWhole()
}

describe('detects a complete object by its outermost brace', () => {
  test('for every object, however it is written and split, exactly at its last brace', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue())
    const json = fc
      .tuple(object, fc.constantFrom(0, 2), fc.constantFrom('', ' ', '\n\t'))
      .map(([value, indent, space]) => space + JSON.stringify(value, null, indent))
    fc.assert(
      fc.property(json, fc.nat(), (text, seed) => {
        const at = seed % text.length
        expect(isWhole(text.slice(0, at), text.slice(at))).toBe(true)
        expect(isWhole(text.slice(0, at))).toBe(false)
        expect(isWhole(...text.split(''), ' \n')).toBe(true)
      }),
    )
  })

  test.each(['', ' ', '[1]', '"{}"', 'null', '}', '[}', '[{}', 'x{}', '{"a":"}', '{"a":"\\"}', '{"a":[1}'])(
    'not for %j',
    (text) => {
      expect(isWhole(text)).toBe(false)
    },
  )

  test('again after a reset', () => {
    const scanner = createObjectScanner()
    scanner.feed('{}')
    scanner.reset()
    expect(scanner.isWhole()).toBe(false)
    scanner.feed('{"a":{}}')
    expect(scanner.isWhole()).toBe(true)
  })
})
