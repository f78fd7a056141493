// Holds rules of docs/spec: R-WHY-11.
import { expect, test } from 'vitest'
import { openJournal } from '@halting/journal'
import { columnsOf } from '../src/io/columns.ts'
import { here, installProgram, run } from './support/program.ts'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'

installProgram()

const id = 'aaaaaaaa-0000-4000-8000-000000000001'

test('says that a session has no runs', async () => {
  const journal = await openJournal({ path: sessionPath(id), sessionId: id, cwd: here(), version: '0.1.0' })
  await journal.close()
  const { status, stdout, stderr } = await run(['replay', id])
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: '',
    stderr: `halting: session ${id} has no runs yet.\n`,
  })
})

test('lists what happened, one line per step, without a model request', async () => {
  await storeSession(id, [toolReply(['Read', { file_path: 'a.ts' }]), textReply('All is well.\nReally.')])
  const { status, stdout, stderr } = await run(['replay', id, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const printedSteps = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly what: string; readonly text: string })
  const timeless = printedSteps.map(({ what, text }) => [what, text.replaceAll(/\d+ ms/g, 'TIME').slice(0, 40)])
  const steps = timeless.filter(([what]) => what?.startsWith('permission') !== true)
  expect(steps.map(([what = '', text]) => [what.replace(/toolu?_?.*$/, ''), text])).toEqual([
    ['start', 'run1: go'],
    ['model:1.1', 'answered, TIME'],
    ['asks', 'Read {"file_path":"a.ts"}'],
    ['', expect.stringMatching(/^done, TIME: seen seen/)],
    ['lap', 'next_turn'],
    ['model:2.1', 'answered, TIME'],
    ['said', 'All is well.\nReally.'],
    ['end', expect.stringMatching(/^completed: /)],
  ])
  const text = await run(['replay', id])
  const lines = text.stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(printedSteps.length)
  expect(lines.filter((line) => columnsOf(line) > 100)).toEqual([])
  expect(text.stdout).toContain('text: All is well. Really.')
  expect(text.stdout).toContain('iteration: next turn\n')
})
