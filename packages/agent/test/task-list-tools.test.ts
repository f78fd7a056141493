// Spec R-TODO-5 to R-TODO-5b: which tools for the task list a session offers.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codingAgent, createAgentTool, type CodingAgentOptions } from '@halting/agent'
import type { SdkMessage } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { taskListToolsOf } from '../src/open-session/toolbox.ts'

const tasks = ['TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet']
const sdk = (version: string) => ({ CLAUDE_CODE_ENTRYPOINT: 'sdk-ts', CLAUDE_AGENT_SDK_VERSION: version })

async function session(env: Record<string, string>, options: Partial<CodingAgentOptions> = {}) {
  const place = mkdtempSync(join(tmpdir(), 'halting-list-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const todos = [{ content: 'a', status: 'pending' }]
  const model = scriptedModel([
    { toolCalls: [{ name: 'TodoWrite', input: { todos } }] },
    { toolCalls: [{ name: 'TaskCreate', input: { subject: 'b' } }] },
    { toolCalls: [{ name: 'TaskList', input: {} }] },
    'Done.',
  ])
  const builder = await codingAgent({
    cwd: place,
    env: { HOME: join(place, 'home'), PATH: process.env['PATH'], ...env },
    model,
    settingSources: [],
    persistSession: false,
    ...options,
  })
  onTestFinished(() => builder.dispose())
  const engine = await builder.engine()
  const messages: SdkMessage[] = []
  for await (const message of engine.submit('Go.')) messages.push(message)
  const shown = model.requests[0]?.tools
    .map(({ name }) => name)
    .filter((name) => [...tasks, 'TodoWrite'].includes(name))
  const results = JSON.stringify(model.requests.at(-1)?.messages)
  return { shown, results }
}

test.each([
  ['by default', {}, undefined, tasks],
  ['switched off', { CLAUDE_CODE_ENABLE_TASKS: '0' }, undefined, ['TodoWrite']],
  ['an SDK of before', sdk('0.3.141'), undefined, ['TodoWrite']],
  ['named', {}, ['Read', 'TodoWrite'], ['TodoWrite']],
  ['named in an old host', sdk('0.2.9'), ['TaskCreate', 'TaskUpdate'], ['TaskCreate', 'TaskUpdate']],
  ['both named', {}, ['TaskCreate', 'TodoWrite'], ['TaskCreate', 'TodoWrite']],
])('offers the model one list: %s', async (_, env, codingTools, wanted) => {
  const { shown } = await session(env, codingTools === undefined ? {} : { codingTools })
  expect(shown).toEqual(wanted)
})

test.each<Record<string, string>>([{}, { CLAUDE_CODE_ENABLE_TASKS: 'false' }])(
  'accepts calls of the hidden list, which change the same list: %o',
  async (env) => {
    const { results } = await session(env)
    expect(results).toContain(String.raw`#1 [pending] a\n#2 [pending] b`)
  },
)

test('a denied name removes only that tool', async () => {
  const { shown, results } = await session({}, { disallowedTools: ['TaskCreate'] })
  expect(shown).toEqual(tasks.slice(1))
  expect(results).toContain('There is no tool named')
})

test.each([
  [{}, 'tasks'],
  [{ CLAUDE_CODE_ENABLE_TASKS: 'No' }, 'todos'],
  [{ CLAUDE_CODE_ENABLE_TASKS: '1', ...sdk('0.1.0') }, 'tasks'],
  [sdk('0.3.142'), 'tasks'],
  [sdk('0.4.0'), 'tasks'],
  [sdk('1.0.0'), 'tasks'],
  [sdk('next'), 'tasks'],
  [{ CLAUDE_CODE_ENTRYPOINT: 'sdk-py', CLAUDE_AGENT_SDK_VERSION: '0.1.48' }, 'tasks'],
])('%o chooses %s', (env, wanted) => {
  expect(taskListToolsOf(undefined, env)).toBe(wanted)
  expect(taskListToolsOf(['Read', 'default'], env)).toBe(wanted)
})

test.each([
  [
    ['Read', 'TodoWrite'],
    ['Read', ...tasks],
    ['Read', ...tasks],
  ],
  [['TaskUpdate'], ['Read', 'TodoWrite'], ['TodoWrite']],
  [['TodoWrite'], ['Read', 'TodoWrite', ...tasks], ['TodoWrite']],
])('an agent that names %o has of %o the tools %o', (named, all, wanted) => {
  const definition = { name: 'a', description: 'a', prompt: '', tools: named, disallowedTools: [] }
  // The only fields of a definition that are read here.
  const tool = createAgentTool({ definitions: [definition as never], mode: () => 'default' })
  const child = tool.spawn({ prompt: 'Go.', subagent_type: 'a' }, { depth: 0, tools: all, permissionMode: null })
  expect(child.tools).toEqual(wanted)
})
