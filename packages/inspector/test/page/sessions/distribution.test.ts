import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histogramOf, wordCounts } from '../../../src/page/sessions/distribution.ts'
import { rangeText } from '../../../src/page/sessions/figure-text.ts'
import { isInRange } from '../../../src/page/sessions/filter.ts'
import { figures } from '../../../src/page/sessions/row-kinds.ts'
import { sumsOf, sumTexts } from '../../../src/page/sessions/sums.ts'
import { rowWith, someRows } from '../support/rows.ts'

const someValue = fc.oneof(
  fc.constant(0),
  fc.nat(50),
  fc.nat(10_000_000),
  fc.nat(2_000_000_000).map((nanos) => nanos / 1e9),
  fc.double({ min: 0, max: 1e12, noNaN: true }),
)

describe('a histogram', () => {
  it('has each value in exactly one bar, and a bar shows the sessions in its range', () => {
    fc.assert(
      fc.property(fc.array(someValue, { maxLength: 60 }), fc.constantFrom(...figures), (values, figure) => {
        const { bins } = histogramOf(values, figure)
        for (const bin of bins) expect(values.filter((value) => isInRange(value, bin))).toHaveLength(bin.count)
        expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(values.length)
      }),
    )
  })

  it('has few bars, without gaps between them', () => {
    fc.assert(
      fc.property(
        fc.array(someValue, { minLength: 1, maxLength: 60 }),
        fc.constantFrom(...figures),
        (values, figure) => {
          const { bins } = histogramOf(values, figure)
          expect(bins.slice(1).map(({ from }) => from)).toEqual(bins.slice(0, -1).map(({ below }) => below))
          expect(bins.length).toBeLessThanOrEqual(345)
        },
      ),
    )
  })

  it('has a logarithmic scale for values over several magnitudes, with a bar for zeros', () => {
    expect(histogramOf([0, 0, 0.004, 0.03, 0.03, 0.4], 'costUsd')).toEqual({
      scale: 'logarithmic',
      bins: [
        { below: 0.002, count: 2 },
        { from: 0.002, below: 0.005, count: 1 },
        { from: 0.005, below: 0.01, count: 0 },
        { from: 0.01, below: 0.02, count: 0 },
        { from: 0.02, below: 0.05, count: 2 },
        { from: 0.05, below: 0.1, count: 0 },
        { from: 0.1, below: 0.2, count: 0 },
        { from: 0.2, below: 0.5, count: 1 },
      ],
    })
  })

  it('has a linear scale otherwise', () => {
    expect(histogramOf([3, 4, 4, 6], 'turns')).toEqual({
      scale: 'linear',
      bins: [
        { from: 3, below: 4, count: 1 },
        { from: 4, below: 5, count: 2 },
        { from: 5, below: 6, count: 0 },
        { from: 6, below: 7, count: 1 },
      ],
    })
  })

  it('has round bounds for times', () => {
    const { bins } = histogramOf([20_000, 7_000_000], 'activeMs')
    expect(bins.map((bin) => rangeText('activeMs', bin))).toEqual([
      '10.0 s to 30.0 s',
      '30.0 s to 1 min 0 s',
      '1 min 0 s to 2 min 0 s',
      '2 min 0 s to 5 min 0 s',
      '5 min 0 s to 10 min 0 s',
      '10 min 0 s to 30 min 0 s',
      '30 min 0 s to 1 h',
      '1 h to 2 h',
    ])
  })

  it('has no bar for no values, and one for zeros only', () => {
    expect(histogramOf([], 'turns').bins).toEqual([])
    expect(histogramOf([0, 0], 'turns').bins).toEqual([{ below: 1, count: 2 }])
  })
})

describe('words of rows', () => {
  it('are counted once per row, the most frequent first', () => {
    expect(wordCounts([['a', 'b', 'b'], ['b'], ['c']])).toEqual([
      { word: 'b', count: 2 },
      { word: 'a', count: 1 },
      { word: 'c', count: 1 },
    ])
  })
})

describe('totals', () => {
  it('are those of the rows in any order', () => {
    fc.assert(
      fc.property(someRows, (rows) => {
        const sums = sumsOf(rows)
        expect(sumsOf(rows.toReversed())).toEqual(sums)
        expect(sums.costUsd).toBeCloseTo(
          rows.reduce((sum, { costUsd }) => sum + costUsd, 0),
          9,
        )
        expect(sums.turns).toBe(rows.reduce((sum, { turns }) => sum + turns, 0))
      }),
    )
  })

  it('of two parts add up to those of the whole', () => {
    fc.assert(
      fc.property(someRows, fc.nat(40), (rows, at) => {
        const [first, second, whole] = [sumsOf(rows.slice(0, at)), sumsOf(rows.slice(at)), sumsOf(rows)]
        expect(first.tokens + second.tokens).toBe(whole.tokens)
        expect(first.costUsd + second.costUsd).toBeCloseTo(whole.costUsd, 9)
        expect(first.sessions + second.sessions).toBe(whole.sessions)
      }),
    )
  })

  it('say which models have no price', () => {
    const rows = [rowWith({ unpriced: ['x'] }), rowWith({ unpriced: ['x', 'a'] }), rowWith()]
    expect(sumsOf(rows)).toMatchObject({ unpriced: ['a', 'x'], sessionsUnpriced: 2, sessions: 3 })
  })

  it('name each session that they leave out, with the reason', () => {
    const rows = [
      rowWith({ sessionId: 's2', problem: 'It is damaged.' }),
      rowWith({ sessionId: 's1', problem: 'Torn.' }),
    ]
    expect(sumTexts(sumsOf([...rows, rowWith()]), 3).unread).toBe(
      '2 sessions could not be read and are in none of these figures: s1: Torn. s2: It is damaged.',
    )
    expect(sumTexts(sumsOf([rowWith()]), 1).unread).toBe('')
  })

  it('count each run once, and say how many copies they leave out', () => {
    const sums = sumsOf([rowWith({ runs: 3, copiedRuns: 2 }), rowWith({ runs: 1 })])
    expect([sums.runs, sums.copiedRuns]).toEqual([2, 2])
    expect(sumTexts(sums, 2).copies).toBe(
      '2 runs are copies and are not counted here; they count in their original sessions.',
    )
    expect(sumTexts(sumsOf([rowWith()]), 1).copies).toBe('')
  })
})
