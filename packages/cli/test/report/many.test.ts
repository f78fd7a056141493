// Holds R-REP-1 and R-REP-6 of docs/spec: a thousand sessions have the totals that were counted while they were written, in the memory of a few.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Report } from '@halting/analysis/report'
import { generateSessions } from '../support/generated-sessions.ts'
import { storeLargeSessions } from '../support/store-session.ts'
import { here, installProgram, run } from '../support/program.ts'

installProgram()

/** Too little for a hundred megabytes of calls. */
const env = { TZ: 'UTC', NODE_OPTIONS: '--max-old-space-size=64' }

test('a thousand generated sessions', async () => {
  const folder = join(here(), 'thousand')
  mkdirSync(folder)
  const { runsByDay, nanos, ...counts } = generateSessions(folder, 1_000)
  const { status, stdout, stderr } = await run(['report', folder, '--json'], { env })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const { sessions, totals, byDay, byFolder, bySession, byModel, tools, endings, skipped } = JSON.parse(
    stdout,
  ) as Report
  expect({ sessions, skipped, folders: byFolder.length }).toEqual({ sessions: 1_000, skipped: [], folders: 7 })
  const { runs, turns, tokens, calls, failed } = counts
  expect(totals).toMatchObject({ runs, turns, requests: turns, tokens, costUsd: nanos / 1e9, unknownUsd: 0 })
  expect(Object.fromEntries(byDay.map((row) => [row.name, row.runs]))).toEqual(runsByDay)
  expect(byModel).toMatchObject([{ model: 'claude-sonnet-4-5', requests: turns, tokens, costUsd: nanos / 1e9 }])
  expect(endings).toMatchObject([{ reason: 'completed', runs }])
  expect(bySession).toHaveLength(1_000)
  expect([tools.reduce((sum, each) => sum + each.calls, 0), tools.reduce((sum, each) => sum + each.failed, 0)]).toEqual(
    [calls, failed],
  )
  const html = await run(['report', folder, '--format', 'html'], { env })
  expect(html.stdout).toContain('500 more sessions: --json has all of them.')
}, 60_000)

test('needs the memory of the largest session for a folder of any size', async () => {
  const folder = join(here(), 'large')
  await storeLargeSessions(folder, 25)
  const { status, stdout } = await run(['report', folder, '--json'], { env })
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { sessions: 25, totals: { runs: 25, turns: 25 * 41 } }])
}, 60_000)
