// Holds R-CALIB-1 to R-CALIB-5 of docs/spec.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calibrateLimits, runsNeeded, roundedUp } from '../../src/calibration/calibrate-limits.ts'
import type { CalibratedGroup, CalibratedLimit, RefusedLimit } from '../../src/calibration/calibrated-limit.ts'
import type { GradedRun, RunGrade, RunUse } from '../../src/grades/graded-run.ts'

const good: RunGrade = { isGood: true, by: 'person' }
const bad: RunGrade = { isGood: false, by: 'person' }

function graded(use: Partial<RunUse>, grade: RunGrade | null = good, place: Partial<GradedRun> = {}): GradedRun {
  return {
    sessionId: 's',
    model: 'a-model',
    repository: '/repo',
    use: { usd: 1, tokens: 1_000, activeMs: 60_000, turns: 10, ...use },
    grade,
    ...place,
  }
}

function listOf<Item>(count: number, make: (index: number) => Item): readonly Item[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

function groupOf(runs: readonly GradedRun[], mayLose = 0.02): CalibratedGroup {
  const [group] = calibrateLimits(runs, { mayLose }).groups
  if (group === undefined) throw new Error('there is no group')
  return group
}

function limitOf(limit: CalibratedLimit | RefusedLimit): CalibratedLimit {
  if (limit.kind === 'refused') throw new Error(`refused: ${limit.why}`)
  return limit
}

describe('a calibrated limit', () => {
  const hundred = listOf(100, (index) => graded({ tokens: (index + 1) * 1_000, turns: index + 1 }))

  test('is the k-th smallest use, rounded up to a figure that a person would type', () => {
    const { tokens, turns } = groupOf(hundred).limits
    expect(limitOf(tokens)).toMatchObject({ rank: 99, solved: 100, quantile: 99_000, limit: 99_000 })
    expect(limitOf(turns)).toMatchObject({ quantile: 99, limit: 99, lost: { runs: 1, of: 100, share: 0.01 } })
    expect(limitOf(groupOf(hundred, 0.1).limits.tokens)).toMatchObject({ rank: 91, quantile: 91_000 })
  })

  test('equals the use of the runs where all used the same, and stops none', () => {
    const { turns, usd } = groupOf(listOf(50, () => graded({}))).limits
    expect(limitOf(turns)).toMatchObject({ limit: 10, lost: { runs: 0, of: 50 } })
    expect(limitOf(usd).limit).toBe(1)
  })

  test('is refused below 50 solved runs for 2 %, and below 20 for 5 %', () => {
    const solved = (count: number): readonly GradedRun[] => [...listOf(count, () => graded({})), graded({}, bad)]
    expect(groupOf(solved(49)).limits.turns).toEqual({ kind: 'refused', why: 'few', solved: 49, needed: 50 })
    expect(groupOf(solved(49)).together).toBeNull()
    expect(groupOf(solved(50)).limits.turns.kind).toBe('limit')
    expect(groupOf(solved(19), 0.05).limits.turns).toMatchObject({ why: 'few', needed: 20 })
    expect(groupOf(solved(20), 0.05).limits.turns.kind).toBe('limit')
  })

  test('in dollars leaves out runs without a price, and is refused where too few have one', () => {
    const priced = listOf(60, (index) => graded({ usd: index < 45 ? 1 : null }))
    expect(groupOf(priced).limits.usd).toEqual({ kind: 'refused', why: 'unpriced', solved: 45, needed: 50 })
    const enough = groupOf([...priced, ...listOf(5, () => graded({ usd: 3 }))])
    expect(limitOf(enough.limits.usd)).toMatchObject({ limit: 3, solved: 50, lost: { of: 50 } })
    expect(limitOf(enough.limits.turns).solved).toBe(65)
  })

  test('is refused where solved runs used nothing', () => {
    const free = groupOf(listOf(50, () => graded({ usd: 0 })))
    expect(free.limits.usd).toMatchObject({ kind: 'refused', why: 'unused' })
    expect(free.together?.limits).toEqual({ tokens: 1_000, activeMs: 60_000, turns: 10 })
  })

  test('saves what unsolved runs used beyond it', () => {
    const runs = [
      ...listOf(50, () => graded({ turns: 10 })),
      graded({ turns: 25 }, bad),
      graded({ turns: 17 }, null),
      graded({ turns: 9 }, bad),
    ]
    const group = groupOf(runs)
    expect(limitOf(group.limits.turns)).toMatchObject({ stops: 2, saved: { amount: 22, of: 551, share: 22 / 551 } })
    expect(group).toMatchObject({ runs: 53, solved: { all: 50, byPerson: 50, guessed: 0 }, ungraded: 1 })
  })

  test('counts a solved run that it stops as lost, not as saved', () => {
    const runs = [...listOf(99, () => graded({ turns: 10 })), graded({ turns: 1_000 })]
    const { turns } = groupOf(runs).limits
    expect(limitOf(turns)).toMatchObject({
      limit: 10,
      lost: { runs: 1, of: 100 },
      saved: { amount: 0, interval: null },
    })
  })

  test('stops the runs that what-if says it stops, where that is known', () => {
    const runs = [...listOf(50, () => graded({ turns: 10 })), graded({ turns: 30 }, bad)]
    const { groups } = calibrateLimits(runs, {
      mayLose: 0.02,
      needs: ({ use }) => ({ ...use, usd: 2.5 }),
      under: ({ use, grade }) => ({ stops: grade === bad ? 'yes' : 'maybe', saved: { ...use, usd: 0.25 } }),
    })
    const [group] = groups
    expect(group === undefined ? null : limitOf(group.limits.usd)).toMatchObject({
      limit: 2.5,
      lost: { runs: 50 },
      stops: 1,
      saved: { amount: 0.25 },
    })
  })
})

describe('combined limits', () => {
  test('lose every run that any of them loses', () => {
    const runs = listOf(100, (index) => graded({ turns: index === 7 ? 99 : 10, tokens: index === 9 ? 50_000 : 1_000 }))
    const { limits, together } = groupOf(runs)
    expect(limitOf(limits.turns).lost.runs).toBe(1)
    expect(limitOf(limits.tokens).lost.runs).toBe(1)
    expect(together).toMatchObject({ lost: { runs: 2, of: 100 }, limits: { turns: 10, tokens: 1_000 } })
  })
})

describe('groups', () => {
  const place = (model: string, repository: string, count: number): readonly GradedRun[] =>
    listOf(count, () => graded({}, good, { model, repository }))

  test('are models in repositories; small groups are also reported by model and over all runs', () => {
    const runs = [...place('a', '/one', 30), ...place('a', '/two', 60), ...place('b', '/one', 10)]
    const { groups, needed } = calibrateLimits(runs, { mayLose: 0.02 })
    expect(needed).toBe(50)
    expect(groups.map(({ model, repository, runs: count }) => [model, repository, count])).toEqual([
      ['a', '/two', 60],
      ['a', '/one', 30],
      ['b', '/one', 10],
      ['a', null, 90],
      [null, null, 100],
    ])
  })

  test('leave out runs that asked no model, and keep those whose model is unknown', () => {
    const none = graded({ usd: 0, tokens: 0, turns: 0 }, bad, { model: '' })
    const groups = (runs: readonly GradedRun[]): readonly unknown[] =>
      calibrateLimits(runs, { mayLose: 0.02 }).groups.map(({ model, runs: count }) => [model, count])
    expect(groups([none, ...listOf(3, () => graded({}))])).toEqual([['a-model', 3]])
    expect(groups([none])).toEqual([])
    expect(groups([graded({}, good, { model: '' })])).toEqual([['', 1]])
  })

  test('are not merged where each is large enough', () => {
    const { groups } = calibrateLimits([...place('a', '/one', 50), ...place('b', '/one', 50)], { mayLose: 0.02 })
    expect(groups.map(({ model }) => model)).toEqual(['a', 'b'])
  })

  test('name the source of their grades', () => {
    const by = (who: RunGrade['by'], count: number): readonly GradedRun[] =>
      listOf(count, () => graded({}, { isGood: true, by: who }))
    const group = groupOf([...by('person', 3), ...by('goal', 4), ...by('guess', 5)])
    expect(group.solved).toEqual({ all: 12, byPerson: 3, byGoal: 4, guessed: 5, sessions: 1 })
  })
})

describe('properties for arbitrary runs', () => {
  const uses = fc.record({
    usd: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
    tokens: fc.nat(5_000_000),
    activeMs: fc.nat(20_000_000),
    turns: fc.nat(400),
  })
  const grades = fc.constantFrom<RunGrade | null>(good, good, good, { isGood: true, by: 'guess' }, bad, null)
  const run = fc.tuple(uses, grades).map(([use, grade]) => graded(use, grade))
  const lists = fc.array(run, { minLength: 30, maxLength: 160 })

  test('the order of the runs does not matter', () => {
    fc.assert(
      fc.property(
        lists.chain((runs) =>
          fc.tuple(fc.constant(runs), fc.shuffledSubarray(runs, { minLength: runs.length, maxLength: runs.length })),
        ),
        ([runs, shuffled]) => {
          expect(calibrateLimits(shuffled, { mayLose: 0.05 })).toEqual(calibrateLimits(runs, { mayLose: 0.05 }))
        },
      ),
      { numRuns: 25 },
    )
  })

  test('a limit loses no more of its own solved runs than allowed, and a larger share gives no larger limit', () => {
    const share = fc.double({ min: 0.02, max: 0.4, noNaN: true })
    fc.assert(
      fc.property(lists, share, share, (runs, one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)]
        const [strict, loose] = [groupOf(runs, low).limits, groupOf(runs, high).limits]
        for (const figure of ['usd', 'tokens', 'activeMs', 'turns'] as const) {
          const limit = strict[figure]
          if (limit.kind === 'refused') continue
          expect(limit.limit).toBeGreaterThanOrEqual(limit.quantile)
          expect(limit.lost.runs).toBeLessThanOrEqual(limit.solved - limit.rank)
          const other = loose[figure]
          expect(other.kind === 'limit' || other.why === 'unused').toBe(true)
          expect(other.kind === 'limit' ? other.limit : 0).toBeLessThanOrEqual(limit.limit)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('one more solved run below a limit never removes or raises the limit', () => {
    fc.assert(
      fc.property(lists, (runs) => {
        const before = groupOf(runs, 0.05).limits.turns
        fc.pre(before.kind === 'limit')
        const after = groupOf([...runs, graded({ turns: before.quantile })], 0.05).limits.turns
        expect(limitOf(after).limit).toBeLessThanOrEqual(before.limit)
      }),
      { numRuns: 60 },
    )
  })

  test('a figure is rounded up, by at most a tenth above two digits', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('usd', 'tokens', 'turns', 'activeMs'),
        fc.integer({ min: 1, max: 1e8 }),
        (figure, n) => {
          const value = figure === 'usd' ? n / 1_000 : n
          const rounded = roundedUp(figure, value)
          expect(rounded).toBeGreaterThanOrEqual(value)
          const step = figure === 'usd' ? 0.01 : figure === 'activeMs' ? 5_000 : 1
          expect(rounded).toBeLessThan(Math.max(value * 1.1, value + step) + 1e-9)
          expect(roundedUp(figure, rounded)).toBe(rounded)
        },
      ),
    )
  })

  test.each([
    ['usd', 0.0723, 0.08],
    ['usd', 0.07, 0.07],
    ['usd', 2.31, 2.4],
    ['usd', 23.1, 24],
    ['tokens', 1_234_567, 1_300_000],
    ['tokens', 7, 7],
    ['turns', 41, 41],
    ['turns', 123, 130],
    ['activeMs', 12_345, 15_000],
    ['activeMs', 61_000, 90_000],
    ['activeMs', 754_000, 780_000],
    ['activeMs', 4_000_000, 4_200_000],
  ] as const)('%s %d becomes %d', (figure, value, expected) => expect(roundedUp(figure, value)).toBe(expected))
})

describe('future runs', () => {
  // A skewed distribution, as the usage of runs has: e to the sum of four uniform variables, drawn by a generator with a fixed seed.
  function drawing(seed: number): () => number {
    let state = seed
    const next = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 4_294_967_296
    }
    return () => Math.round(1_000 * Math.exp(2 * (next() + next() + next() + next())))
  }

  test.each([
    [60, 0.02],
    [150, 0.02],
    [40, 0.05],
  ])('a limit on %d solved runs loses at most %d on average, and no more when rounded up', (count, mayLose) => {
    const draw = drawing(7)
    const draws = 2_000
    const each = 50
    let [lost, lostOfRounded, expected] = [0, 0, 0]
    for (let sample = 0; sample < draws; sample++) {
      const solved = listOf(count, () => graded({ tokens: draw() }))
      const { quantile, limit, toExpect } = limitOf(groupOf(solved, mayLose).limits.tokens)
      expected += toExpect.share
      for (let next = 0; next < each; next++) {
        const tokens = draw()
        if (tokens > quantile) lost++
        if (tokens > limit) lostOfRounded++
      }
    }
    // Four standard errors: the loss of one sample varies by about its own size.
    const error = (4 * mayLose) / Math.sqrt(draws)
    expect(expected / draws).toBeLessThanOrEqual(mayLose)
    expect(Math.abs(lost / (draws * each) - expected / draws)).toBeLessThan(error)
    expect(lostOfRounded).toBeLessThanOrEqual(lost)
    expect(lostOfRounded).toBeGreaterThan(0)
  })
})

test('rejects a share outside 0 to 1 and a value that is not a list', () => {
  for (const mayLose of [0, 1, -0.1, 2, NaN])
    expect(() => calibrateLimits([], { mayLose })).toThrow(/above 0 and below 1, such as 0\.02/)
  const nothing: never[] = JSON.parse('{}')
  expect(() => calibrateLimits(nothing, { mayLose: 0.02 })).toThrow(/a list of graded runs/)
  expect(calibrateLimits([], { mayLose: 0.02 })).toEqual({ mayLose: 0.02, needed: 50, groups: [] })
  expect(runsNeeded(0.03)).toBe(34)
})
