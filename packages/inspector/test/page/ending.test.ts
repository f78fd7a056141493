// Holds R-LIM-73 of docs/spec.md on the page.
import { expect, test } from 'vitest'
import { accountOf } from '@halting/analysis'
import { dayBudget, standingRun } from '../../../analysis/test/support/standing-runs.ts'
import { limitBars } from '../../src/page/session/ending-figures.ts'

type Shown = Parameters<typeof limitBars>[0]

test('the budget that ended a run has a bar beside its limits', async () => {
  const { records } = await standingRun(dayBudget({ requests: 2 }), { maxToolCalls: 50, maxRunUsd: 1e6 })
  // Of a run the bars show the account alone.
  const bars = limitBars({ account: accountOf(records) } as Shown)
  expect(bars.map(({ label }) => label)).toEqual(expect.arrayContaining(['dollars, run', 'tool calls']))
  expect(bars.at(-1)).toEqual({
    label: '$20 a day',
    share: 0.99,
    value: '$19.80 of $20.00, resets at 2026-11-30 00:00',
    color: 'bad',
  })
})
