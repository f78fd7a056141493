// Holds rules of docs/spec: R-LIVE-3a.
import { expect, test } from 'vitest'
import { EventUpdates } from '../../src/acp/event-updates.ts'
import { Prompts } from '../../src/acp/prompts.ts'

test('a failed stage after a run neither answers the prompt of the next run nor ends its calls', async () => {
  const prompts = new Prompts()
  const prompt = prompts.open()
  prompts.markSubmitted(prompt, 'message')
  prompts.onEvent({ type: 'run_start', runId: 'second', ids: [prompt.id] })
  const stage = { type: 'failed', error: new Error('The stage broke.'), givenBack: [], isAfterRun: true } as const
  prompts.onEvent(stage)
  expect(prompts.isEmpty).toBe(false)
  // The code does not read the snapshot.
  const updates = new EventUpdates({ notices: true, compaction: false }, '/work', () => ({}) as never)
  updates.updatesFor({
    type: 'loop',
    event: { type: 'tool_start', callId: 'c1', name: 'Bash', input: { command: 'true' } },
  })
  expect(updates.updatesFor(stage)).toEqual([
    { sessionUpdate: 'notice', severity: 'warning', title: 'The stage broke.' },
  ])
  prompts.onEvent({ type: 'failed', error: new Error('The run broke.'), givenBack: [] })
  expect(await prompt.ended).toMatchObject({ kind: 'failed' })
})
