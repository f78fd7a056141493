// Holds R-VERI-21 and R-VERI-21a: who says what follows a change that nobody checked.
import { describe, expect, test } from 'vitest'
import { verifyChangesOf } from '../../src/open-session/resolved-options.ts'

const modes = ['ask', 'tell', 'off'] as const

describe('the verification mode', () => {
  test.each(modes)("is the caller's choice, regardless of settings and frontend: %s", (verifyChanges) => {
    for (const set of modes)
      for (const byDefault of modes)
        expect(verifyChangesOf({ verifyChanges }, { verifyChanges: set }, byDefault)).toBe(verifyChanges)
  })

  test.each(modes)('is otherwise the setting, unless the frontend disables it: %s', (verifyChanges) => {
    expect(verifyChangesOf({}, { verifyChanges }, 'ask')).toBe(verifyChanges)
    expect(verifyChangesOf({}, { verifyChanges }, 'tell')).toBe(verifyChanges)
    expect(verifyChangesOf({}, { verifyChanges })).toBe(verifyChanges)
    expect(verifyChangesOf({}, { verifyChanges }, 'off')).toBe('off')
  })

  test('is otherwise that of the frontend, which reports by default', () => {
    for (const byDefault of modes) expect(verifyChangesOf({}, {}, byDefault)).toBe(byDefault)
    expect(verifyChangesOf({}, {})).toBe('tell')
  })
})
