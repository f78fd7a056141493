// Holds R-AFTER-4a: a failure after a run does not change its exit code.
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { runOnce } from '../src/headless/run.ts'

test('reports a stage that fails after a run, and exits with the code of the run', async () => {
  const session = createSession({
    options: { model: scriptedModel(['Done.']) },
    journal: undefined,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/work',
    end: async () => undefined,
    afterRun: () => Promise.reject(new Error('the notes broke')),
  })
  const nothing = (): void => undefined
  const watcher = { onEvent: nothing, see: nothing, end: nothing, after: nothing, release: nothing }
  const reported: unknown[] = []
  const exitCode = await runOnce({
    session,
    ask: () => void session.prompt('go'),
    interruption: { signal: new AbortController().signal, exitCode: undefined, release: nothing },
    watcher,
    onErrorAfter: (error) => reported.push(error),
  })
  expect([exitCode, reported]).toEqual([0, [new Error('the notes broke')]])
  await session.close()
})
