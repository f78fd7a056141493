// Tests R-GOAL-1 to R-GOAL-19 and R-GOAL-90 of docs/spec: random runs with goals that are killed and resumed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDeep } from '../../../core/test/support/deep.ts'
import { drawnRuns } from './drawn-run.ts'
import { problemsOf } from './goal-oracle.ts'
import { takeToEnd } from './killed-run.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-goals-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// `HALTING_RUNS=100000` executes any number of runs.
const wanted = Number(process.env['HALTING_RUNS'] ?? (isDeep ? 600 : 150))

/** A run that does not end is a failure of its own. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('It does not come to its end.')), 20_000)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

test(
  'reports what was checked, and completes when the goals are met, however often it is killed',
  { timeout: 3_600_000 },
  async () => {
    const seen = new Map<string, number>()
    let kills = 0
    await fc.assert(
      fc.asyncProperty(drawnRuns, async (plan) => {
        const run = await inTime(takeToEnd(plan, folder))
        const { reason, goal } = run.terminal
        const which = `${reason} ${String(goal?.met)}`
        seen.set(which, (seen.get(which) ?? 0) + 1)
        kills += run.processes.length - 1
        expect(problemsOf(plan, run)).toEqual([])
      }),
      { numRuns: wanted },
    )
    console.log(
      `goals: ${wanted} runs, ${kills} kills; ${[...seen]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([which, count]) => `${which} ${count}`)
        .join(', ')}`,
    )
    if (wanted < 1_000) return
    for (const which of [
      'completed true',
      'goal_unmet false',
      'max_turns false',
      'aborted_tools unknown',
      'token_limit false',
    ])
      expect([...seen.keys()]).toContain(which)
  },
)
