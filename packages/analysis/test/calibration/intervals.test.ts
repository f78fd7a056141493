// Holds R-CALIB-4 of docs/spec: the intervals follow the textbook definitions. Expected values come from SciPy 1.17.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  betaProbability,
  betaQuantile,
  countInterval,
  expectedLoss,
  savedInterval,
} from '../../src/calibration/intervals.ts'

describe('the beta distribution', () => {
  test.each([
    [0.5, 2, 3, 0.6875],
    [0.02, 1, 50, 0.635830319912883],
    [0.01, 2, 999, 0.9995207555464211],
    [0.3, 0.5, 0.5, 0.36901011956554536],
    [0.98, 490, 11, 0.5830440055275347],
    [0.5, 5_000, 5_000, 0.5],
    [0.001, 5, 20_000, 0.999983219460831],
    [0, 2, 3, 0],
    [1, 2, 3, 1],
  ])('I(%d; %d, %d) is %d', (x, a, b, expected) => {
    expect(betaProbability(x, a, b)).toBeCloseTo(expected, 9)
  })

  test.each([
    [0.025, 3, 48, 0.01254858783533406],
    [0.975, 4, 47, 0.16548194660377288],
    [0.975, 1, 50, 0.07112173646419764],
    [0.025, 100, 9_901, 0.008143596567611065],
  ])('quantile %d of Beta(%d, %d) is %d', (probability, a, b, expected) => {
    expect(betaQuantile(probability, a, b)).toBeCloseTo(expected, 9)
  })

  test('has a quantile function that inverts the probability, and sides that add up to one', () => {
    const size = fc.double({ min: 0.5, max: 3_000, noNaN: true })
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 0.999, noNaN: true }), size, size, (probability, a, b) => {
        const x = betaQuantile(probability, a, b)
        const back = betaProbability(x, a, b)
        expect(Math.abs(back - probability)).toBeLessThan(1e-7)
        expect(back + betaProbability(1 - x, b, a)).toBeCloseTo(1, 8)
      }),
    )
  })
})

describe('the interval of a count', () => {
  test.each([
    [0, 50, 0, 0.07112173646420458],
    [2, 100, 0.0024313368239247935, 0.07038393247107005],
    [10, 10, 0.6915028921812371, 1],
    [37, 1_731, 0.01509349640065874, 0.02934309270960692],
  ])('of %d of %d is %d to %d', (count, of, low, high) => {
    const interval = countInterval(count, of)
    expect(interval.low).toBeCloseTo(low, 9)
    expect(interval.high).toBeCloseTo(high, 9)
  })

  test('of 0 of 0 is 0 to 1', () => expect(countInterval(0, 0)).toEqual({ low: 0, high: 1 }))
})

test('has on average 2 of 101 future runs above the 99th smallest of 100', () => {
  const { share, interval } = expectedLoss(99, 100)
  expect(share).toBeCloseTo(2 / 101, 12)
  expect(interval.low).toBeCloseTo(0.00242, 4)
  expect(interval.high).toBeCloseTo(0.05446, 4)
})

describe('the interval of the saved share', () => {
  const runs = Array.from({ length: 60 }, (_, index) => ({ used: 100 + index, saved: index % 5 === 0 ? 50 : 0 }))

  test('is reproducible in any order and contains the share', () => {
    const share = (12 * 50) / runs.reduce((sum, { used }) => sum + used, 0)
    const interval = savedInterval(runs)
    expect(interval?.low).toBeLessThan(share)
    expect(interval?.high).toBeGreaterThan(share)
    expect(savedInterval(runs.toReversed())).toEqual(interval)
  })

  test('is null where nothing is saved', () => expect(savedInterval([{ used: 3, saved: 0 }])).toBeNull())
})
