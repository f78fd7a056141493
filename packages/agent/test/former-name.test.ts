// Spec R-AGENT-9b: calls of the Agent tool by its former name.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codingAgent, type CodingAgentOptions } from '@halting/agent'
import { tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

/** The answer of a session to a call of Task. */
async function answerOfTask(options: Partial<CodingAgentOptions> = {}): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), 'halting-former-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const model = scriptedModel(({ messages }) => {
    const text = JSON.stringify(messages)
    if (text.includes('tool_result')) return 'Done.'
    const isAgent = text.includes('Say hello.')
    return isAgent
      ? 'Hello.'
      : { toolCalls: [{ name: 'Task', input: { description: 'Say it', prompt: 'Say hello.' } }] }
  })
  const builder = await codingAgent({
    cwd: place,
    env: { HOME: join(place, 'home'), PATH: process.env['PATH'] },
    model,
    settingSources: [],
    persistSession: false,
    ...options,
  })
  onTestFinished(() => builder.dispose())
  const engine = await builder.engine()
  for await (const _ of engine.submit('Go.')) continue
  const [last] = model.requests.at(-1)?.messages.slice(-1) ?? []
  return JSON.stringify(last)
}

test('a call of Task starts an agent', async () => {
  expect(await answerOfTask()).toContain('Hello.')
})

test('a rule that denies Agent denies it', async () => {
  expect(await answerOfTask({ disallowedTools: ['Agent(general-purpose)'] })).toContain('"is_error":true')
  expect(await answerOfTask({ disallowedTools: ['Agent'] })).toContain('There is no tool')
})

test('a tool of a program named Task runs', async () => {
  const own = tool({ name: 'Task', description: 'Mine', readOnly: true, execute: () => 'mine' })
  expect(await answerOfTask({ tools: [own] })).toContain('mine')
})
