// Holds R-EVERY-10 with the real program, killed repeatedly at any moment: each round runs once.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readJournal } from '@halting/journal'
import { promptIdOf } from '@halting/core/steps'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { call, here, installProgram, projectName, script, start } from '../support/program.ts'

installProgram()

const rounds = 4

const fileOf = (sessionId: string): string =>
  join(here(), '.halting/projects', projectName(here()), `${sessionId}.jsonl`)

test('runs each round once while it is killed repeatedly', async () => {
  let sessions = 0
  const replies = script(
    Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0 ? { content: [call('Bash', { command: 'sleep 0.1' })] } : { content: 'Looked.' },
    ),
  )
  const own = ['--allowedTools', 'Bash', '--script', replies]
  const kills = fc.array(fc.integer({ min: 100, max: 1_200 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(kills, async (delays) => {
      const sessionId = `00000000-0000-4000-8000-${String(++sessions).padStart(12, '0')}`
      const begin = ['loop', 'Look.', '--every', '250ms', '--rounds', String(rounds)]
      for (const delay of [...delays, Infinity]) {
        // If it was killed before it started, it has no session yet.
        const named = existsSync(fileOf(sessionId)) ? '--resume' : '--session-id'
        const running = start([...begin, named, sessionId, ...own])
        const timer = delay === Infinity ? undefined : setTimeout(() => running.child.kill('SIGKILL'), delay)
        const { status, stderr } = await running.ended
        clearTimeout(timer)
        expect([status, status === 0 || status === 'SIGKILL' ? '' : stderr]).toEqual([status, ''])
      }
      const { runs } = await readJournal(fileOf(sessionId))
      const made = runs.map((records) => promptIdOf(records)?.replace(/^loop:[^:]+:/, ''))
      expect(made).toEqual(Array.from({ length: rounds }, (_, index) => String(index + 1)))
    }),
    { numRuns: process.env['HALTING_DEEP'] === 'all' ? 30 : 2, endOnFailure: true },
  )
}, 300_000)
