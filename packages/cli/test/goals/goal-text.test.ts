// Spec R-GOAL-62: what `halting -p` prints about goals, line by line.
import type { GoalCheck, GoalResult, RunEvent } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { followGoals, goalNotes, goalPart } from '../../src/headless/goal-text.ts'

const failed: GoalCheck = { name: 'npm test', met: false, exitCode: 1, durationMs: 9, tail: 'one\n3 failed' }
const passed: GoalCheck = { ...failed, met: true, exitCode: 0, tail: 'all passed' }
const result: GoalResult = {
  met: true,
  tries: 1,
  baseline: false,
  checks: [passed],
  tampered: [],
  changedTests: [],
  flaky: false,
}

function linesOf(isVerbose: boolean, ...events: readonly object[]): readonly string[] {
  const goals = followGoals(isVerbose)
  // True: the fields that are read exist.
  return events.flatMap((event) => goals.linesFor(event as RunEvent))
}

const begins = { type: 'goal_start', goals: ['npm test', 'npm run lint'] }
const ends = { type: 'goal_end', place: 'answer', met: false, checks: [failed], tampered: [], tries: 1, maxTries: 10 }

describe('a round of checks', () => {
  test.each([
    [ends, 'goal: npm test ✗ (try 2 of 10: 3 failed)'],
    [{ ...ends, tries: 10 }, 'goal: npm test ✗ (after 10 tries: 3 failed)'],
    [{ ...ends, place: 'baseline' }, 'goal: npm test ✗ (before the run: 3 failed)'],
    [
      { ...ends, checks: [], tampered: ['package.json (scripts.test)'] },
      'goal: npm test, npm run lint ✗ (try 2 of 10: changed: package.json (scripts.test))',
    ],
    [{ ...ends, met: true, checks: [passed] }, 'goal: npm test, npm run lint ✓'],
    [{ ...ends, checks: [{ ...failed, tail: '' }] }, 'goal: npm test ✗ (try 2 of 10: exit code 1)'],
    [{ ...ends, checks: [{ ...failed, tail: '', timedOut: true }] }, 'goal: npm test ✗ (try 2 of 10: timed out)'],
  ])('prints a line: %#', (end, line) => {
    expect(linesOf(false, begins, end)).toEqual([line])
  })

  test('prints the end of its report with --verbose, without terminal controls', () => {
    const steering = { ...ends, checks: [{ ...failed, tail: 'one\u001B[2J\n3 failed' }] }
    expect(linesOf(true, begins, steering)).toEqual(['goal: npm test ✗ (try 2 of 10: 3 failed)', '  one', '  3 failed'])
    expect(linesOf(true, begins, { ...ends, met: true, checks: [passed] })).toHaveLength(1)
  })

  test('does not print checks of a subagent', () => {
    expect(linesOf(false, { type: 'agent', callId: 'c', event: ends })).toEqual([])
  })
})

describe('the end of a run', () => {
  test.each([
    [result, 'goal met: npm test'],
    [{ ...result, heldFromStart: true }, 'goal met: npm test (already met at the start)'],
    [{ ...result, judged: true }, 'goal met: npm test (judged by a model)'],
    [{ ...result, met: false, checks: [failed] }, 'goal not met: npm test'],
    [{ ...result, met: 'unknown', checks: [failed] }, 'goal not checked after the last change'],
    [{ ...result, met: 'unknown', checks: [] }, 'goal not checked'],
    [undefined, ''],
  ] as const)('prints the state of the goal: %#', (goal, part) => {
    expect(goalPart({ reason: 'completed', ...(goal !== undefined && { goal }) })).toBe(part)
  })

  test('names test files that the agent changed, and what to do about a flaky check', () => {
    expect(goalNotes(result)).toEqual([])
    const changedTests = ['a.test.js', 'b.test.js', 'c.test.js', 'd.test.js', 'e.test.js', 'f.test.js', 'g.test.js']
    expect(goalNotes({ ...result, changedTests: changedTests.slice(0, 1) })).toEqual([
      'The agent changed 1 test file: a.test.js.',
    ])
    expect(goalNotes({ ...result, changedTests })).toEqual([
      'The agent changed 7 test files: a.test.js, b.test.js, c.test.js, d.test.js, e.test.js, 2 more.',
    ])
    expect(goalNotes({ ...result, flaky: true })[0]).toContain('--until-stable 3 requires that many passes in a row')
    expect(goalNotes({ ...result, flaky: true }, 5)[0]).toContain('--until-stable 10')
  })
})
