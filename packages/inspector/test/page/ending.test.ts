// Holds R-LIM-73 and R-VERI-20 of docs/spec on the page.
import { expect, test } from 'vitest'
import { accountOf } from '@halting/analysis'
import { dayBudget, standingRun } from '../../../analysis/test/support/standing-runs.ts'
import { change, checkedRun, passing } from '../../../analysis/test/support/checked-runs.ts'
import { lastChangeLines, limitBars } from '../../src/page/session/ending-figures.ts'

type ShownRun = Parameters<typeof limitBars>[0]

test('the budget that ended a run has a bar next to its limits', async () => {
  const { records } = await standingRun(dayBudget({ requests: 2 }), { maxToolCalls: 50, maxRunUsd: 1e6 })
  // The bars need only the account of the run.
  const bars = limitBars({ account: accountOf(records) } as ShownRun)
  expect(bars.map(({ label }) => label)).toEqual(expect.arrayContaining(['dollars, run', 'tool calls']))
  expect(bars.at(-1)).toEqual({
    label: '$20 a day',
    share: 0.99,
    value: '$19.80 of $20.00, resets at 2026-11-30 00:00',
    color: 'bad',
  })
})

test('the page says whether the last change was checked, in the words of why, and nothing where nothing changed', async () => {
  // These need only the account of the run.
  const lines = async (...works: Parameters<typeof checkedRun>[0]): Promise<readonly string[]> =>
    lastChangeLines({ account: accountOf((await checkedRun(works)).records) } as ShownRun)
  expect(await lines(change, 'Done.')).toEqual([
    'Not checked: no check has passed since the last change (4 changed lines).',
    'No check ran.',
    'The model was not asked to verify it.',
  ])
  expect((await lines(change, passing, 'Done.'))[0]).toBe(
    'Checked: a check passed after the last change (4 changed lines).',
  )
  expect(await lines('Hello.')).toEqual([])
})
