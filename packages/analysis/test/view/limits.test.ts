// Holds R-LIM-72a of docs/spec.
import { expect, test } from 'vitest'
import { startOfRecord } from '@halting/core/steps'
import { timelineOf } from '../../src/view/items.ts'
import { replayLines } from '../../src/view/replay-lines.ts'
import { dayBudget, standingRun } from '../support/standing-runs.ts'

test('limits and standing budgets have their own lines in a replay and on the timeline', async () => {
  const { records, terminal } = await standingRun(dayBudget({ requests: 9, waits: 1 }), {
    maxToolCalls: 2,
    limitReminders: true,
  })
  expect(terminal.reason).toBe('max_tool_calls')
  const { at } = startOfRecord(records)
  const lines = records.flatMap((record) => replayLines(record, at)).map(({ what, text }) => `${what} ${text}`)
  expect(lines).toContain('standing:model:1.1 granted, 0 ms: others had reserved $7.00 of $20 a day')
  expect(lines).toContain('limits:2 Remaining in this run: 1 of 2 tool calls.')
  expect(lines).toContain('call_limit:3 0 more tool calls may run before the limit is reached')
  const labels = timelineOf(records).map(({ label }) => label)
  expect(labels).toEqual(
    expect.arrayContaining([
      'For money that others reserved of a standing budget',
      'Reminder of what is left',
      'Limit of tool calls',
    ]),
  )
})
