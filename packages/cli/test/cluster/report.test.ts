// `halting report` about a session of a cluster, whose records have no times.
import { expect, test } from 'vitest'
import type { Report } from '@halting/analysis/report'
import { servedCluster } from '../support/cluster.ts'
import { installProgram, run } from '../support/program.ts'

installProgram()

test('counts a cluster session like a local one, but assigns it to no day', async () => {
  const served = await servedCluster([{ content: 'done' }])
  const id = 'aaaaaaaa-0000-4000-8000-00000000000c'
  const asked = await run(['-p', 'hi', '--cluster', served.url, '--session-id', id])
  expect(asked).toMatchObject({ status: 0, stdout: 'done\n' })
  const { status, stdout } = await run(['report', id, '--cluster', served.url, '--json'])
  expect(status).toBe(0)
  const { of, sessions, totals, byDay, endings } = JSON.parse(stdout) as Report
  expect({ of, sessions, runs: totals.runs }).toEqual({
    of: `of the cluster ${new URL(served.url).host}`,
    sessions: 1,
    runs: 1,
  })
  expect(byDay).toMatchObject([{ name: '', runs: 1 }])
  expect(endings).toMatchObject([{ reason: 'completed', exitCode: 0 }])
  await served.close()
})
