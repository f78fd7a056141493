// Tests R-PERM-1b: a call that rules allow only with confinement is recorded as such.
import { expect, test } from 'vitest'
import { resume, type Permissions, type RunOptions, type StepRecord, type ToolContext } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { calls, run, tool } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const allowing = (more: object): Permissions => ({
  denies: () => undefined,
  decide: () => ({ behavior: 'allow', ...more }) as never,
})

function recordingTool(seen: ToolContext['confined'][]) {
  return tool('Run', (_input, { confined }) => {
    seen.push(confined)
    return 'ran'
  })
}

const asked = [calls({ name: 'Run', input: {} }), 'done']

test('a call that rules allow only with confinement is marked, and no other', async () => {
  const seen: ToolContext['confined'][] = []
  const tools = [recordingTool(seen)]
  await run(asked, { tools, permissions: allowing({ confined: true }) })
  await run(asked, { tools, permissions: allowing({ confined: true, updatedInput: {} }) })
  for (const more of [{}, { confined: false }, { confined: 'true' }])
    await run(asked, { tools, permissions: allowing(more) })
  await run(asked, { tools })
  expect(seen).toEqual([true, true, undefined, undefined, undefined, undefined])
})

test('a process that resumes after a kill marks it too, whatever its own rules say', async () => {
  const seen: ToolContext['confined'][] = []
  const options = (permissions: Permissions): RunOptions => ({
    tools: [recordingTool(seen)],
    permissions,
    model: scriptedModel(asked),
  })
  const isToolStep = (record: StepRecord): boolean => record.type === 'intent' && record.key.startsWith('run1/tool:')
  const records = await killedBefore(isToolStep, options(allowing({ confined: true })))
  expect([seen, JSON.stringify(records).includes('"confined":true')]).toEqual([[], true])
  const later = { ...options(allowing({})), model: scriptedModel(['done']) }
  expect((await resume(records, later).loop.ended).terminal.reason).toBe('completed')
  expect(seen).toEqual([true])
})
