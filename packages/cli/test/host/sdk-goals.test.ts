// Spec R-GOAL-61, R-GOAL-63: the official SDK, unchanged, with a run that has a goal.
import { expect, test } from 'vitest'
import { installProgram } from '../support/program.ts'
import { runQuery, removeFoldersAfterEach, use } from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

test('the SDK accepts messages about checks, and the result contains the goal', async () => {
  const replies = [{ content: 'Done.' }, use('Bash', { command: 'touch made' }), { content: 'Now it is made.' }]
  const outcome = await runQuery('go', replies, {
    options: {
      extraArgs: { until: 'test -e made' },
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
    },
  })
  const messages: readonly unknown[] = outcome.messages
  expect(messages.filter((each) => JSON.stringify(each).includes('"subtype":"goal_check"'))).toHaveLength(3)
  expect(outcome.results.at(-1)).toMatchObject({
    type: 'result',
    subtype: 'success',
    result: 'Now it is made.',
    goal: { met: true, tries: 1, baseline: false, checks: [{ name: 'test -e made', exitCode: 0 }] },
  })
  expect(outcome.thrown).toBeUndefined()
})
