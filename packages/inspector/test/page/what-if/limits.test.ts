import * as fc from 'fast-check'
import { whatIf, mayChange, whatIfPriced } from '@halting/analysis'
import { describe, expect, it } from 'vitest'
import { svgOfPicture } from '../../../src/page/picture/picture.ts'
import {
  commandLine,
  keptSavedLost,
  limitFrom,
  limitNames,
  isDollars,
  isSmall,
  limitNamesOf,
  sliderOf,
  usedOf,
} from '../../../src/page/what-if/limits.ts'
import { heightWords, limitStops, stopPlace, turnBars } from '../../../src/page/what-if/turn-bars.ts'
import { pictureOfWhatIf } from '../../../src/page/what-if/what-if-picture.ts'
import { madeFrom, textsOf } from '../support/picture-text.ts'
import { pastTurn, trajectoryWith } from '../support/plotted-run.ts'

const turns = Array.from({ length: 10 }, (_, index) => pastTurn(index, index === 6 ? ['Write'] : ['Read']))
const trajectory = trajectoryWith(turns)

describe('limits to try', () => {
  it('count the usage of a run as its limits do, including what it inherited', () => {
    const carried = { turns: 2, tokens: 50, nanos: 1_000_000_000, ms: 700 }
    const { limits } = trajectory
    expect(usedOf({ ...trajectory, carried, limits: { ...limits, spentBeforeUsd: 0.25 } })).toEqual({
      maxTurns: 12,
      maxToolCalls: 10,
      maxBudgetUsd: 2.25,
      maxRunUsd: 2,
      maxTotalTokens: 1_050,
      maxDurationMs: 10_700,
      maxGoalTries: 0,
    })
  })

  it('include goal tries only for a run with goals, and no more than the program accepts', () => {
    expect(limitNamesOf(trajectory)).not.toContain('maxGoalTries')
    const { turns, limits } = trajectory
    const tried = { ...trajectory, turns: turns.map((turn, index) => (index === 2 ? { ...turn, tries: 1 } : turn)) }
    expect([limitNamesOf(tried).at(-1), usedOf(tried).maxGoalTries]).toEqual(['maxGoalTries', 1])
    expect(limitNamesOf({ ...trajectory, limits: { ...limits, maxGoalTries: 10 } })).toContain('maxGoalTries')
    expect([limitFrom('maxGoalTries', '1000'), limitFrom('maxGoalTries', '1001')]).toEqual([1_000, undefined])
    expect(commandLine('/a', { maxGoalTries: 3 })).toBe('halting what-if --until-tries 3 /a')
  })

  it('include dollars of the run and tool calls only for a run that had such a limit', () => {
    expect(limitNamesOf(trajectory)).not.toEqual(expect.arrayContaining(['maxRunUsd']))
    expect(limitNamesOf(trajectory)).not.toEqual(expect.arrayContaining(['maxToolCalls']))
    const limits = { ...trajectory.limits, maxRunUsd: 10, maxToolCalls: 50 }
    expect(limitNamesOf({ ...trajectory, limits })).toEqual(expect.arrayContaining(['maxRunUsd', 'maxToolCalls']))
    expect(commandLine('/a', { maxRunUsd: 0.5, maxToolCalls: 3 })).toBe(
      'halting what-if --max-tool-calls 3 --max-run-usd 0.5 /a',
    )
  })

  it('are above zero on every slider, which includes the actual usage', () => {
    fc.assert(
      fc.property(fc.constantFrom(...limitNames), fc.double({ min: 0, max: 1e9, noNaN: true }), (name, used) => {
        const value = isDollars(name) ? used : Math.round(used)
        const { min, max, step } = sliderOf(name, value)
        expect(min).toBeGreaterThan(0)
        expect(step).toBeGreaterThan(0)
        expect(max).toBeGreaterThanOrEqual(min)
        expect(max).toBeGreaterThanOrEqual(value - 1e-6)
        expect((max - min) / step).toBeLessThanOrEqual(isSmall(name) ? Infinity : 500)
      }),
    )
  })

  it('are parsed as a person types them, and invalid ones are ignored', () => {
    expect(limitFrom('maxDurationMs', '1.5')).toBe(1_500)
    expect(limitFrom('maxBudgetUsd', '0.05')).toBe(0.05)
    expect(limitFrom('maxTurns', '12')).toBe(12)
    for (const written of ['', ' ', '0', '-3', '1.5', 'x', '1e21'])
      expect(limitFrom('maxTurns', written)).toBeUndefined()
    expect(limitFrom('maxBudgetUsd', '1e-10')).toBeUndefined()
    // The program accepts no longer times.
    expect(limitFrom('maxDurationMs', '2147483.647')).toBe(2_147_483_647)
    expect(limitFrom('maxDurationMs', '2147484')).toBeUndefined()
  })

  it('are written as a command line of flags, followed by the name of the session', () => {
    const limits = { maxTurns: 3, maxTotalTokens: 9, maxDurationMs: 1_500, noProgress: true }
    expect(commandLine('--cluster http://c s-1', limits)).toBe(
      'halting what-if --max-turns 3 --max-tokens 9 --max-duration 1500ms --no-progress --cluster http://c s-1',
    )
    expect(commandLine('/a', { maxDurationMs: 60_000 })).toBe('halting what-if --max-duration 60s /a')
    expect(commandLine('/a', {})).toBeNull()
  })

  it('write dollars in decimal digits, as no flag accepts an exponent', () => {
    for (const maxBudgetUsd of [0.05, 5e-7, 1.25e-9, 12, 1e21, 1.7e308]) {
      const [, written = ''] = /--max-budget-usd (\S+) /.exec(commandLine('/a', { maxBudgetUsd }) ?? '') ?? []
      expect(written).toMatch(/^\d+(?:\.\d+)?$/)
      expect(Number(written)).toBe(maxBudgetUsd)
    }
  })
})

describe('the effect of other limits', () => {
  it('equals the result of core, and unknown dollars stop nothing', () => {
    expect(whatIfPriced(trajectory, { maxTurns: 4 }, ['m'])).toEqual(
      whatIf(trajectory, { maxTurns: 4 }, { changes: mayChange }),
    )
    expect(whatIfPriced(trajectory, { maxBudgetUsd: 100 }, ['m'])).toMatchObject({ verdict: 'unknown', reason: null })
    expect(whatIfPriced(trajectory, { maxBudgetUsd: 100 }, []).verdict).toBe('same')
    expect(whatIfPriced(trajectory, { maxTurns: 4 }, []).lost).toEqual({
      changes: { Write: 1 },
      calls: 6,
      answer: true,
    })
  })

  it('is marked at its turn, and within it where time ran out', () => {
    const placeOf = (limits: Parameters<typeof whatIf>[1]): number | null =>
      stopPlace(turnBars(trajectory, whatIfPriced(trajectory, limits, [])))
    expect(placeOf({})).toBeNull()
    expect(placeOf({ maxTurns: 4 })).toBe(4)
    expect(placeOf({ maxDurationMs: 2_250 })).toBeCloseTo(2.25)
    expect(placeOf({ maxBudgetUsd: 0.55 })).toBe(5)
  })

  it('has retries in the bar of their turn, and never more bars than can be distinguished', () => {
    const attempt = { isTold: false, countsAsTurn: false }
    const some = trajectoryWith([pastTurn(0), pastTurn(1, [], attempt), pastTurn(2)])
    expect(turnBars(some, whatIfPriced(some, {}, [])).map(({ from, to, height }) => [from, to, height])).toEqual([
      [1, 1, 0.2],
      [2, 2, 0.1],
    ])
    const long = trajectoryWith(Array.from({ length: 10_000 }, (_, index) => pastTurn(index)))
    const bars = turnBars(long, whatIfPriced(long, { maxTurns: 5_000 }, []))
    expect(bars.length).toBeLessThanOrEqual(240)
    expect(bars.at(-1)?.to).toBe(10_000)
    const kept = bars.reduce((sum, bar) => sum + bar.kept * (bar.to - bar.from + 1), 0)
    expect(kept).toBeCloseTo(5_000)
  })

  it('shows where each limit alone would stop the run, the earliest first', () => {
    const limits = { maxTurns: 7, maxBudgetUsd: 0.55, maxTotalTokens: 1_000_000, maxDurationMs: 2_250 }
    expect(limitStops(trajectory, limits, []).map(({ label, place }) => [label, place])).toEqual([
      ['Time 2.3 s', 2.25],
      ['Dollars $0.5500', 5],
      ['Turns 7', 7],
    ])
    expect(limitStops(trajectory, {}, [])).toEqual([])
  })

  it('is drawn as a picture with the texts of the page, including what would not have happened', () => {
    const limits = { maxTurns: 4, maxDurationMs: 6_000 }
    const answer = whatIfPriced(trajectory, limits, [])
    const picture = pictureOfWhatIf({
      tried: ['Turns 4: used 10, no limit.'],
      verdict: 'It <stops>.',
      figures: keptSavedLost(answer),
      notes: ['A note.'],
      bars: turnBars(trajectory, answer),
      stops: limitStops(trajectory, limits, []),
      heights: heightWords(trajectory),
      command: commandLine('/a', limits),
    })
    const svg = svgOfPicture(picture, madeFrom)
    expect(textsOf(svg)).toEqual([
      'What other limits would have done',
      'a test · 2026-11-23 14:05 (UTC)',
      'Turns 4: used 10, no limit.',
      'It <stops>.',
      'Kept: 4 turns, 400 tokens, $0.4000, 4.0 s',
      'Saved: 6 turns, 600 tokens, $0.6000, 6.0 s',
      'Lost: 1 call of Write, the answer',
      'A note.',
      'Turns 4',
      'Time 6.0 s',
      'turn 1',
      'turn 10',
      'The height of a bar is what its turn cost; all of them cost $1.00.',
      'halting what-if --max-turns 4 --max-duration 6s /a',
    ])
    expect(svg).toContain('<title>turn 10: would not have happened</title>')
    expect(svg).toContain('<title>Turns 4 would have stopped it</title>')
  })
})
