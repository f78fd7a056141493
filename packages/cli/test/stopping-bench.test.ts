// The public benchmark of stopping (bench/stopping) runs its situations with this program, and its table shows the real results.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, inject, it } from 'vitest'

const bench = fileURLToPath(new URL('../../../bench/stopping/run.mjs', import.meta.url))

interface Row {
  readonly title: string
  readonly verdict: string
  readonly requests: number
  readonly exit: number | null
}

/** The faults of halting by the rules of the benchmark. Its README lists them, too. */
const faults = new Map([
  ['killed in a check, and prompted again', /^a false "done": exit code 0 and not a word of it$/],
])

// Its processes are found in /proc.
describe.runIf(process.platform === 'linux')('the benchmark of stopping', () => {
  it('shows the real results of this program, including faults', async () => {
    const json = join(mkdtempSync(join(tmpdir(), 'halting-stopping-test-')), 'rows.json')
    const program = join(inject('program'), 'bin/halting.js')
    const given = ['--programs=halting', `--halting=${program}`, '--wall=120', `--json=${json}`]
    await promisify(execFile)(process.execPath, [bench, ...given])
    // True: the benchmark wrote them.
    const rows = JSON.parse(readFileSync(json, 'utf8')) as readonly Row[]
    expect(rows.length).toBeGreaterThanOrEqual(52)
    for (const { title, verdict, requests, exit } of rows)
      expect(verdict, `${title}: ${requests} requests, exit code ${exit}`).toMatch(
        faults.get(title) ?? /^as it should be$/,
      )
  }, 1_200_000)
})
