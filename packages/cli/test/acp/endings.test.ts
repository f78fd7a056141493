// Holds rules of docs/spec: R-ACP-5, R-ACP-5a, R-ACP-6. docs/guide/endings.md says what an editor sees of each ending, with notices.
import { readFileSync } from 'node:fs'
import { endings, type EndingReason } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { startAgent } from '../support/acp-agent.ts'
import { callProblems } from '../support/acp-schema.ts'
import { runInEditor } from '../support/ending-frontends.ts'
import { endingRuns } from '../support/ending-runs.ts'

// `Object.keys` of a record over the union gives the union.
test.each(Object.keys(endings) as EndingReason[])('an editor without notices is sent %s once', async (reason) => {
  const { says, wire, updates } = await runInEditor(endingRuns[reason], { notices: false })
  expect(says.split(`${reason}: `).length - 1).toBe(reason === 'completed' ? 0 : 1)
  expect(callProblems(updates())).toEqual([])
  expect(wire.problems).toEqual([])
  expect(wire.unanswered).toEqual([])
})

test('a rejected key has an error code of its own', async () => {
  const error = { kind: 'authentication_failed', message: 'no: authentication_failed', status: 401 } as const
  const { agent, newSession } = await startAgent({ model: scriptedModel([{ error }]) })
  const { sessionId } = await newSession()
  await expect(
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'go' }] }),
  ).rejects.toMatchObject({ code: -32000, message: expect.stringContaining('no: authentication_failed') })
})

test('the guide lists the stop reasons that the code uses', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/editors.md', import.meta.url), 'utf8')
  for (const [reason, stopReason] of Object.entries(endings).map(([reason, { acp }]) => [reason, acp] as const)) {
    const row = guide.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${reason}\``))
    expect([reason, row]).toEqual([
      reason,
      expect.stringContaining(stopReason === 'error' ? 'error' : `\`${stopReason}\``),
    ])
  }
})
