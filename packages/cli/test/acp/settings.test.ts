// Holds rules of docs/spec: R-ACP-9 to R-ACP-11, R-ACP-13.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { methods, type SessionConfigOption } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { type ScriptedReply, scriptedModel } from '@halting/core/testing'
import { startAgent } from '../support/acp-agent.ts'

const look: ScriptedReply = { toolCalls: [{ name: 'Glob', input: { pattern: '*' } }] }

const currentValues = (options: readonly SessionConfigOption[] | null | undefined): Record<string, unknown> =>
  Object.fromEntries((options ?? []).map(({ id, currentValue }) => [id, currentValue]))

test('a limit raised in the editor during a run applies to that run', async () => {
  let reached: () => void = () => undefined
  const inRun = new Promise<void>((resolve) => (reached = resolve))
  let release: () => void = () => undefined
  const wait = new Promise<void>((resolve) => (release = resolve))
  const model = scriptedModel((_request, index) =>
    index === 0 ? { ...look, before: () => (reached(), wait) } : index < 4 ? look : 'Done.',
  )
  const { agent, newSession, prompt, updates, wire } = await startAgent({ model, options: { maxTurns: 1 } })
  const { sessionId, configOptions } = await newSession()
  expect(currentValues(configOptions)).toMatchObject({ '_halting.max_turns': '1', '_halting.budget_usd': 'none' })
  const answered = prompt(sessionId, 'go')
  await inRun
  const raised = await agent.request(methods.agent.session.setConfigOption, {
    sessionId,
    configId: '_halting.max_turns',
    value: '10',
  })
  expect(currentValues(raised.configOptions)).toMatchObject({ '_halting.max_turns': '10' })
  release()
  expect(await answered).toMatchObject({ stopReason: 'end_turn', _meta: { 'halting/stop': { reason: 'completed' } } })
  expect(model.requests).toHaveLength(5)
  expect(updates('config_option_update')).toHaveLength(1)
  expect(updates('usage_update').at(-1)).toMatchObject({
    cost: { currency: 'USD' },
    _meta: { 'halting/limits': { turnsLeft: 5, budgetUsd: null, timeLeftMs: null } },
  })
  expect(wire.problems).toEqual([])
})

test.each(['', '/continue', '  /continue  '])(
  'after a limit, "%s" continues with the same number of additional turns',
  async (text) => {
    const model = scriptedModel((_request, index) => (index < 3 ? look : 'Done.'))
    const { newSession, prompt, wire } = await startAgent({ model, options: { maxTurns: 2 } })
    const { sessionId } = await newSession()
    expect(await prompt(sessionId, 'go')).toMatchObject({ stopReason: 'max_turn_requests' })
    expect(await prompt(sessionId, text)).toMatchObject({ stopReason: 'end_turn' })
    // The permission that the session began with still applies: nothing changed it in between.
    expect(model.requests.at(-1)?.messages.filter(({ role }) => role === 'user')).toHaveLength(4)
    expect(wire.problems).toEqual([])
  },
)

test.each<
  readonly [
    reason: string,
    limits: {
      readonly maxTurns?: number
      readonly maxTotalTokens?: number
      readonly maxDurationMs?: number
      readonly maxToolCalls?: number
    },
    option: string,
    before: string,
    raised: string,
    shown: string,
    left: string,
  ]
>([
  ['max_turns', { maxTurns: 2 }, '_halting.max_turns', '2', '10', '10', 'turnsLeft'],
  ['token_limit', { maxTotalTokens: 30_000 }, '_halting.max_tokens', '30000', '2.5m', '2500000', 'tokensLeft'],
  ['max_tool_calls', { maxToolCalls: 1 }, '_halting.max_tool_calls', '1', '8', '8', 'toolCallsLeft'],
  ['time_limit', { maxDurationMs: 300 }, '_halting.max_duration', '300ms', '1h30m', '90m', 'timeLeftMs'],
])('a run that ended with %s continues with its counters once the limit is raised', async (...row) => {
  const [reason, options, configId, before, raised, shown, left] = row
  const usage = { input_tokens: 5_000, output_tokens: 5_000 }
  const model = scriptedModel(
    (_request, index) => {
      if (index === 0 && reason === 'time_limit') return { hang: true, text: 'Wait' }
      return index < 2 ? { ...look, usage } : { text: 'Done.', usage }
    },
    { maxOutputTokens: 15_000 },
  )
  const { agent, newSession, prompt, updates, wire } = await startAgent({ model, options })
  const { sessionId, configOptions } = await newSession()
  expect(currentValues(configOptions)).toMatchObject({ [configId]: before })
  expect(await prompt(sessionId, 'go')).toMatchObject({ _meta: { 'halting/stop': { reason } } })
  const after = await agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value: raised })
  expect(currentValues(after.configOptions)).toMatchObject({ [configId]: shown })
  expect(await prompt(sessionId, '/continue')).toMatchObject({
    stopReason: 'end_turn',
    _meta: { 'halting/stop': { reason: 'completed' } },
  })
  const meta = updates('usage_update').at(-1)?.['_meta'] as {
    readonly 'halting/limits': Readonly<Record<string, number>>
  }
  const limit = { turnsLeft: 10, toolCallsLeft: 8, tokensLeft: 2_500_000, timeLeftMs: 90 * 60_000 }[left] ?? 0
  const spent = { turnsLeft: 3, toolCallsLeft: 1, tokensLeft: 30_000, timeLeftMs: 300 }[left] ?? 0
  expect(meta['halting/limits'][left]).toBeLessThanOrEqual(limit - spent)
  expect(wire.problems).toEqual([])
})

test('an empty prompt with nothing to continue explains what to do', async () => {
  const { newSession, prompt, wire } = await startAgent({ model: scriptedModel([]) })
  const { sessionId } = await newSession()
  await expect(prompt(sessionId, '')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('prompt'),
  })
  await expect(prompt(sessionId, '/compact')).rejects.toMatchObject({ code: -32602 })
  expect(wire.problems).toEqual([])
})

test('every response has the options, and the modes in both forms', async () => {
  const model = scriptedModel([])
  const { agent, newSession, updates, wire } = await startAgent({ model })
  const { sessionId, modes, configOptions } = await newSession()
  expect(modes?.availableModes.map(({ id }) => id)).toEqual(
    configOptions?.[0]?.type === 'select'
      ? configOptions[0].options.map((choice) => 'value' in choice && choice.value)
      : [],
  )
  await agent.request(methods.agent.session.setMode, { sessionId, modeId: 'plan' })
  await expect
    .poll(() => updates('current_mode_update'))
    .toEqual([{ sessionUpdate: 'current_mode_update', currentModeId: 'plan' }])
  expect(
    currentValues(updates('config_option_update').at(-1)?.['configOptions'] as SessionConfigOption[]),
  ).toMatchObject({
    mode: 'plan',
  })
  const set = (configId: string, value: string) =>
    agent
      .request(methods.agent.session.setConfigOption, { sessionId, configId, value })
      .then(({ configOptions }) => currentValues(configOptions))
  expect(await set('mode', 'acceptEdits')).toMatchObject({ mode: 'acceptEdits' })
  expect(await set('thinking', 'adaptive')).toMatchObject({ thinking: 'adaptive' })
  expect(await set('thinking', 'enabled:4096')).toMatchObject({ thinking: 'enabled:4096' })
  expect(await set('thinking', 'default')).toMatchObject({ thinking: 'default' })
  // A number that is in no list.
  expect(await set('_halting.max_turns', '7')).toMatchObject({ '_halting.max_turns': '7' })
  expect(await set('_halting.max_turns', 'none')).toMatchObject({ '_halting.max_turns': 'none' })
  expect(updates('current_mode_update')).toHaveLength(2)
  expect(wire.problems).toEqual([])
})

test.each([
  ['an unknown option', 'nothing', '1'],
  ['a limit that is no number', '_halting.max_turns', 'many'],
  ['a limit of zero', '_halting.max_turns', '0'],
  ['half a turn', '_halting.max_turns', '1.5'],
  ['a negative number of tokens', '_halting.max_tokens', '-5'],
  ['a time without a unit', '_halting.max_duration', '10'],
  ['no text', '_halting.max_duration', ''],
  ['an unknown mode', 'mode', 'yolo'],
  ['an unknown model', 'model', 'nobody'],
  ['an unknown thinking setting', 'thinking', 'enabled:x'],
  ['a budget in dollars for a model without a price', '_halting.budget_usd', '5'],
])('%s is rejected, and nothing is set', async (_name, configId, value) => {
  const { agent, newSession, wire } = await startAgent({ model: scriptedModel([]) })
  const { sessionId, configOptions } = await newSession()
  const setting = agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value })
  await expect(setting).rejects.toMatchObject({ code: -32602, message: expect.stringMatching(/\S+ \S+/) })
  const after = await agent.request(methods.agent.session.setConfigOption, {
    sessionId,
    configId: 'thinking',
    value: 'default',
  })
  expect(currentValues(after.configOptions)).toEqual(currentValues(configOptions))
  expect(wire.problems).toEqual([])
})

test('the commands include those of this frontend', async () => {
  const commands = [{ name: 'review', description: 'Looks at a change', argumentHint: 'which' }]
  const { newSession, updates, wire } = await startAgent({ model: scriptedModel([]), commands })
  await newSession()
  await expect
    .poll(() => updates('available_commands_update'))
    .toEqual([
      {
        sessionUpdate: 'available_commands_update',
        availableCommands: [
          { name: 'continue', description: expect.any(String) },
          { name: 'retry', description: expect.any(String) },
          { name: 'compact', description: expect.any(String), input: { hint: 'what to keep' } },
          { name: 'until', description: expect.any(String), input: { hint: 'COMMAND, + COMMAND, or off' } },
          { name: 'goal', description: expect.any(String), input: { hint: 'what must hold, or off' } },
          { name: 'review', description: 'Looks at a change', input: { hint: 'which' } },
        ],
      },
    ])
  expect(wire.problems).toEqual([])
})

test('names from files and the model are shown on one line', async () => {
  const hostile = `\u001B]0;title\u0007a\u202Eb\n${'c'.repeat(5_000)}`
  const commands = [{ name: 'review', description: hostile, argumentHint: hostile }]
  const todos = [{ content: hostile, status: 'pending' }]
  const calls = [
    { name: 'TodoWrite', input: { todos } },
    { name: hostile, input: {} },
  ]
  const model = scriptedModel([{ toolCalls: calls }, 'Done.'])
  const { newSession, prompt, updates } = await startAgent({ model, commands })
  const { sessionId } = await newSession()
  await prompt(sessionId, 'go')
  const [{ availableCommands } = {}] = updates('available_commands_update')
  const [{ entries } = {}] = updates('plan')
  const names = updates('tool_call').map(({ name, title }) => [name, title])
  const allUpdates = JSON.stringify([availableCommands, entries, names])
  expect(allUpdates).toContain('review')
  expect(allUpdates).toMatch(/ab c+…/)
  expect(allUpdates).not.toMatch(/\u202E|\\u001b|\\u0007|\\n|c{600}/i)
})

test('two sessions have separate folders, modes and runs', async () => {
  const model = () => scriptedModel([{ toolCalls: [{ name: 'Glob', input: { pattern: '*.txt' } }] }, 'Done.'])
  const { agent, cwd, newSession, prompt, wire } = await startAgent({ model })
  mkdirSync(join(cwd, 'inner'))
  const first = await newSession()
  const second = await agent.request(methods.agent.session.new, { cwd: join(cwd, 'inner'), mcpServers: [] })
  await agent.request(methods.agent.session.setMode, { sessionId: first.sessionId, modeId: 'plan' })
  const { configOptions } = await agent.request(methods.agent.session.setConfigOption, {
    sessionId: second.sessionId,
    configId: '_halting.max_turns',
    value: '3',
  })
  expect(currentValues(configOptions)).toMatchObject({ mode: 'default', '_halting.max_turns': '3' })
  const answers = await Promise.all([prompt(first.sessionId, 'one'), prompt(second.sessionId, 'two')])
  expect(answers.map(({ stopReason }) => stopReason)).toEqual(['end_turn', 'end_turn'])
  expect(wire.problems).toEqual([])
})

test('an unknown session, a relative folder and an unknown method have error codes', async () => {
  const { agent, cwd, wire } = await startAgent({ model: scriptedModel([]) })
  const prompt = [{ type: 'text' as const, text: 'hi' }]
  await expect(agent.request(methods.agent.session.prompt, { sessionId: 'none', prompt })).rejects.toMatchObject({
    code: -32002,
  })
  await expect(
    agent.request(methods.agent.session.load, { sessionId: 'none', cwd, mcpServers: [] }),
  ).rejects.toMatchObject({ code: -32002 })
  await expect(agent.request(methods.agent.session.resume, { sessionId: 'none', cwd })).rejects.toMatchObject({
    code: -32002,
  })
  await expect(agent.request(methods.agent.session.new, { cwd: 'relative', mcpServers: [] })).rejects.toMatchObject({
    code: -32602,
  })
  await expect(agent.request('session/nothing', {})).rejects.toMatchObject({ code: -32601 })
  await expect(agent.request('session/prompt', { sessionId: 7 })).rejects.toMatchObject({ code: -32602 })
  // Repeating it changes nothing.
  expect(await agent.request(methods.agent.session.close, { sessionId: 'none' })).toEqual({})
  expect(await agent.request(methods.agent.session.delete, { sessionId: 'none' })).toEqual({})
  expect(
    wire.problems.filter(
      (problem) => !problem.startsWith('Request session/nothing') && !problem.startsWith('PromptRequest'),
    ),
  ).toEqual([
    // The method has no schema, so only an error can be a valid answer.
  ])
})
