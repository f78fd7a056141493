import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesPath, globPattern, reachedPositions } from '../../src/files/glob-pattern.ts'

test('checking the last name first does not change which paths a pattern matches', () => {
  const segment = fc.constantFrom(
    '**',
    '*',
    'a',
    'b',
    'ab',
    'a*',
    '*b',
    '?',
    '[ab]',
    '[!a]b',
    '\u{1F600}',
    '*\u{1F600}',
  )
  const name = fc.constantFrom('a', 'b', 'ab', 'ba', 'c', '\u{1F600}', 'a\u{1F600}')
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 5 }), fc.array(name, { maxLength: 5 }), (segments, names) => {
      const pattern = globPattern(segments.join('/'))
      expect(matchesPath(pattern, names)).toBe(reachedPositions(pattern, names).reached.has(pattern.length))
    }),
  )
})

test.each([
  ['?', '\u{1F600}', true],
  ['??', '\u{1F600}', false],
  ['a?b', 'a\u{1F600}b', true],
  ['*\u{1F600}', 'a\u{1F600}\u{1F600}', true],
  ['[\u{1F600}]', '\u{1F600}', true],
])('%s matches whole characters in %s: %s', (pattern, name, fits) => {
  expect(matchesPath(globPattern(pattern), [name])).toBe(fits)
})
