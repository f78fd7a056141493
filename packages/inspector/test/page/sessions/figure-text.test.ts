import { expect, test } from 'vitest'
import { costWithGaps } from '../../../src/page/sessions/figure-text.ts'

test('dollars say which models have no price, and are not zero where none has one', () => {
  expect(costWithGaps(0.0123, [])).toBe('$0.0123')
  expect(costWithGaps(0, [])).toBe('$0.0000')
  expect(costWithGaps(0, ['gpt-x'])).toBe('no price')
  expect(costWithGaps(1.5, ['gpt-x', 'a\u202Eb'])).toBe('$1.50 without gpt-x, a⟦U+202E⟧b')
})
