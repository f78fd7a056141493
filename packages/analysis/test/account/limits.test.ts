// Holds rules of docs/spec: R-LIM-70 to R-LIM-72.
import { expect, test } from 'vitest'
import type { RunOptions } from '@halting/core'
import { accountOf } from '../../src/account/account.ts'
import { sessionTotals } from '../../src/export/session-totals.ts'
import { sharedBudgetText, waitText } from '../../src/words/budget-words.ts'
import { dayBudget, standingRun } from '../support/standing-runs.ts'

const endless = (): ReturnType<typeof dayBudget> => dayBudget({ requests: Infinity })

test.each<readonly [Partial<RunOptions>, string, string, number]>([
  [{ maxToolCalls: 2, maxRunUsd: 1e6 }, 'max_tool_calls', 'maxToolCalls', 2],
  [{ maxRunUsd: 400, maxToolCalls: 50 }, 'max_budget_usd', 'maxRunUsd', 400],
  [{ maxRunUsd: 1e6, maxBudgetUsd: 400 }, 'max_budget_usd', 'maxBudgetUsd', 400],
])('a run with %j ends as %s and names %s as the limit that was reached', async (options, reason, name, max) => {
  const { terminal, records } = await standingRun(endless(), options)
  expect(terminal.reason).toBe(reason)
  const { limits, ending } = accountOf(records)
  expect(limits.filter(({ isReached }) => isReached)).toMatchObject([{ limit: name, max }])
  expect(limits.map(({ limit }) => limit)).toEqual(expect.arrayContaining(['maxRunUsd']))
  expect(ending).not.toHaveProperty('sharedBudget')
})

test('counts the tool calls of a run, also of an unfinished one', async () => {
  const { records } = await standingRun(endless(), { maxToolCalls: 3 })
  const figures = (some: typeof records) => accountOf(some).limits.find(({ limit }) => limit === 'maxToolCalls')
  expect(figures(records)).toEqual({ limit: 'maxToolCalls', unit: 'calls', used: 3, max: 3, isReached: true })
  const secondLap = records.findIndex((record) => record.type === 'lap' && record.lap.spent.toolCalls === 2)
  expect(figures(records.slice(0, secondLap + 1))).toMatchObject({ used: 2, isReached: false })
})

test('names the standing budget that ended a run, its use and its reset time, and no reached limit', async () => {
  const { records } = await standingRun(dayBudget({ requests: 2 }), { maxBudgetUsd: 1e6 })
  const { ending, limits } = accountOf(records)
  expect(ending?.reason).toBe('max_budget_usd')
  expect(ending?.sharedBudget).toEqual({
    kind: 'standing',
    budget: '$20 a day',
    usedUsd: 19.8,
    limitUsd: 20,
    resetsAt: '2026-11-30T00:00:00+01:00',
  })
  expect(limits.some(({ isReached }) => isReached)).toBe(false)
  expect(ending?.sharedBudget && sharedBudgetText(ending.sharedBudget)).toBe(
    '$19.80 of $20.00, resets at 2026-11-30 00:00',
  )
})

test('names the budget that ended the run in an exported session', async () => {
  const { records } = await standingRun(dayBudget({ requests: 1 }))
  // The figures need only the account of the run.
  const session = { sessionId: 's', cwd: '/a', runs: [{ account: accountOf(records) }] } as never
  expect(sessionTotals(session)).toContainEqual(['Budget', '$20 a day: $19.80 of $20.00, resets at 2026-11-30 00:00'])
})

test('counts waits for reservations of others by the name of the standing budget', async () => {
  const { records } = await standingRun(dayBudget({ requests: 2, waits: 3 }))
  const { standingWaits, budgetWaits, ending } = accountOf(records)
  expect(ending?.reason).toBe('max_budget_usd')
  expect(budgetWaits).toBeUndefined()
  expect(standingWaits).toMatchObject([{ budget: '$20 a day', requests: 3, refused: 1, mostReservedUsd: 7 }])
  expect(waitText({ budget: '$20 a day', requests: 3, ms: 12_000, refused: 1, mostReservedUsd: 7 })).toBe(
    '3 requests waited 12.0 s for at most $7.00 that others had reserved of $20 a day; 1 request still did not fit.',
  )
  expect(waitText({ requests: 1, ms: 500, refused: 0, mostReservedUsd: 0 })).toBe(
    '1 request waited 500 ms for tokens that other requests had reserved.',
  )
})
