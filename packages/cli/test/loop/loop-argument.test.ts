// Holds R-EVERY-15: the arguments of /loop.
import { describe, expect, test } from 'vitest'
import { parseLoopArgument } from '../../src/frontends/loop-argument.ts'

test.each([
  ['10m Check the build.', { everyMs: 600_000, prompt: 'Check the build.' }],
  ['10m x5 /review src', { everyMs: 600_000, rounds: 5, prompt: '/review src' }],
  ['90s for 2h Check.', { everyMs: 90_000, forMs: 7_200_000, prompt: 'Check.' }],
  ['0 for 2h x3 Check.\nTwice.', { everyMs: 0, forMs: 7_200_000, rounds: 3, prompt: 'Check.\nTwice.' }],
  ['5m for 3 files there are tests', { everyMs: 300_000, prompt: 'for 3 files there are tests' }],
])('starts a loop for %s', (given, terms) => {
  expect(parseLoopArgument(given)).toEqual({ kind: 'begin', terms })
})

test.each([
  ['', 'show'],
  [' ', 'show'],
  ['on', 'on'],
  ['OFF', 'off'],
])('parses "%s" as %s', (given, kind) => {
  expect(parseLoopArgument(given)).toEqual({ kind })
})

describe('says what to type for', () => {
  test.each([
    ['Check the build', /^Give the interval first\. \/loop 10m x5 PROMPT/],
    ['10m', /^The prompt is missing\./],
    ['10m x5', /^The prompt is missing\./],
    ['10m x0 Check.', /^x0 is not a whole number from 1 to 1000000\./],
    ['10 Check.', /^10 is not a duration with a unit/],
    ['-5m Check.', /^-5m is not a duration with a unit/],
    ['8760h Check.', /at most 24 days/],
  ])('"%s"', (given, says) => {
    expect(parseLoopArgument(given)).toEqual({ kind: 'wrong', says: expect.stringMatching(says) })
  })
})
