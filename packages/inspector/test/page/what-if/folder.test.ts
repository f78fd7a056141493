import { suggestLimits, mayChange, whatIfPriced } from '@halting/analysis'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  savingsPlot,
  stoppedBy,
  suggestedFor,
  sumsAt,
  valuesToTry,
  type PastRun,
} from '../../../src/page/what-if/folder.ts'
import { limitNames } from '../../../src/page/what-if/limits.ts'
import { pastTurn, trajectoryWith } from '../support/plotted-run.ts'

function runOf(key: string, length: number, changing: readonly number[], isAnswered: boolean): PastRun {
  const turns = Array.from({ length }, (_, index) => pastTurn(index, [changing.includes(index) ? 'Write' : 'Read']))
  const ending = { reason: isAnswered ? 'completed' : 'error', limit: null, hasAnswer: isAnswered } as const
  return { key, run: 1, title: key, trajectory: trajectoryWith(turns, { ending }), unpriced: [] }
}

// The first answers after three turns; the second changes something in its second turn, and then continues without effect.
const runs = [runOf('answers', 3, [], true), runOf('wanders', 12, [1], false)]

const someRuns = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 80 }), fc.array(fc.nat(79)), fc.boolean()), { minLength: 1, maxLength: 6 })
  .map((all) => all.map(([length, changing, isAnswered], index) => runOf(`r${index}`, length, changing, isAnswered)))

describe('other limits over many sessions', () => {
  it('save and lose the sum of what they do in each', () => {
    expect(sumsAt('maxTurns', 3, runs)).toEqual({
      value: 3,
      stops: 1,
      unknown: 0,
      diverged: 0,
      saved: { turns: 9, tokens: 900, costUsd: 0.9, unknownUsd: 0, activeMs: 9_000 },
      lostAnswers: 0,
      lostChanges: 0,
    })
    expect(sumsAt('maxTurns', 1, runs)).toMatchObject({ stops: 2, lostAnswers: 1, lostChanges: 1 })
    expect(stoppedBy({ maxTurns: 3 }, runs).map(({ run }) => run.key)).toEqual(['wanders'])
  })

  it('are suggested as core suggests them, and marked on the plot', () => {
    const suggested = suggestedFor(runs)
    expect(suggested).toEqual(
      suggestLimits(
        runs.map(({ trajectory }) => trajectory),
        { changes: mayChange },
      ),
    )
    const sums = valuesToTry('maxTurns', runs, suggested).map((value) => sumsAt('maxTurns', value, runs))
    const plot = savingsPlot('maxTurns', sums, suggested)
    expect(plot.marks).toEqual([{ at: 3, label: 'suggested' }])
    const place = plot.x.values.indexOf(3)
    expect(plot.series.map(({ label, values }) => [label, values[place]])).toEqual([
      ['Dollars saved', 0.9],
      ['Answers lost', 0],
      ['Calls with changes lost', 0],
      ['Runs stopped', 1],
    ])
  })

  it('have no mark where nothing is saved without a loss', () => {
    const short = [runOf('answers', 3, [], true)]
    const plot = savingsPlot('maxTurns', [sumsAt('maxTurns', 2, short)], suggestedFor(short))
    expect(plot.marks).toEqual([])
    expect(plot.about).toContain('No value saves anything')
  })

  it('are tried at few, rising values that include the suggested ones and end with one that stops none', () => {
    fc.assert(
      fc.property(someRuns, fc.constantFrom(...limitNames), (all, name) => {
        const suggested = suggestedFor(all)
        const values = valuesToTry(name, all, suggested)
        expect(values.length).toBeLessThanOrEqual(64)
        expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b))
        const wished = suggested.map(({ limits }) => limits[name]).filter((value) => typeof value === 'number')
        expect(wished.filter((value) => !values.includes(value))).toEqual([])
        expect(sumsAt(name, values.at(-1) ?? 0, all).stops).toBe(0)
      }),
      { numRuns: 40 },
    )
  })

  it('add up to what each run would have saved', () => {
    fc.assert(
      fc.property(someRuns, fc.integer({ min: 1, max: 90 }), (all, maxTurns) => {
        const answers = all.map(({ trajectory }) => whatIfPriced(trajectory, { maxTurns }, []))
        const sums = sumsAt('maxTurns', maxTurns, all)
        expect(sums.saved.tokens).toBe(answers.reduce((sum, { saved }) => sum + saved.tokens, 0))
        expect(sums.stops).toBe(answers.filter(({ verdict }) => verdict === 'stops').length)
      }),
      { numRuns: 40 },
    )
  })
})
