// Tests R-TERM-23b: which limit would stop a run next.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextStop, type LeftOfRun } from '../../src/live-session/next-stop.ts'

const noFigures: LeftOfRun = { turns: null, usd: null, tokens: null, ms: null, repeats: null, perTurn: null }
const perTurn = { usd: 0.05, tokens: 10_000, ms: 30_000 }
const all: LeftOfRun = { turns: 20, usd: 1, tokens: 200_000, ms: 600_000, repeats: 20, perTurn }

test.each([
  ['turns', { ...all, turns: 3 }, { reason: 'max_turns', turns: 3, isEstimate: false }],
  ['dollars', { ...all, usd: 0.23 }, { reason: 'max_budget_usd', turns: 4, isEstimate: true }],
  ['tokens', { ...all, tokens: 25_000 }, { reason: 'token_limit', turns: 2, isEstimate: true }],
  ['time', { ...all, ms: 170_000 }, { reason: 'time_limit', turns: 5, isEstimate: true }],
  ['repeats', { ...all, repeats: 2 }, { reason: 'no_progress', turns: 2, isEstimate: false }],
] as const)('reports the nearest: %s', (_what, left, nearest) => {
  expect(nextStop(left)).toEqual(nearest)
})

test('reports only the turns without limits, and nothing without those', () => {
  expect(nextStop({ ...noFigures, turns: 993, perTurn })).toEqual({
    reason: 'max_turns',
    turns: 993,
    isEstimate: false,
  })
  expect(nextStop({ ...noFigures, perTurn })).toBeNull()
})

test('estimates nothing before the first turn is done, except used-up limits', () => {
  expect(nextStop({ ...noFigures, turns: 40, usd: 0.01, tokens: 1, ms: 1 })).toMatchObject({ reason: 'max_turns' })
  expect(nextStop({ ...noFigures, turns: 40, usd: 0 })).toEqual({
    reason: 'max_budget_usd',
    turns: 0,
    isEstimate: true,
  })
})

test('ignores a limit of which a turn costs nothing', () => {
  expect(nextStop({ ...noFigures, usd: 1, tokens: 5, ms: 9, perTurn: { usd: 0, tokens: 0, ms: 0 } })).toBeNull()
})

const amount = fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }), { nil: null })
const count = fc.option(fc.nat(5_000), { nil: null })
const left: fc.Arbitrary<LeftOfRun> = fc.record({
  turns: count,
  usd: amount,
  tokens: amount,
  ms: amount,
  repeats: count,
  perTurn: fc.option(
    fc.record({
      usd: fc.double({ min: 0, max: 1e6, noNaN: true }),
      tokens: fc.double({ min: 0, max: 1e6, noNaN: true }),
      ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
    }),
    { nil: null },
  ),
})

test('is never later than any of the limits alone would be', () => {
  fc.assert(
    fc.property(left, (figures) => {
      const turns = nextStop(figures)?.turns ?? Infinity
      expect(turns).toBeGreaterThanOrEqual(0)
      for (const name of ['turns', 'usd', 'tokens', 'ms', 'repeats'] as const)
        expect(turns).toBeLessThanOrEqual(
          nextStop({ ...noFigures, perTurn: figures.perTurn, [name]: figures[name] })?.turns ?? Infinity,
        )
    }),
  )
})
