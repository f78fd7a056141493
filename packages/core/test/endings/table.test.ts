// Tests R-TERM-25 and R-TERM-26: the parts of a row agree, so that a frontend can present every ending by its row alone.
import { expect, test } from 'vitest'
import { endingLimits } from '../../src/endings/ending.ts'
import { endings } from '../../src/index.ts'

const rows = Object.entries(endings)

test.each(rows)(
  '%s: an action that raises a limit names a limit with a figure',
  (_reason, { limit, advice, actions, resume }) => {
    const parts = [advice.command, advice.editor, ...actions, resume]
    const raises = parts.some((part) => part !== null && typeof part === 'object' && part.kind === 'raise-limit')
    const raisedBy = limit === null ? null : endingLimits[limit].raisedBy
    expect(raises).toBe(raisedBy !== null)
  },
)

test.each(rows)(
  '%s: resumes by one of the offered actions, and an ending other than success explains itself',
  (_, row) => {
    const { actions, resume, announcement } = row
    expect(actions).toEqual(expect.arrayContaining(resume === null ? [] : [resume]))
    expect(actions.some(({ kind }) => kind === 'explain')).toBe(announcement !== 'success')
  },
)

test.each(rows)('%s: the sentence has no final period, and the advice has one', (_reason, { sentence, advice }) => {
  expect(sentence).toMatch(/^[a-z].*[^.]$/)
  const texts = Object.values(advice).filter((text): text is string => typeof text === 'string' && text !== '')
  expect(texts.filter((text) => !text.endsWith('.'))).toEqual([])
})

test('offers a wrap-up wherever the loop has one', () => {
  const wrapping = rows.filter(([, { wrapsUp }]) => wrapsUp)
  expect(wrapping.length).toBeGreaterThan(0)
  for (const [, { actions }] of wrapping) expect(actions).toContainEqual({ kind: 'last-answer' })
})
