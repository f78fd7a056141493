// Holds R-WHYW-5 and R-WHYW-7 of docs/spec: waits for services, and endings at them, in a report.
import type { StepRecord } from '@halting/core'
import { expect, test } from 'vitest'
import { ReportCollector } from '../../src/report/report-collector.ts'
import { reportHtml } from '../../src/report/report-html.ts'
import type { Report } from '../../src/report/report-model.ts'
import { waitTexts } from '../../src/report/report-words.ts'
import { begunAt, calls, hour, isWaitBegun, limited, outage, says, serviceRun } from '../support/service-runs.ts'

function reportOf(runs: readonly (readonly StepRecord[])[], now: number = begunAt): Report {
  const collector = new ReportCollector({ since: null, until: null })
  for (const [index, records] of runs.entries()) {
    const session = { sessionId: `0000000${index}`, cwd: '/a', runs: [records], began: [begunAt], unpriced: [[]] }
    collector.add(session, { file: `/s${index}.jsonl` })
  }
  return collector.report('of this folder', [], now)
}

test('sums waits by model and by cause, with the longest, next to the active time', async () => {
  const twice = await serviceRun([limited(2 * hour), outage, says('done')], { maxRetries: 0 })
  const once = await serviceRun([limited(), says('done')])
  const report = reportOf([once, twice, await serviceRun([says('done')])])
  const { serviceWaits: waits } = report
  expect(waits).toMatchObject({
    runs: 2,
    waits: 3,
    longest: { session: '00000001', run: 'run1' },
    ends: { over: 3, retried: 0 },
    byModel: [{ name: 'claude-x', waits: 3, ms: waits.ms }],
    byCause: [
      { name: '429 rate_limit', waits: 2 },
      { name: '503 server_error', waits: 1 },
    ],
    waiting: [],
    ended: { runs: 0, retryAt: null },
  })
  expect(waits.ms).toBeGreaterThan(3 * hour)
  expect(report.totals.activeMs).toBeLessThan(hour)
  const texts = waitTexts(report)
  expect(texts[0]).toMatch(/^2 runs waited 3 h.* for services: 3 waits\. This does not count as active time\.$/)
  expect(texts[1]).toMatch(/^By model: claude-x 3 h.* \(3 waits\)\.$/)
  expect(texts[2]).toMatch(/^By cause: 429 rate_limit 3 h.* \(2 waits\), 503 server_error \d+\.\d s \(1 wait\)\.$/)
  expect(texts[3]).toMatch(/^The longest wait took 2 h.*: 00000001 run1\.$/)
  const page = [...reportHtml(report)].join('')
  expect(page).toContain('2 runs waited 3 h')
})

test('names runs that are waiting and runs that ended at a service, with the time', async () => {
  const waiting = await serviceRun([limited()], { killedBehind: isWaitBegun })
  const ended = await serviceRun([limited()], { waitForLimitsMs: 0 })
  const early = reportOf([waiting, ended])
  expect(early.serviceWaits).toMatchObject({
    runs: 0,
    ms: 0,
    longest: null,
    waiting: [{ session: '00000000' }],
    ended: { runs: 1, wentOn: 0, retryAt: '2026-11-28T13:00:00.000Z' },
  })
  const [waits = '', ends = ''] = waitTexts(early)
  expect(waits).toMatch(/^00000000 run1 waits until 2026-11-\d\d \d\d:\d\d\.$/)
  expect(ends).toMatch(
    /^1 run ended because a service was rate-limited or unavailable, which cost \$0\.0000\. It takes requests again at 2026-11-\d\d \d\d:00\. With --wait-for-limits runs wait instead\.$/,
  )
  const [past = '', took = ''] = waitTexts(reportOf([waiting, ended], begunAt + 2 * hour))
  expect(past).toContain(' (already past).')
  expect(took).toContain('It took requests again at')
})

test('counts pauses at limits, raised limits, and runs that are paused now', async () => {
  const pausing = { maxTurns: 1, onLimit: 'pause' } as const
  const raised = await serviceRun([calls('Look'), says('done')], {
    ...pausing,
    askLimit: () => Promise.resolve({ raise: { maxTurns: 4 } }),
  })
  const open = await serviceRun([calls('Look')], {
    ...pausing,
    killedBehind: (record) => record.type === 'intent' && record.key.includes('limit_answer'),
  })
  const report = reportOf([raised, open])
  expect(report.limitPauses).toMatchObject({ runs: 1, pauses: 1, ms: 0, raised: 1, open: [{ session: '00000001' }] })
  expect(waitTexts(report)).toEqual([
    '1 run paused 0 ms at limits: 1 pause, 1 with a raised limit. This does not count as active time.',
    '00000001 run1 pauses at a limit.',
  ])
})

test('does not mention waits where there were none', async () => {
  const report = reportOf([await serviceRun([says('done')])])
  expect(waitTexts(report)).toEqual([])
  expect([...reportHtml(report)].join('')).not.toContain('Waits</h2>')
})
