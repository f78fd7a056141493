// Tests R-STEP-16, R-STEP-16a, R-STEP-16b, R-STEP-16c and R-STEP-16d of docs/spec: sessions in a SQLite database, with
// each library that this machine has.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { isDeep, isWhole } from '../../core/test/support/deep.ts'
import { killedAtEveryRecord, killedAtRandom } from '../../core/test/support/store-kills/torment.ts'
import { sqliteStore } from '../src/index.ts'
import { enginesToTry } from './support/engines.ts'

const run = promisify(execFile)
// `HALTING_KILLS=1000` executes any number of kills.
const kills = Number(process.env['HALTING_KILLS'] ?? (isWhole ? 1_000 : isDeep ? 10 : 6))
const longest = 600_000 + kills * 2_000

// A killed process loses nothing that it passed to the kernel. A file system in memory needs no disk.
const folder = mkdtempSync(join(!isWhole && existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'halting-sqlite-'))
const engines = await enginesToTry()
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  for (const { program } of engines) if (program !== '') rmSync(program, { force: true })
})

for (const [index, { title, why, node, program }] of engines.entries())
  describe.skipIf(why !== undefined)(`${title}${why === undefined ? '' : `: ${why}`}`, () => {
    const child = { node, args: [program, 'work'], store: join(folder, `kills-${index}.db`) }

    test(
      'meets the requirements of every session store',
      async () => {
        const { stdout } = await run(node, [program, 'check'], { maxBuffer: 64_000_000 })
        expect(JSON.parse(stdout)).toEqual([])
      },
      longest,
    )

    test(
      'completes a session killed at any record without repeating anything',
      async () => {
        const { sessions, kills: killed, problems } = await killedAtEveryRecord(child, folder, isWhole ? 5 : 2)
        expect(problems).toEqual([])
        expect(killed).toBe(sessions - 1)
        expect(killed).toBeGreaterThan(isWhole ? 25 : 8)
        console.log(`${title}: killed at each of ${killed} records`)
      },
      longest,
    )

    test(
      `repeats nothing after ${kills} random kills of two concurrent sessions in one file`,
      async () => {
        const tormented = await killedAtRandom(child, folder, { kills })
        expect(tormented.problems).toEqual([])
        expect(tormented.kills).toBeGreaterThanOrEqual(kills)
        console.log(`${title}: ${tormented.sessions} sessions, killed ${tormented.kills} times`)
      },
      longest,
    )
  })

test('rejects invalid options at once', () => {
  // Plain JavaScript may pass any value.
  const given = sqliteStore as (options: unknown) => unknown
  expect(() => given(undefined)).toThrow('sqliteStore must be given an object, such as { path }, but it is undefined.')
  expect(() => given({ path: '' })).toThrow('path must be a text that is not empty, but it is "".')
  expect(() => given({ path: 'a', lockMs: 0 })).toThrow('lockMs must be a number of milliseconds above 0, but it is 0.')
})

test.skipIf(process.getBuiltinModule('node:sqlite') !== undefined)(
  'names the package to install in the first call without a library',
  async () => {
    // The workspace has better-sqlite3 without its binary, if at all.
    const store = sqliteStore({ path: join(folder, 'none.db') })
    await expect(store.list()).rejects.toThrow(/Use Node 22\.13 or later, or run: npm install better-sqlite3@12$/)
  },
)
