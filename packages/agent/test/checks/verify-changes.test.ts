// Holds R-VERI-21 and R-VERI-21a: who says what follows a change that nobody checked.
import { describe, expect, test } from 'vitest'
import { verifyChangesOf } from '../../src/open-session/resolved-options.ts'

const modes = ['ask', 'tell', 'off'] as const

describe('what follows a change that nobody checked', () => {
  test.each(modes)('is what was chosen, whatever settings and the frontend say: %s', (verifyChanges) => {
    for (const set of modes)
      for (const byDefault of modes)
        expect(verifyChangesOf({ verifyChanges }, { verifyChanges: set }, byDefault)).toBe(verifyChanges)
  })

  test.each(modes)('is else what settings say, but for a frontend that does neither: %s', (verifyChanges) => {
    expect(verifyChangesOf({}, { verifyChanges }, 'ask')).toBe(verifyChanges)
    expect(verifyChangesOf({}, { verifyChanges }, 'tell')).toBe(verifyChanges)
    expect(verifyChangesOf({}, { verifyChanges })).toBe(verifyChanges)
    expect(verifyChangesOf({}, { verifyChanges }, 'off')).toBe('off')
  })

  test('is else that of the frontend, which tells where it says nothing', () => {
    for (const byDefault of modes) expect(verifyChangesOf({}, {}, byDefault)).toBe(byDefault)
    expect(verifyChangesOf({}, {})).toBe('tell')
  })
})
