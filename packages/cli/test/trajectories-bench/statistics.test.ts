// The statistics of bench/trajectories: known values first.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

type Interval = { readonly low: number; readonly high: number }
type Estimate = Interval & { readonly value: number }
type Scored = { readonly score: number; readonly failed: boolean; readonly cluster: string }
type Scorer = (row: readonly number[]) => number

const file = new URL('../../../../bench/trajectories/statistics.mjs', import.meta.url)
const statistics = (await import(file.href)) as {
  readonly randomOf: (seed: number) => () => number
  readonly shuffled: <Item>(items: readonly Item[], random: () => number) => Item[]
  readonly quantile: (values: readonly number[], share: number) => number | undefined
  readonly medianInterval: (values: readonly number[]) => Estimate | undefined
  readonly betaShare: (x: number, a: number, b: number) => number
  readonly exactInterval: (count: number, of: number) => Interval
  readonly areaOf: (rows: readonly Scored[], seed: number) => Estimate | undefined
  readonly clusteredRatio: (
    rows: readonly { readonly cluster: string; readonly part: number; readonly whole: number }[],
    seed: number,
  ) => Estimate | undefined
  readonly logisticRegression: (rows: readonly (readonly number[])[], labels: readonly boolean[]) => Scorer
  readonly decisionTree: (rows: readonly (readonly number[])[], labels: readonly boolean[]) => Scorer
  readonly scoresByOthers: (
    rows: readonly { readonly features: readonly number[]; readonly failed: boolean; readonly cluster: string }[],
    train: (rows: readonly (readonly number[])[], labels: readonly boolean[]) => Scorer,
    seed: number,
  ) => readonly number[]
}

const { areaOf, betaShare, clusteredRatio, exactInterval, quantile, medianInterval, randomOf, shuffled } = statistics

describe('exact intervals', () => {
  // binom.test of R.
  it.each([
    [0, 10, 0, 0.3084971],
    [1, 10, 0.002528579, 0.4450161],
    [5, 10, 0.187086, 0.812914],
    [10, 10, 0.6915029, 1],
    [50, 100, 0.3983211, 0.6016789],
    [0, 1731, 0, 0.002128799],
    [3, 300, 0.002066, 0.028942],
  ])('of %i in %i', (count, of, low, high) => {
    const found = exactInterval(count, of)
    expect(found.low).toBeCloseTo(low, 4)
    expect(found.high).toBeCloseTo(high, 4)
  })

  it('contain the share, and mirror with it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.double({ min: 0, max: 1, noNaN: true }), (of, part) => {
        const count = Math.round(part * of)
        const { low, high } = exactInterval(count, of)
        const other = exactInterval(of - count, of)
        expect(low).toBeLessThanOrEqual(count / of)
        expect(high).toBeGreaterThanOrEqual(count / of)
        expect(other.low).toBeCloseTo(1 - high, 8)
        expect(other.high).toBeCloseTo(1 - low, 8)
      }),
    )
  })

  it('are based on the beta distribution, which has a closed form if b is 1', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 0.99, noNaN: true }), fc.integer({ min: 1, max: 400 }), (x, a) => {
        expect(betaShare(x, a, 1)).toBeCloseTo(x ** a, 9)
        expect(betaShare(x, 1, a)).toBeCloseTo(1 - (1 - x) ** a, 9)
      }),
    )
  })
})

describe('medians and ratios', () => {
  it('interpolates quantiles', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5)
    expect(quantile([1, 2, 3, 4, 5], 0.25)).toBe(2)
    expect(quantile([], 0.5)).toBeUndefined()
  })

  it('have the median within its interval, and few values give their whole range', () => {
    expect(medianInterval([3, 1, 2])).toEqual({ value: 2, low: 1, high: 3, of: 3 })
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (values) => {
        const { value, low, high } = medianInterval(values) ?? { value: Number.NaN, low: 0, high: 0 }
        expect(low).toBeLessThanOrEqual(value)
        expect(high).toBeGreaterThanOrEqual(value)
      }),
    )
  })

  it('draw clusters, not runs: equal runs of one task are no additional evidence', () => {
    const rows = (times: number) =>
      [0, 1, 2, 3, 4, 5, 6, 7].flatMap((task) =>
        Array.from({ length: times }, () => ({ cluster: `task ${task}`, part: task % 2, whole: 1 })),
      )
    const [once, often] = [clusteredRatio(rows(1), 1), clusteredRatio(rows(50), 1)]
    expect(once?.value).toBe(0.5)
    expect(often).toEqual(once)
  })

  it('give the same interval for the same seed', () => {
    const rows = Array.from({ length: 30 }, (_, index) => ({ cluster: `${index}`, part: index, whole: 30 }))
    expect(clusteredRatio(rows, 3)).toEqual(clusteredRatio(rows, 3))
    expect(clusteredRatio([], 1)).toBeUndefined()
  })

  it('shuffle without losing anything', () => {
    const items = Array.from({ length: 50 }, (_, index) => index)
    const mixed = shuffled(items, randomOf(1))
    expect(mixed).not.toEqual(items)
    expect(mixed.toSorted((a, b) => a - b)).toEqual(items)
  })
})

describe('areas under curves', () => {
  const row = (score: number, failed: boolean, index: number): Scored => ({ score, failed, cluster: `${index}` })

  it('are 1 if every failure scores higher, 0 if lower, and 0.5 for equal scores', () => {
    expect(
      areaOf(
        [1, 2, 3, 4].map((score, index) => row(score, score > 2, index)),
        1,
      )?.value,
    ).toBe(1)
    expect(
      areaOf(
        [1, 2, 3, 4].map((score, index) => row(score, score < 3, index)),
        1,
      )?.value,
    ).toBe(0)
    expect(
      areaOf(
        [1, 1, 1, 1].map((score, index) => row(score, index > 1, index)),
        1,
      )?.value,
    ).toBe(0.5)
    expect(areaOf([row(1, true, 0), row(2, true, 1)], 1)).toBeUndefined()
  })

  it('are the share of pairs that are in order', () => {
    const drawn = fc.array(fc.record({ score: fc.integer({ min: 0, max: 9 }), failed: fc.boolean() }), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(drawn, (drawnRows) => {
        const rows = drawnRows.map(({ score, failed }, index) => row(score, failed, index))
        const pairs = rows
          .filter(({ failed }) => failed)
          .flatMap((a) => rows.filter(({ failed }) => !failed).map((b) => Math.sign(a.score - b.score) / 2 + 0.5))
        const share = pairs.length === 0 ? undefined : pairs.reduce((sum, pair) => sum + pair, 0) / pairs.length
        expect(areaOf(rows, 1)?.value ?? -1).toBeCloseTo(share ?? -1, 10)
      }),
    )
  })
})

describe('the small classifiers', () => {
  const random = randomOf(7)
  const made = Array.from({ length: 300 }, (_, index) => {
    const [signal, noise] = [random(), random()]
    return { features: [noise, signal], failed: signal + 0.2 * random() > 0.6, cluster: `${index % 60}` }
  })

  it.each(['logisticRegression', 'decisionTree'] as const)('%s finds the deciding feature', (name) => {
    const scores = statistics.scoresByOthers(made, statistics[name], 1)
    const area = areaOf(
      made.map(({ failed, cluster }, index) => ({ score: scores[index] ?? Number.NaN, failed, cluster })),
      1,
    )
    expect(area?.value).toBeGreaterThan(0.9)
  })

  it.each(['logisticRegression', 'decisionTree'] as const)(
    '%s finds nothing in noise, judged by unseen tasks',
    (name) => {
      const noise = made.map((each) => ({ ...each, features: [random(), random()] }))
      const scores = statistics.scoresByOthers(noise, statistics[name], 1)
      const rows = noise.map(({ failed, cluster }, index) => ({ score: scores[index] ?? Number.NaN, failed, cluster }))
      const { low, high } = areaOf(rows, 1) ?? { low: 1, high: 0 }
      expect(low).toBeLessThan(0.55)
      expect(high).toBeGreaterThan(0.45)
    },
  )

  it('treats a missing value as the mean', () => {
    const score = statistics.logisticRegression([[0], [1], [2], [3]], [false, false, true, true])
    expect(score([Number.NaN])).toBeCloseTo(score([1.5]), 10)
    expect(score([3])).toBeGreaterThan(score([0]))
  })
})
