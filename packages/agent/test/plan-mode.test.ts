// Spec R-PLAN-1 to R-PLAN-4: questions to a person, and plan mode.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCodingTools, createPersonTools, Workspace } from '@halting/agent'
import { createPermissions, type PermissionMode, withPlanMode } from '@halting/policy'
import { QueryEngine } from '@halting/core'
import type { CanUseTool, CanUseToolOptions, PermissionAnswer } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { noQuestions, planApproved } from '../src/tools/person-texts.ts'
import { runTool, temporaryFolder, toolNamed } from './support/harness.ts'

const tools = createPersonTools()

test.each([
  ['AskUserQuestion', 'default', 'ask'],
  ['AskUserQuestion', 'bypassPermissions', 'ask'],
  ['AskUserQuestion', 'dontAsk', 'deny'],
  ['EnterPlanMode', 'default', 'ask'],
  ['EnterPlanMode', 'plan', 'deny'],
  ['ExitPlanMode', 'plan', 'ask'],
  ['ExitPlanMode', 'bypassPermissions', 'deny'],
] as const)('%s in %s: %s, whatever rules allow (spec R-PLAN-1)', (name, mode, behavior) => {
  const permissions = createPermissions({ cwd: '/', mode, allow: ['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'] })
  const call = { type: 'tool_use', id: 'a', name, input: {} } as const
  expect(permissions.decide({ call, tool: toolNamed(tools, name), readOnly: true })).toMatchObject({ behavior })
})

test('a question is answered by what the user filled in (spec R-PLAN-2)', async () => {
  const ask = toolNamed(tools, 'AskUserQuestion')
  const questions = [
    {
      question: 'Which?',
      header: 'Store',
      options: [{ label: 'sqlite', description: 'one file' }, { label: 'postgres' }],
      multiSelect: true,
    },
    { question: 'When?' },
  ]
  const { text, details } = await runTool(ask, { questions, answers: { 'Which?': ['sqlite', 'postgres'] } })
  expect(text).toBe(
    'Answers of the user:\n\nWhich?\nAnswer: sqlite, postgres\n\nWhen?\nNot answered. Choose the most reasonable interpretation and state it in your answer.',
  )
  expect(details).toEqual({ questions: 2, answers: { 'Which?': ['sqlite', 'postgres'] } })
  expect((await runTool(ask, { questions: [] })).text).toBe(noQuestions)
  expect((await runTool(ask, { questions: Array.from({ length: 5 }, () => ({ question: 'a' })) })).isError).toBe(true)
})

interface Planned {
  readonly results: readonly string[]
  readonly suggestions: CanUseToolOptions['suggestions']
}

/** A run that writes a file before and after a plan is presented. */
async function planned(mode: PermissionMode, first: string, answer: PermissionAnswer): Promise<Planned> {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'a.txt'), 'a')
  const workspace = new Workspace({ cwd })
  const call = (id: string, name: string, input: object) => ({ id, name, input })
  const writing = (id: string) => call(id, 'Write', { file_path: `${id}.txt`, content: 'x' })
  let suggestions: Planned['suggestions'] = []
  const canUseTool: CanUseTool = (name, _input, options) => {
    if (name !== first) return { behavior: 'deny', message: 'asked' }
    ;({ suggestions } = options)
    return answer
  }
  const engine = new QueryEngine({
    model: scriptedModel([
      { toolCalls: [writing('before')] },
      { toolCalls: [call('plan', first, first === 'ExitPlanMode' ? { plan: 'Write it.' } : {})] },
      { toolCalls: [writing('after')] },
      { text: 'done' },
    ]),
    tools: [...createCodingTools(workspace), ...tools],
    permissions: createPermissions({ cwd, mode }),
    canUseTool: withPlanMode(canUseTool),
  })
  const results: string[] = []
  for await (const message of engine.submit('go')) {
    if (message.type !== 'user' || typeof message.message.content === 'string') continue
    for (const block of message.message.content)
      if (block.type === 'tool_result' && typeof block.content === 'string') results.push(block.content)
  }
  await workspace.dispose()
  return { results, suggestions }
}

test('approving a plan ends plan mode; a mode in the answer takes precedence (spec R-PLAN-3)', async () => {
  const { results, suggestions } = await planned('plan', 'ExitPlanMode', { behavior: 'allow' })
  expect(results).toEqual([
    expect.stringContaining('nothing may be changed until the plan is approved'),
    planApproved,
    'asked',
  ])
  expect(suggestions).toEqual([
    { type: 'setMode', mode: 'default', destination: 'session' },
    { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
  ])
  const [, second] = suggestions
  const accepted = await planned('plan', 'ExitPlanMode', {
    behavior: 'allow',
    updatedPermissions: second === undefined ? [] : [second],
  })
  expect(accepted.results[2]).toMatch(/^Created .*after\.txt/)
})

test('rejecting a plan keeps plan mode, and the reason goes to the model (spec R-PLAN-3)', async () => {
  const { results } = await planned('plan', 'ExitPlanMode', { behavior: 'deny', message: 'Too large.' })
  expect(results.slice(1)).toEqual([
    expect.stringContaining('Too large.'),
    expect.stringContaining('nothing may be changed'),
  ])
})

test('agreeing to plan starts plan mode (spec R-PLAN-3)', async () => {
  const { results } = await planned('acceptEdits', 'EnterPlanMode', { behavior: 'allow' })
  expect(results).toEqual([
    expect.stringMatching(/^Created/),
    expect.stringMatching(/^Plan mode: explore and ask/),
    expect.stringContaining('nothing may be changed until the plan is approved'),
  ])
})
