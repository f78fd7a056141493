// Holds rules of docs/spec: R-REW-2, R-REW-5, R-SESS-7: what a conversation that went back sends is what the API takes.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Transcript } from '@halting/core'
import { foldSession } from '@halting/core/steps'
import { readJournal } from '@halting/journal'
import { transcriptProblems } from '@halting/core/testing'
import { beforeEach, expect, test } from 'vitest'
import { call, here, installProgram, run, script, type Ended, projectName } from './support/program.ts'

installProgram()

const id = '7f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const path = (): string => join(here(), '.halting/projects', projectName(here()), `${id}.jsonl`)
const ask = (prompt: string, replies: readonly unknown[], ...flags: readonly string[]): Promise<Ended> =>
  run(['-p', prompt, '--script', script(replies, 'claude-haiku-4-5'), ...flags])
const transcript = async (): Promise<Transcript> => foldSession((await readJournal(path())).runs).transcript
const problems = async (): Promise<readonly string[]> => transcriptProblems((await transcript()).messages())

beforeEach(() => rmSync(join(here(), '.halting'), { recursive: true, force: true }))

test('reports a pending call before a rewind as not run', async () => {
  const replies = [
    {
      content: [
        call('Bash', { command: 'echo one' }),
        call('Bash', { command: 'touch x' }),
        call('Bash', { command: 'touch y' }),
      ],
    },
  ]
  expect((await ask('go', replies, '--session-id', id, '--on-ask', 'defer')).status).toBe(5)
  const all = Array.from(await transcript(), (entry) => entry.id)
  expect(all.length).toBeGreaterThan(2)
  for (const uuid of all) {
    const before = readFileSync(path())
    const gone = await ask('and now?', [{ content: 'ok' }], '--resume', id, '--resume-session-at', uuid)
    expect([gone.status, gone.stdout, await problems()]).toEqual([0, 'ok\n', []])
    writeFileSync(path(), before)
  }
})

test('refuses to allow a call that was pending before a rewind', async () => {
  const bash = [{ content: [{ ...call('Bash', { command: 'touch x' }), id: 'toolu_1' }] }]
  await ask('go', bash, '--session-id', id, '--on-ask', 'defer')
  expect((await run(['approve', id, 'toolu_1'])).status).toBe(0)
  expect((await run(['rewind', id, '1', '--yes'])).status).toBe(0)
  const refused = await run(['approve', id, 'toolu_1'])
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('is waiting for an answer')])
  // The same call comes again: the answer to the earlier one does not apply.
  expect((await ask('again', bash, '--resume', id, '--on-ask', 'defer')).status).toBe(5)
  const resumed = await run(['-p', '--resume', id, '--script', script([{ content: 'ok' }], 'claude-haiku-4-5')])
  expect([resumed.status, resumed.stderr]).toEqual([2, expect.stringContaining('waits for permission: Bash')])
})
