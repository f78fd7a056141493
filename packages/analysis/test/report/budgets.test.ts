// Holds R-LIM-74 of docs/spec: budgets shared between runs in a report.
import { expect, test } from 'vitest'
import { ReportCollector } from '../../src/report/report-collector.ts'
import { reportHtml } from '../../src/report/report-html.ts'
import type { Report } from '../../src/report/report-model.ts'
import { budgetText } from '../../src/report/report-words.ts'
import { dayBudget, standingRun } from '../support/standing-runs.ts'

type Records = Awaited<ReturnType<typeof standingRun>>['records']

function reportOf(runs: readonly Records[], now: number): Report {
  const collector = new ReportCollector({ since: null, until: null })
  for (const [index, records] of runs.entries()) {
    const began = [Date.UTC(2026, 10, 28 + index, 12)]
    const session = { sessionId: `s${index}`, cwd: '/a', runs: [records], began, unpriced: [[]] }
    collector.add(session, { file: `/s${index}.jsonl` })
  }
  return collector.report('of this folder', [], now)
}

test('names a standing budget with the runs that it ended, its use then, its reset time, and who waited for it', async () => {
  const ended = await standingRun(dayBudget({ requests: 2 }))
  const waited = await standingRun(dayBudget({ requests: 3, waits: 2 }))
  const other = await standingRun(dayBudget({ requests: Infinity }), { maxTurns: 2 })
  const report = reportOf([ended.records, waited.records, other.records], Date.UTC(2026, 10, 29))
  expect(report.budgets).toMatchObject([
    {
      budget: '$20 a day',
      kind: 'standing',
      runs: 2,
      costUsd: 5 * 110,
      wentOn: 0,
      usedUsd: 19.8,
      limitUsd: 20,
      resetsAt: '2026-11-30T00:00:00+01:00',
      waited: 2,
    },
  ])
  const [row] = report.budgets
  const text = row === undefined ? '' : budgetText(row, report.madeAt)
  expect(text).toMatch(
    /^\$20 a day ended 2 runs, which cost \$550\.00\. \$19\.80 of \$20\.00 was used then\. It resets at 2026-11-30 00:00\. 2 requests waited \d+ ms for what others had reserved of \$20 a day\.$/,
  )
  expect(row && budgetText(row, '2026-12-01T00:00:00Z')).toContain('It was reset at 2026-11-30 00:00.')
  expect([...reportHtml(report)].join('')).toContain('$20 a day ended 2 runs')
})

test('does not mention budgets where none ended a run', async () => {
  const { records } = await standingRun(dayBudget({ requests: Infinity }), { maxTurns: 2 })
  const report = reportOf([records], Date.UTC(2026, 10, 29))
  expect(report.budgets).toEqual([])
  expect([...reportHtml(report)].join('')).not.toContain('Shared budgets')
})
