// Holds rules of docs/spec: R-GRADE-4 to R-GRADE-6: the grade of a run and its source.
import { endings, type EndingReason } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gradeOf } from '../../src/grades/grade-of.ts'
import { gradedRuns, type GradingSources } from '../../src/grades/graded-runs.ts'
import { isRejection, foreignOutcomes, runOutcomes, type RunOutcome } from '../../src/grades/run-outcome.ts'
import { pastSession } from '../support/past-sessions.ts'

const plain: RunOutcome = {
  runId: 'run1',
  reason: 'completed',
  goal: null,
  isJudged: false,
  verified: null,
  isContinued: false,
  isRejected: false,
}
const reasons = Object.keys(endings) as readonly EndingReason[]
const outcomes: fc.Arbitrary<RunOutcome> = fc.record({
  runId: fc.constant('run1'),
  reason: fc.constantFrom(null, ...reasons),
  goal: fc.constantFrom(true, false, 'unknown' as const, null),
  isJudged: fc.boolean(),
  verified: fc.constantFrom(true, false, 'nothing changed' as const, null),
  isContinued: fc.boolean(),
  isRejected: fc.boolean(),
})

describe('gradeOf', () => {
  test.each<readonly [string, Partial<RunOutcome>, object | null]>([
    ['an answer', {}, { isGood: true, by: 'guess' }],
    ['an answer that a guard accepted', { reason: 'finish_reason' }, { isGood: true, by: 'guess' }],
    ['goals that programs found met', { goal: true }, { isGood: true, by: 'goal' }],
    ['goals that a model judged met', { goal: true, isJudged: true }, { isGood: true, by: 'guess' }],
    ['goals that were not met', { goal: false, reason: 'goal_unmet' }, { isGood: false, by: 'goal' }],
    [
      'goals that a model judged unmet',
      { goal: false, isJudged: true, reason: 'goal_unmet' },
      { isGood: false, by: 'guess' },
    ],
    ['goals that were met when a limit ended it', { goal: true, reason: 'max_turns' }, { isGood: true, by: 'goal' }],
    ['goals that were not checked since', { goal: 'unknown' }, null],
    ['an answer that no check followed', { verified: false }, null],
    ['an answer with a check behind it', { verified: true }, { isGood: true, by: 'guess' }],
    ['an answer that the next prompt rejects', { isRejected: true }, { isGood: false, by: 'guess' }],
    ['a limit', { reason: 'max_turns' }, { isGood: false, by: 'guess' }],
    ['an error', { reason: 'model_error' }, { isGood: false, by: 'guess' }],
    ['an abort', { reason: 'aborted_tools' }, null],
    ['a call that waits for a person', { reason: 'needs_approval' }, null],
    ['a run that did not end', { reason: null }, null],
    ['a run that another one continues', { reason: 'max_turns', isContinued: true }, null],
  ])('%s', (_, outcome, expected) => {
    expect(gradeOf({ ...plain, ...outcome })).toEqual(expected)
  })

  test('gives a person the last word, whatever the outcome of the run', () => {
    fc.assert(
      fc.property(outcomes, fc.constantFrom('good' as const, 'bad' as const), (outcome, person) => {
        expect(gradeOf(outcome, person)).toEqual({ isGood: person === 'good', by: 'person' })
      }),
    )
  })

  test('says good, without a person, only for goals that programs found met or an answer that nothing contradicts', () => {
    const isAllowed = (outcome: RunOutcome): boolean => {
      const { reason, goal, isJudged, isRejected, verified, isContinued } = outcome
      const isAnswer = (reason === 'completed' || reason === 'finish_reason') && !isRejected && verified !== false
      return !isContinued && (goal === true && !isJudged ? true : isAnswer && goal !== false && goal !== 'unknown')
    }
    fc.assert(
      fc.property(outcomes, (outcome) => {
        const grade = gradeOf(outcome)
        expect(grade?.isGood === true).toBe(isAllowed(outcome))
        expect(grade?.by === 'goal').toBe(
          !outcome.isContinued && !outcome.isJudged && typeof outcome.goal === 'boolean',
        )
        expect(grade?.by).not.toBe('person')
      }),
    )
  })

  test('never gets better because of a sign against the run', () => {
    const rank = (grade: ReturnType<typeof gradeOf>): number => (grade === null ? 1 : grade.isGood ? 2 : 0)
    fc.assert(
      fc.property(outcomes, (outcome) => {
        expect(rank(gradeOf({ ...outcome, isRejected: true }))).toBeLessThanOrEqual(
          rank(gradeOf({ ...outcome, isRejected: false })),
        )
        expect(rank(gradeOf({ ...outcome, verified: false }))).toBeLessThanOrEqual(
          rank(gradeOf({ ...outcome, verified: true })),
        )
      }),
    )
  })
})

describe('isRejection', () => {
  test.each([
    "That doesn't work, the test is red.",
    'It still fails with the same error',
    'No, the other file.',
    'this is wrong',
    'You forgot the tests',
    'not what I asked for. Please…',
    'Undo that and try again',
    'The button does not work on a phone',
  ])('treats "%s" as a rejection', (prompt) => expect(isRejection(prompt)).toBe(true))

  test.each([
    'Thanks! Now add a test for it.',
    '',
    'Nothing else for today.',
    'Now make the button red',
    'Notes: write them to NOTES.md',
    `Great. ${'x'.repeat(500)} it does not work`,
  ])('does not treat "%s" as a rejection', (prompt) => expect(isRejection(prompt)).toBe(false))
})

const startOf = (runId: string, prompt: string, continues?: string): StepRecord =>
  ({
    type: 'start',
    scope: '',
    at: 0,
    start: {
      run: { sessionId: 's', runId, agentPath: '', depth: 0, ...(continues !== undefined && { continues }) },
      added: [{ kind: 'user', id: `${runId}/0`, origin: 'prompt', message: { role: 'user', content: prompt } }],
    },
  }) as unknown as StepRecord
const endOf = (terminal: object): StepRecord => ({ type: 'end', scope: '', terminal }) as unknown as StepRecord

describe('outcomesOf', () => {
  test('reads endings, goals, checks, continuations, rewinds and the next prompt', () => {
    const check = { name: 'npm test', met: true, exitCode: 0, durationMs: 1, tail: '' }
    const goal = { met: true, checks: [check, { ...check, judged: true }], judged: true }
    const read = runOutcomes([
      [startOf('run1', 'Add it.'), endOf({ reason: 'max_turns' })],
      [startOf('run2', 'Continue.', 'run1'), endOf({ reason: 'completed', goal, verified: true })],
      [startOf('run3', 'It still fails.'), endOf({ reason: 'completed', verified: false })],
      [startOf('run4', 'Go.'), endOf({ reason: 'completed' }), { type: 'rewind', entries: 1 } as unknown as StepRecord],
      [startOf('run5', 'Other.')],
    ])
    expect(read).toEqual([
      { ...plain, runId: 'run1', reason: 'max_turns', isContinued: true },
      { ...plain, runId: 'run2', goal: true, verified: true, isRejected: true },
      { ...plain, runId: 'run3', verified: false },
      { ...plain, runId: 'run4', isRejected: true },
      { ...plain, runId: 'run5', reason: null },
    ])
  })

  test('marks goals as judged where a model judges all of them', () => {
    const judged = { name: 'it is nice', met: true, exitCode: null, durationMs: 1, tail: '', judged: true }
    const [outcome] = runOutcomes([
      [startOf('run1', 'Go.'), endOf({ reason: 'completed', goal: { met: true, judged: true, checks: [judged] } })],
    ])
    expect(outcome).toMatchObject({ goal: true, isJudged: true })
  })

  test('reads endings and the next prompt of other programs', () => {
    const run = (runId: string, text: string, reason: EndingReason | null) => ({
      run: { sessionId: 's', runId, agentPath: '', depth: 0 },
      prompts: [{ origin: 'prompt' as const, content: text }],
      turns: [],
      ending: reason === null ? null : { reason, message: '' },
    })
    expect(foreignOutcomes([run('run1', 'Go.', 'completed'), run('run2', 'That is wrong.', null)])).toEqual([
      { ...plain, isRejected: true },
      { ...plain, runId: 'run2', reason: null },
    ])
  })
})

describe('gradedRuns', () => {
  const sources: GradingSources = {
    grades: { of: (sessionId) => (sessionId === 'bad' ? { grade: 'bad' } : undefined) },
    repositoryOf: (folder) => folder.replace('/sub', ''),
  }
  const session = (id: string, outcome: Partial<RunOutcome> = {}, unpriced: readonly string[] = []) => ({
    ...pastSession(
      id,
      null,
      [
        { atHours: 1, usd: 2 },
        { atHours: 2, usd: 3, model: 'other', of: 'part' },
      ],
      unpriced,
    ),
    cwd: '/repo/sub',
    outcomes: [{ ...plain, ...outcome }],
  })

  test('have the model, the repository and the usage, including what the run inherited', () => {
    const past = session('a')
    const [run] = past.runs
    const carried = { turns: 3, tokens: 5, nanos: 1e9, ms: 100 }
    const runs = run === undefined ? [] : [{ ...run, trajectory: { ...run.trajectory, carried } }]
    expect(gradedRuns({ ...past, runs }, sources)).toMatchObject([
      {
        sessionId: 'a',
        model: 'm',
        repository: '/repo',
        use: { usd: 6, tokens: 25, activeMs: 2 * 3_600_000 + 60_000 + 100, turns: 5 },
        grade: { isGood: true, by: 'guess' },
      },
    ])
  })

  test('are graded by the person first, and have no dollars without prices', () => {
    expect(gradedRuns(session('bad', { goal: true }, ['m']), sources)).toMatchObject([
      { use: { usd: null }, grade: { isGood: false, by: 'person' } },
    ])
  })

  test('leave out copies and runs that later ones continue', () => {
    const past = session('a')
    expect(gradedRuns({ ...past, runs: past.runs.map((run) => ({ ...run, isCopy: true })) }, sources)).toEqual([])
    expect(gradedRuns(session('a', { isContinued: true }), sources)).toEqual([])
  })
})
