// Holds rules of docs/spec: R-VERI-23a: what an editor shows when no check has passed since the last change.
import { methods } from '@agentclientprotocol/sdk'
import { type FileWork, type RunOptions, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { runInEditor } from '../support/ending-frontends.ts'
import type { EndingRun } from '../support/ending-runs.ts'
import { startAgent } from '../support/acp-agent.ts'

const sentence = 'No check has passed since the last change.'

function options(fileWork: FileWork): Partial<RunOptions> {
  return {
    tools: [tool({ name: 'Work', description: 'works', readOnly: true, execute: () => ({ content: 'ok', fileWork }) })],
    verification: { mode: 'tell' },
  }
}

const replies = [{ toolCalls: [{ name: 'Work' }] }, { text: 'Done.' }]
const unchecked: EndingRun = { replies, options: options({ changedLines: 3 }) }

test('sends a notice if the editor shows notices, else nothing in the conversation', async () => {
  expect((await runInEditor(unchecked)).says).toContain(sentence)
  expect((await runInEditor(unchecked, { notices: false })).says).not.toContain(sentence)
  const checked = options({ changedLines: 3, check: { command: 'npm test', passed: true } })
  expect((await runInEditor({ replies, options: checked })).says).not.toContain(sentence)
})

test.each<[FileWork, unknown]>([
  [{ changedLines: 3 }, false],
  [{ changedLines: 3, check: { command: 'npm test', passed: true } }, true],
  [{}, 'nothing changed'],
])('the response to the prompt contains the result of the verification: %j', async (work, verified) => {
  const { agent, newSession } = await startAgent({ model: scriptedModel(replies), options: options(work) })
  const { sessionId } = await newSession()
  const answer = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'go' }],
  })
  expect(answer).toMatchObject({ stopReason: 'end_turn', _meta: { 'halting/verified': verified } })
})
