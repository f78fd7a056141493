// What is printed about the rounds of checks. Holds rules of docs/spec: R-GOAL-75.
import type { RunEvent } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { printed, streamView, user } from './view-support.ts'

describe('the line of a round', () => {
  const ended = (more: Partial<Extract<RunEvent, { type: 'goal_end' }>> & { readonly tail?: string }): RunEvent => {
    const { tail = '', ...others } = more
    const failed = { name: 'npm test', met: false, exitCode: 1, durationMs: 10, tail }
    return {
      type: 'goal_end',
      place: 'answer',
      met: false,
      checks: [failed],
      tampered: [],
      changedByChecks: [],
      changedTests: [],
      tries: 1,
      maxTries: 10,
      flaky: false,
      durationMs: 10,
      ...others,
    }
  }
  const begun: RunEvent = { type: 'goal_start', place: 'answer', goals: ['npm test'], tries: 1, maxTries: 10 }
  const line = (more: Parameters<typeof ended>[0]): string => printed(streamView(), [begun, ended(more)], 100)

  test('has the line that counts failures, else the last one', () => {
    expect(line({ tail: 'ok a\nTests  3 failed | 12 passed\nDuration 2 s' })).toContain(
      'goal: npm test ✗ (try 2 of 10: Tests 3 failed | 12 passed)',
    )
    expect(line({ tail: '# pass 2\n# fail 1\n# duration_ms 12' })).toContain('(try 2 of 10: # fail 1)')
    expect(line({ tail: 'a\n0 errors\nsegmentation fault' })).toContain('(try 2 of 10: segmentation fault)')
    expect(line({})).toBe('⏺ goal: npm test ✗ (try 2 of 10: exit code 1)')
  })

  test('names changed check files, and what the check changed', () => {
    expect(line({ checks: [], tampered: ['package.json (scripts.test)'] })).toBe(
      '⏺ goal: npm test ✗ (try 2 of 10: changed: package.json (scripts.test))',
    )
    expect(line({ met: true, changedByChecks: ['a.snap'] })).toBe(
      '⏺ goal: npm test ✓\n  The check changed 1 file: a.snap.',
    )
  })

  test('replaces what the model receives about it, and nothing else', () => {
    const report = user('The goal is not met: and so on', 'loop')
    const view = streamView()
    expect(printed(view, [begun, ended({}), report])).not.toContain('sent to the model')
    expect(printed(view, [user('Another word of the loop', 'loop')])).toContain('sent to the model')
    const turn: RunEvent = { type: 'turn_start', request: 2, turn: 2 }
    expect(printed(streamView(), [begun, ended({ met: true }), turn, user('Another word', 'loop')])).toContain(
      'sent to the model',
    )
  })
})
