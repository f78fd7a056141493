// Holds R-EVERY-2, R-EVERY-10, R-EVERY-10a and R-EVERY-14: the terms of a loop, and what is refused.
import { describe, expect, test } from 'vitest'
import { refuseFlagsOfOthers } from '../../src/flags/flag-commands.ts'
import { parseFlags } from '../../src/flags/parse.ts'
import type { StoredLoop } from '../../src/frontends/loop-record.ts'
import { requireBound, continuesLoop, flagsWithTerms, loopTerms } from '../../src/loop/loop-terms.ts'

const read = (...args: readonly string[]) => {
  const { flags, words } = parseFlags(args, { command: 'loop' })
  return loopTerms(flags, words[0] ?? '', undefined)
}

describe('refuses', () => {
  test.each([
    ['no prompt', ['--every', '1s', '--rounds', '2'], /^There is no prompt/],
    ['no prompt in a session without a loop', ['--continue', '--every', '1s'], /^The session has no loop to continue/],
    ['no time', ['x', '--rounds', '2'], /^Set the interval with --every 10m/],
    ['no rounds', ['x', '--every', '1s', '--rounds', '0'], /^--rounds takes a whole number from 1 to 1000000/],
    ['too many rounds', ['x', '--every', '1s', '--rounds', '1000001'], /^--rounds takes a whole number/],
    ['a time before now', ['x', '--every=-1s', '--rounds', '2'], /^--every takes a duration with a unit/],
    ['a year', ['x', '--every', '8760h', '--rounds', '2'], /at most 24 days/],
    ['a time without a unit', ['x', '--every', '10', '--rounds', '2'], /^--every takes a duration with a unit/],
    ['nonsense', ['x', '--every', 'often', '--rounds', '2'], /^--every takes a duration with a unit/],
    ['no time at all for all of it', ['x', '--every', '1s', '--for', '0'], /^--for takes a duration with a unit/],
    ['a compaction', ['/compact', '--every', '1s', '--rounds', '2'], /cannot repeat \/compact/],
    ['a host', ['x', '--every', '1s', '--input-format', 'stream-json'], /^--input-format stream-json is for hosts/],
  ])('%s', (_what, args, says) => {
    expect(() => read(...args)).toThrow(says)
  })

  test('the flags of halting loop without this command', () => {
    const { flags } = parseFlags(['-p', 'x', '--every', '1s'])
    expect(() => refuseFlagsOfOthers(flags, undefined)).toThrow('--every belongs to halting loop.')
  })
})

test.each(['0', '0s', '0ms'])('starts each round after the previous one with --every %s', (every) => {
  expect(read('x', '--every', every)).toEqual({ prompt: 'x', everyMs: 0 })
})

describe('a bound', () => {
  const none = { limits: { maxBudgetUsd: null }, goal: null } as Parameters<typeof requireBound>[1]
  const terms = { prompt: 'x', everyMs: 0 }

  test.each([
    ['rounds', { ...terms, rounds: 1 }, none],
    ['time', { ...terms, forMs: 1 }, none],
    ['a budget', terms, { ...none, limits: { ...none.limits, maxBudgetUsd: 1 } }],
    ['a goal', terms, { ...none, goal: { isChecked: true } }],
  ])('is %s', (_what, given, session) => {
    expect(() => requireBound(given, session as typeof none)).not.toThrow()
  })

  test.each([
    ['nothing', none],
    ['a limit of each round', { ...none, limits: { ...none.limits, maxRunUsd: 1, maxTurns: 3 } }],
    ['a goal that plan mode does not check', { ...none, goal: { isChecked: false } }],
  ])('is not %s', (_what, session) => {
    expect(() => requireBound(terms, session as typeof none)).toThrow('A loop needs a bound')
  })
})

test('continues a recorded loop with its terms unless flags replace them, including goals and budget', () => {
  const stored: StoredLoop = {
    id: 'ab',
    startedAtMs: 1,
    terms: { prompt: 'Check.', everyMs: 1_000, rounds: 3, maxBudgetUsd: 2, until: ['npm test'], untilTries: 2 },
  }
  expect([continuesLoop(stored, ''), continuesLoop(stored, 'Check.'), continuesLoop(stored, 'Other.')]).toEqual([
    true,
    true,
    false,
  ])
  const terms = loopTerms({ rounds: 9, maxTurns: 4 }, '', stored)
  expect(terms).toEqual({ ...stored.terms, rounds: 9 })
  expect(flagsWithTerms({ rounds: 9, maxTurns: 4 }, terms)).toMatchObject({
    maxTurns: 4,
    maxBudgetUsd: 2,
    until: ['npm test'],
    untilTries: 2,
  })
})
