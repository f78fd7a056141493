// Holds rules of docs/spec: R-LIM-78, R-LIM-80 to R-LIM-85.
import * as fc from 'fast-check'
import type { StandingBudgets } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { answerBudgets, type AnsweredBudgets } from '../../src/what-if/answer-budgets.ts'
import { mayChange } from '../../src/what-if/changing-calls.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { randomOf, liveRun, worldOf } from '../support/what-if-world.ts'
import { localPeriod, localTime, type StandingLimit } from '../../src/what-if/standing-limits.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { dayBudget, standingRun } from '../support/standing-runs.ts'
import { drawnSessions, manyPast, pastSession } from '../support/past-sessions.ts'

const at = (day: number, hour: number): number => new Date(2026, 10, day, hour).getTime()

function answerFor(
  sessions: Parameters<typeof manyPast>[0],
  ...budgets: readonly StandingLimit[]
): Promise<AnsweredBudgets> {
  return answerBudgets(manyPast(sessions), budgets, 'left out')
}

describe('a standing budget over several sessions', () => {
  const first = pastSession('first', at(20, 8), [
    { atHours: 0, usd: 4 },
    { atHours: 4, usd: 4 },
    { atHours: 20, usd: 4 },
  ])
  const second = pastSession('second', at(20, 10), [
    { atHours: 0, usd: 3 },
    { atHours: 3, usd: 1 },
  ])

  test('ends the run whose request does not fit next to the spending of others, in order of time', async () => {
    const { answers, periods } = await answerFor([first, second], { per: 'day', usd: 9 })
    expect(answers.map(({ answer }) => [answer.verdict, answer.reason, answer.kept.turns])).toEqual([
      ['stops', 'max_budget_usd', 1],
      ['same', 'completed', 2],
    ])
    expect(answers[0]?.answer).toMatchObject({
      by: { limit: 'standing', used: 7, max: 9 },
      standing: {
        budget: '$9 a day',
        at: localTime(at(20, 12)),
        resetsAt: localTime(at(21, 0)),
        notMade: 2,
      },
      saved: { turns: 2, costUsd: 8 },
      lost: { changes: { Edit: 1 }, answer: true },
    })
    expect(periods).toEqual([
      {
        budget: '$9 a day',
        period: '2026-11-20',
        maxUsd: 9,
        recordedUsd: 12,
        spentUsd: 8,
        ended: 1,
        notMade: 2,
        waited: 0,
      },
      {
        budget: '$9 a day',
        period: '2026-11-21',
        maxUsd: 9,
        recordedUsd: 4,
        spentUsd: 0,
        ended: 0,
        notMade: 0,
        waited: 0,
      },
    ])
  })

  test('counts a month over its days, and a model by its pattern alone', async () => {
    const month = await answerFor([first, second], { per: 'month', usd: 13 })
    expect(month.answers.map(({ answer }) => answer.verdict)).toEqual(['stops', 'same'])
    expect(month.answers[0]?.answer.standing?.resetsAt).toBe(localTime(new Date(2026, 11, 1).getTime()))
    const other = await answerFor([first, second], { per: 'day', usd: 1, model: 'claude-*' })
    expect(other.answers.map(({ answer }) => answer.verdict)).toEqual(['same', 'same'])
    expect(other.periods).toEqual([])
  })

  test('names the budget with the least left', async () => {
    const { answers } = await answerFor([first], { per: 'month', usd: 9 }, { per: 'day', usd: 5, model: 'm' })
    expect(answers[0]?.answer.standing?.budget).toBe('$5 a day for m')
  })

  test('makes requests that fit once reservations of others are released, and counts the wait', async () => {
    const long = pastSession('long', at(20, 8), [{ atHours: 0, usd: 1, mostUsd: 9, minutes: 120 }])
    const beside = pastSession('beside', at(20, 9), [{ atHours: 0, usd: 5 }])
    const { answers, periods } = await answerFor([long, beside], { per: 'day', usd: 10 })
    expect(answers.map(({ answer }) => answer.verdict)).toEqual(['same', 'same'])
    expect(periods).toMatchObject([{ waited: 1, spentUsd: 6 }])
  })

  test('truncates a reply at the remaining cap, which ends the run', async () => {
    const cut = pastSession('cut', at(20, 8), [{ atHours: 0, usd: 9, leastUsd: 1, mostUsd: 10, outputTokens: 90 }])
    const { answers } = await answerFor([cut], { per: 'day', usd: 6 })
    expect(answers[0]?.answer).toMatchObject({
      verdict: 'stops',
      kept: { turns: 1, costUsd: 6 },
      standing: { notMade: 0 },
    })
  })

  test.each([
    [
      'a subagent was refused',
      [
        { atHours: 0, usd: 4 },
        { atHours: 1, usd: 4, of: 'part' as const },
      ],
      at(20, 8),
      [],
      'beside',
    ],
    ['no time is on record', [{ atHours: 0, usd: 40 }], null, [], 'undated'],
    ['a model has no price', [{ atHours: 0, usd: 1 }], at(20, 8), ['m'], 'unpriced'],
  ])('says that the result is unknown where %s', async (_, requests, began, unpriced, why) => {
    const { answers, undated } = await answerFor([pastSession('one', began, requests, unpriced)], {
      per: 'day',
      usd: 5,
    })
    expect(answers[0]?.answer).toMatchObject({ verdict: 'unknown', unknownFrom: { why } })
    expect(undated).toBe(began === null ? 1 : 0)
  })

  test('gives an upper bound where the record has no possible costs', async () => {
    const old = [0, 1, 2].map((atHours) => ({ atHours, usd: 4, hasBounds: false }))
    const { answers } = await answerFor([pastSession('old', at(20, 8), old)], { per: 'day', usd: 9 })
    expect(answers[0]?.answer).toMatchObject({ verdict: 'stops', isAtTheLatest: true, kept: { turns: 2 } })
  })

  test.each([
    { per: 'week', usd: 1 },
    { per: 'day', usd: 0 },
    { per: 'day', usd: Number.NaN },
    { per: 'day', usd: 1, model: '' },
  ])('rejects %j', async (budget) => {
    await expect(answerFor([first], budget as never)).rejects.toThrow('A standing budget is')
  })
})

describe('for arbitrary records', () => {
  const cases = { numRuns: drawn(400) }

  test('an unlimited budget changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(drawnSessions, fc.constantFrom('day' as const, 'month' as const), async (sessions, per) => {
        const { answers, periods } = await answerFor(sessions, { per, usd: Infinity })
        expect(answers.every(({ answer }) => answer.verdict === 'same')).toBe(true)
        expect(periods.every(({ ended, spentUsd, recordedUsd }) => ended === 0 && spentUsd === recordedUsd)).toBe(true)
      }),
      cases,
    )
  })

  test('no period exceeds its budget, and no run spends more than recorded', async () => {
    await fc.assert(
      fc.asyncProperty(drawnSessions, fc.integer({ min: 1, max: 40 }), async (sessions, usd) => {
        const { periods } = await answerFor(
          sessions,
          { per: 'day', usd },
          { per: 'month', usd: 2 * usd, model: '*opus*' },
        )
        for (const { spentUsd, maxUsd, recordedUsd } of periods) {
          expect(spentUsd).toBeLessThanOrEqual(maxUsd)
          expect(spentUsd).toBeLessThanOrEqual(recordedUsd)
        }
      }),
      cases,
    )
  })

  test('a larger budget does not end its first run earlier', async () => {
    const firstEnd = ({ answers }: AnsweredBudgets): string =>
      answers.map(({ answer }) => answer.standing?.at ?? '9').toSorted()[0] ?? '9'
    await fc.assert(
      fc.asyncProperty(
        drawnSessions,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 20 }),
        async (sessions, usd, more) => {
          const [less, larger] = [
            await answerFor(sessions, { per: 'day', usd }),
            await answerFor(sessions, { per: 'day', usd: usd + more }),
          ]
          expect(firstEnd(larger) >= firstEnd(less)).toBe(true)
        },
      ),
      cases,
    )
  })
})

test('a local day ends where the next one starts, and so does a month', () => {
  for (
    let moment = new Date(2026, 0, 1, 0, 30).getTime();
    moment < new Date(2027, 0, 1).getTime();
    moment += 13 * 3_600_000
  ) {
    const [day, month] = [localPeriod('day', moment), localPeriod('month', moment)]
    expect(day.end).toBeGreaterThan(moment)
    expect(localPeriod('day', day.end - 1)).toEqual(day)
    expect(localPeriod('day', day.end).name > day.name).toBe(true)
    expect(localPeriod('month', month.end - 1)).toEqual(month)
    expect(day.name.startsWith(month.name)).toBe(true)
    expect(Date.parse(localTime(moment))).toBe(moment)
  }
})

describe('a standing budget for one run equals a budget of the run', () => {
  test.each(Array.from({ length: drawn(200) }, (_, seed) => seed))('seed %i', async (seed) => {
    const { records, terminal } = await liveRun(worldOf(seed)())
    const draw = randomOf(seed + 9_000)
    const trajectory = trajectoryOf(records)
    const session = {
      sessionId: 'one',
      cwd: '',
      outcomes: [],
      runs: [{ trajectory, unpriced: [], isCopy: false, clock: [[0, at(20, 8)] as const] }],
    }
    for (let time = 0; time < 4; time++) {
      const usd = 1 + draw(Math.floor(terminal.costUsd) + 100)
      const { answers } = await answerFor([session], { per: 'day', usd })
      const own = whatIf(trajectory, { maxBudgetUsd: usd }, { changes: mayChange })
      // A run that used up its own budget ends before the calls of its reply, not at its next request.
      if (own.by !== null && own.by.used >= own.by.max) continue
      const { verdict, reason, kept, lost } = own
      expect([usd, answers[0]?.answer]).toMatchObject([usd, { verdict, reason, kept, lost }])
    }
  })
})

describe('a standing budget for consecutive runs equals that budget in live runs', () => {
  test.each(Array.from({ length: drawn(150) }, (_, seed) => seed))('seed %i', async (seed) => {
    const worlds = [worldOf(seed), worldOf(seed + 500), worldOf(seed + 1_000)]
    const whole = []
    for (const options of worlds) whole.push(await liveRun(options()))
    const sessions = whole.map(({ records }, index) => {
      const run = { trajectory: trajectoryOf(records), unpriced: [], isCopy: false }
      return {
        sessionId: `${index}`,
        cwd: '',
        outcomes: [],
        runs: [{ ...run, clock: [[0, at(20, 8 + index)] as const] }],
      }
    })
    const draw = randomOf(seed + 7_000)
    const all = whole.reduce((sum, { terminal }) => sum + terminal.costUsd, 0)
    for (let time = 0; time < 4; time++) {
      const usd = 1 + draw(Math.floor(all) + 100)
      const standing = dayBudgetOf(usd)
      const live = []
      for (const options of worlds) live.push((await liveRun({ ...options(), standing })).terminal)
      const { answers } = await answerFor(sessions, { per: 'day', usd })
      expect([
        seed,
        usd,
        ...answers.map(({ answer: { reason, kept } }) => [reason, kept.turns, kept.costUsd, kept.tokens]),
      ]).toEqual([
        seed,
        usd,
        ...live.map(({ reason, summary, costUsd, totalTokens }) => [reason, summary.turns, costUsd, totalTokens]),
      ])
      expect(answers.every(({ answer }) => !answer.isAtTheLatest)).toBe(true)
    }
  })
})

/** A daily budget in memory that nobody else uses. */
function dayBudgetOf(usd: number): StandingBudgets {
  let [settled, reserved] = [0, 0]
  return {
    names: ['a day'],
    countsFor: () => true,
    take(request) {
      const left = usd - settled - reserved
      if (left < request.leastUsd) {
        const figures = { limitUsd: usd, settledUsd: settled, unknownUsd: 0, reservedUsd: reserved }
        return { kind: 'refused', budget: { name: 'a day', ...figures, resetsAt: '2026-11-21T00:00:00Z' } }
      }
      const taken = Math.min(left, request.usd)
      reserved += taken
      const settle = (spent: number): void => {
        reserved -= taken
        settled += spent
      }
      return { kind: 'taken', usd: taken, settle }
    },
  }
}

test('a run that a standing budget ended is the same under other limits of its own, and unknown under other standing budgets', async () => {
  const { records, terminal } = await standingRun(dayBudget({ requests: 3 }))
  expect([terminal.reason, terminal.summary.turns]).toEqual(['max_budget_usd', 3])
  const trajectory = trajectoryOf(records)
  expect(whatIf(trajectory, { maxBudgetUsd: 1e6, maxRunUsd: 1e6 })).toMatchObject({ verdict: 'same' })
  expect(whatIf(trajectory, { maxTurns: 2 })).toMatchObject({ verdict: 'stops', reason: 'max_turns' })
  const run = { trajectory, unpriced: [], isCopy: false, clock: [[0, at(20, 8)] as const] }
  const { answers } = await answerFor([{ sessionId: 'one', cwd: '', runs: [run], outcomes: [] }], {
    per: 'day',
    usd: 1e6,
  })
  expect(answers[0]?.answer).toMatchObject({ verdict: 'unknown', reason: null, unknownFrom: null })
  const { answers: smaller } = await answerFor([{ sessionId: 'one', cwd: '', runs: [run], outcomes: [] }], {
    per: 'day',
    usd: 120,
  })
  expect(smaller[0]?.answer).toMatchObject({ verdict: 'stops', standing: { budget: '$120 a day' } })
})
