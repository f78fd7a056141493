// Holds R-CALIB-2 and R-CALIB-4 of docs/spec in words.
import { describe, expect, test } from 'vitest'
import {
  figureText,
  guessWarning,
  limitValue,
  lostText,
  noLimitText,
  sessionsWarning,
  shareText,
  solvedText,
} from '../../src/words/calibration-words.ts'
import { calibrateLimits } from '../../src/calibration/calibrate-limits.ts'
import type { GradedRun, RunGrade } from '../../src/grades/graded-run.ts'
import { durationMs } from '@halting/core/adapters'

const use = { usd: 1, tokens: 1_000, activeMs: 60_000, turns: 10 }
const runsBy = (by: RunGrade['by'], count: number): readonly GradedRun[] =>
  Array.from({ length: count }, () => ({
    sessionId: 's',
    model: 'm',
    repository: '/r',
    use,
    grade: { isGood: true, by },
  }))

test.each([
  [0, '0 %'],
  [0.00001, '0.01 %'],
  [0.0163, '1.6 %'],
  [0.02, '2 %'],
  [0.0004, '0.04 %'],
  [0.123, '12 %'],
  [1, '100 %'],
])('the share %d is written as %s', (share, text) => expect(shareText(share)).toBe(text))

test.each([
  [5_000, '5s'],
  [90_000, '1m30s'],
  [780_000, '13m'],
  [4_200_000, '1h10m'],
  [36_000_000, '10h'],
])('%d ms are written as %s, which a limit accepts', (ms, text) => {
  expect(limitValue('activeMs', ms)).toBe(text)
  expect(durationMs(text)).toBe(ms)
})

test.each([
  ['usd', 1.2, '$1.20', 1.2],
  ['usd', 240, '$240', 240],
  ['tokens', 1_300_000, '1,300,000', 1_300_000],
  ['turns', 41, '41', 41],
] as const)('%s %d', (figure, value, text, setting) => {
  expect(figureText(figure, value)).toBe(text)
  expect(limitValue(figure, value)).toBe(setting)
})

test('says that solved runs come from few sessions', () => {
  const of = (all: number, sessions: number): string =>
    sessionsWarning({ solved: { all, sessions, byPerson: 0, byGoal: 0, guessed: all } })
  expect([of(60, 60), of(60, 31), of(1, 1), of(0, 0)]).toEqual(['', '', '', ''])
  expect(of(60, 30)).toContain('These 60 solved runs are of 30 sessions.')
  expect(of(1_200, 1)).toBe(
    'These 1,200 solved runs are of 1 session. Runs of one session resemble each other, so the intervals are too narrow, and a limit may lose more than it says.',
  )
  const [group] = calibrateLimits(runsBy('goal', 3), { mayLose: 0.5 }).groups
  expect(group?.solved.sessions).toBe(1)
})

test('says what is lost, and why there is no limit', () => {
  const lost = { runs: 1, of: 64, share: 1 / 64, interval: { low: 0.0004, high: 0.084 } }
  expect(lostText(lost)).toBe('1 of 64 (1.6 %; 0–8.4 %)')
  const refused = { solved: 12, needed: 50 }
  expect(noLimitText({ why: 'few', ...refused })).toBe('too few solved runs: 12 of 50 needed')
  expect(noLimitText({ why: 'unpriced', ...refused })).toBe('too few solved runs with a price: 12 of 50 needed')
  expect(noLimitText({ why: 'unused', ...refused })).toBe('the solved runs used none')
})

describe('the text on weak grades', () => {
  const groupOf = (runs: readonly GradedRun[]) => {
    const [group] = calibrateLimits(runs, { mayLose: 0.05 }).groups
    if (group === undefined) throw new Error('no group')
    return group
  }

  test('names them', () => {
    const mixed = groupOf([...runsBy('person', 2), ...runsBy('guess', 6), ...runsBy('goal', 1)])
    expect(solvedText(mixed)).toBe('9 of 9 runs solved: 2 graded by you, 1 by their goals, 6 guesses')
    expect(guessWarning(mixed)).toContain('67 % of these grades are guesses')
    expect(guessWarning(groupOf(runsBy('guess', 3)))).toContain('All of these grades are guesses')
    expect(guessWarning(groupOf(runsBy('person', 3)))).toBe('')
  })
})
