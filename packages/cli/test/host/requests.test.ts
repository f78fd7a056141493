// Rules: R-HOST-3, R-HOST-6, R-HOST-6a, R-HOST-7.
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endHosts, host, isResult, user } from '../support/host.ts'
import { call, here, installProgram, type Line } from '../support/program.ts'

installProgram()
endHosts()

const bash = ['--allowedTools=Bash']
const pause = { content: ['I wait.', call('Bash', { command: 'sleep 300' })] }
const isAssistant = ({ type }: { readonly type: string }): boolean => type === 'assistant'

test('an unknown request is an error, and the run continues', async () => {
  const one = await host([{ content: 'Hello.', delay_ms: 200 }])
  one.send(user('hi'))
  expect(await one.ask('set_colour')).toEqual({
    subtype: 'error',
    request_id: 'r1',
    error: 'Unsupported control request subtype: set_colour',
  })
  expect(await one.ask('toString')).toMatchObject({ subtype: 'error' })
  expect(await one.next(isResult)).toMatchObject({ result: 'Hello.' })
})

test('interrupt ends the run immediately, and the session continues', async () => {
  const one = await host([pause, { content: 'Again.' }], { args: bash })
  expect(await one.ask('interrupt')).toMatchObject({ subtype: 'success', response: { still_queued: [] } })
  one.send(user('first'))
  await one.next(isAssistant)
  one.send(user('second', { uuid: 'b', priority: 'later' }), user('third', { uuid: 'c', priority: 'later' }))
  expect(await one.ask('cancel_async_message', { message_uuid: 'b' })).toMatchObject({ response: { cancelled: true } })
  expect(await one.ask('cancel_async_message', { message_uuid: 'b' })).toMatchObject({ response: { cancelled: false } })
  expect(await one.ask('interrupt', { cancel_queued: true })).toMatchObject({
    response: { still_queued: [], cancelled: ['c'] },
  })
  const result = await one.next(isResult)
  expect(result).toMatchObject({ subtype: 'error_during_execution', terminal_reason: 'aborted_tools' })
  const userLines = one.lines().filter(({ type }) => type === 'user')
  expect(JSON.stringify(userLines.at(-1))).toContain('[Request interrupted by user for tool use]')
  expect(await one.say('fourth')).toMatchObject({ result: 'Again.' })
  expect((await one.end()).status).toBe(0)
})

test('an interrupted reply is sent with its text up to the interruption', async () => {
  const one = await host([{ content: ['One.', 'Two.'], pace_ms: 400 }], { args: ['--include-partial-messages'] })
  one.send(user('hi'))
  await one.next(({ type, event }) => type === 'stream_event' && JSON.stringify(event).includes('text_delta'))
  expect(await one.ask('interrupt')).toMatchObject({ subtype: 'success' })
  expect(await one.next(isResult)).toMatchObject({ terminal_reason: 'aborted_streaming' })
  const messageLines = one.lines().filter(({ type }) => ['assistant', 'user', 'result'].includes(type))
  expect(messageLines).toMatchObject([
    { type: 'assistant', aborted: true, message: { content: [{ type: 'text', text: expect.any(String) as unknown }] } },
    { type: 'user', message: { content: [{ type: 'text', text: '[Request interrupted by user]' }] } },
    { type: 'result', subtype: 'error_during_execution' },
  ])
  expect((await one.end()).status).toBe(130)
})

test('model, mode and thinking apply from the next request on, and the mode is reported', async () => {
  const one = await host([{ content: 'One.' }, { content: 'Two.' }, { content: 'Three.' }])
  await one.say('one')
  expect(await one.ask('set_model', { model: 'claude-haiku-4-5' })).toMatchObject({
    response: { model: 'claude-haiku-4-5' },
  })
  expect(await one.ask('set_permission_mode', { mode: 'plan' })).toMatchObject({ response: { mode: 'plan' } })
  expect(await one.next(({ subtype }) => subtype === 'status')).toMatchObject({ permissionMode: 'plan', status: null })
  expect(await one.ask('set_max_thinking_tokens', { max_thinking_tokens: 2000 })).not.toHaveProperty('response')
  await one.say('two')
  expect(await one.ask('set_model')).toMatchObject({ response: { model: 'claude-sonnet-5-5' } })
  await one.ask('set_max_thinking_tokens', { max_thinking_tokens: null })
  await one.say('three')
  const [, second, third] = one.service.requests.map(({ body }) => body)
  expect(second).toMatchObject({ model: 'claude-haiku-4-5', thinking: { type: 'enabled', budget_tokens: 2000 } })
  expect(third).toMatchObject({ model: 'claude-sonnet-5-5' })
  expect(third).not.toHaveProperty('thinking')
  const inits = one.lines().filter(({ subtype }) => subtype === 'init')
  expect(inits.map(({ permissionMode, model }) => [permissionMode, model])).toEqual([
    ['default', 'claude-sonnet-5-5'],
    ['plan', 'claude-haiku-4-5'],
    ['plan', 'claude-sonnet-5-5'],
  ])
  expect((await one.end()).status).toBe(0)
})

test('invalid settings are rejected, and change nothing', async () => {
  const one = await host([{ content: 'One.' }])
  for (const [subtype, fields, error] of [
    ['set_permission_mode', { mode: 'bypassPermissions' }, 'without --allow-dangerously-skip-permissions'],
    [
      'apply_flag_settings',
      { settings: { permissions: { defaultMode: 'bypassPermissions' } } },
      'without --allow-dangerously-skip-permissions',
    ],
    ['set_permission_mode', { mode: 'auto' }, 'Unknown permission mode auto'],
    ['set_permission_mode', {}, 'The request needs "mode", a string.'],
    ['set_model', { model: 'nonsense' }, 'nonsense'],
    ['set_max_thinking_tokens', { max_thinking_tokens: 'many' }, 'must be a whole number, or null'],
    ['apply_flag_settings', { settings: { hooks: {}, model: 'claude-haiku-4-5' } }, 'hooks cannot be set'],
    ['apply_flag_settings', {}, 'needs settings'],
    ['apply_flag_settings', { settings: { permissions: 'plan' } }, 'permissions must be an object'],
    // The mode would have changed by then.
    ['apply_flag_settings', { settings: { permissions: { defaultMode: 'plan' }, model: 'nonsense' } }, 'nonsense'],
    ['background_tasks', {}, 'run_in_background'],
    ['stop_task', {}, 'The request needs "task_id'],
  ] as const) {
    const answer = await one.ask(subtype, fields)
    expect(answer.subtype).toBe('error')
    expect(answer.error).toContain(error)
  }
  await one.say('one')
  expect(one.service.requests[0]?.body['model']).toBe('claude-sonnet-5-5')
  expect(one.lines().find(({ subtype }) => subtype === 'init')).toMatchObject({ permissionMode: 'default' })
})

test('a flag lets a host skip permissions later; effective settings are applied', async () => {
  const one = await host([{ content: 'One.' }], { args: ['--allow-dangerously-skip-permissions'] })
  expect(await one.ask('set_permission_mode', { mode: 'bypassPermissions' })).toMatchObject({ subtype: 'success' })
  const settings = { model: 'claude-haiku-4-5', permissions: { defaultMode: 'acceptEdits' } }
  expect(await one.ask('apply_flag_settings', { settings })).toMatchObject({ response: {} })
  await one.say('one')
  expect(one.lines().find(({ subtype }) => subtype === 'init')).toMatchObject({
    permissionMode: 'acceptEdits',
    model: 'claude-haiku-4-5',
  })
})

test('a host sets limits by the names of settings (spec R-LIM-10)', async () => {
  const replies = [1, 2, 3].map((turn) => ({ content: [call('Read', { file_path: `${turn}.txt` })] }))
  const one = await host(replies, { args: ['--max-turns', '9'] })
  for (const [limits, error] of [
    [5, 'limits must be an object'],
    [
      { maxSteps: 5 },
      'Unknown limit maxSteps. Limits: maxTurns, maxBudgetUsd, maxRunUsd, maxTokens, maxDuration, maxToolCalls.',
    ],
    [{ maxTurns: 0 }, 'limits.maxTurns must be a whole number of at least 1, or null'],
    [{ maxRunUsd: '5' }, 'limits.maxRunUsd must be a number of US dollars above 0'],
    [{ maxDuration: 600 }, 'limits.maxDuration must be a duration'],
  ] as const)
    expect((await one.ask('apply_flag_settings', { settings: { limits } })).error).toContain(error)
  const limits = { maxToolCalls: 2, maxRunUsd: 7, maxDuration: '10m', maxTurns: null }
  expect(await one.ask('apply_flag_settings', { settings: { limits } })).toMatchObject({ subtype: 'success' })
  expect(await one.say('/limits')).toMatchObject({
    result: expect.stringMatching(
      /turns +0, no limit[^]*run-usd +\$0\.0000 of \$7\.00[^]*time .* of 10 min[^]*calls +0 of 2/,
    ),
  })
  expect(await one.say('Go.')).toMatchObject({ terminal_reason: 'max_tool_calls' })
  expect((await one.say('/limits calls 5')).result).toContain('calls')
  await one.end()
})

test('a message cannot raise a limit of the settings (spec R-LIM-10)', async () => {
  const settings = JSON.stringify({ limits: { maxRunUsd: 3 } })
  const one = await host([], { args: ['--settings', settings] })
  expect((await one.say('/limits run-usd 4')).result).toContain('This session was started with a limit of $3.00')
  expect((await one.say('/limits run-usd 2')).result).toContain('$0.0000 of $2.00')
  await one.end()
})

test('a host sets goals for the current and the next run (spec R-GOAL-63)', async () => {
  const cwd = mkdtempSync(join(here(), 'goals-'))
  const replies = [
    { content: 'One.', delay_ms: 400 },
    { content: [call('Write', { file_path: 'a.txt', content: 'x' })] },
    { content: 'Two.' },
    { content: 'Three.' },
  ]
  const one = await host(replies, { cwd, args: ['--permission-mode=acceptEdits'] })
  one.send(user('Go.'))
  await one.next(({ subtype }) => subtype === 'init')
  expect(await one.ask('apply_flag_settings', { settings: { until: ['test -e a.txt'], untilTries: 3 } })).toMatchObject(
    {
      subtype: 'success',
    },
  )
  expect(await one.next(isResult)).toMatchObject({
    result: 'Two.',
    goal: { met: true, tries: 1, checks: [{ name: 'test -e a.txt', exitCode: 0 }] },
  })
  for (const [settings, error] of [
    [{ until: [''] }, 'until must be a list of commands'],
    [{ until: [{ name: 'x' }] }, 'until must be a list of commands'],
    [{ until: [], untilTries: 0 }, 'untilTries must be a whole number from 1 to 1000'],
  ] as const)
    expect((await one.ask('apply_flag_settings', { settings })).error).toContain(error)
  expect(await one.say('/until')).toMatchObject({
    result: 'test -e a.txt ✓\nsent back 1 of 3 times.',
    local_command: 'until',
  })
  expect(await one.ask('apply_flag_settings', { settings: { until: [] } })).toMatchObject({ subtype: 'success' })
  expect(await one.say('And now?')).not.toHaveProperty('goal')
  expect((await one.end()).status).toBe(0)
})

test('a host that starts with a goal reads how it ended, and its exit code', async () => {
  const args = ['--until', 'test -e a.txt', '--until-tries', '1']
  const one = await host([{ content: 'One.' }, { content: 'Two.' }], { args })
  expect(await one.say('Go.')).toMatchObject({
    subtype: 'error_during_execution',
    terminal_reason: 'goal_unmet',
    last_answer: 'Two.',
    goal: { met: false, tries: 1 },
  })
  const rounds = one.lines().filter(({ subtype }) => subtype === 'goal_check')
  expect(rounds.map(({ place, met }) => [place, met])).toEqual([
    ['baseline', false],
    ['answer', false],
    ['answer', false],
  ])
  expect((await one.end()).status).toBe(6)
})

test('reports the window, servers and commands, and rejects unknown tasks', async () => {
  const one = await host([{ content: 'One.' }])
  await one.say('one')
  const { response: usage } = await one.ask('get_context_usage')
  expect(usage).toMatchObject({
    totalTokens: expect.any(Number) as unknown,
    maxTokens: 1_000_000,
    rawMaxTokens: 1_000_000,
    model: 'claude-sonnet-5-5',
    isAutoCompactEnabled: true,
    gridRows: [],
    memoryFiles: [],
  })
  expect(usage?.['categories']).toEqual(
    expect.arrayContaining([
      {
        name: expect.any(String) as unknown,
        tokens: expect.any(Number) as unknown,
        color: expect.any(String) as unknown,
        kind: 'used',
      },
    ]),
  )
  expect(await one.ask('mcp_status')).toMatchObject({ response: { mcpServers: [] } })
  expect(await one.ask('reload_skills')).toMatchObject({ response: { skills: expect.any(Array) as unknown } })
  expect(await one.ask('stop_task', { task_id: 'nothing' })).toMatchObject({ response: {} })
})

test('reverts files to their state before a message, and can preview the changes', async () => {
  const cwd = mkdtempSync(join(here(), 'project-'))
  writeFileSync(join(cwd, 'a.txt'), 'one\n')
  const replies = [
    { content: [call('Read', { file_path: 'a.txt' })] },
    { content: [call('Edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' })] },
    { content: 'Done.' },
  ]
  const args = ['--permission-mode=acceptEdits']
  const one = await host(replies, { cwd, args })
  const uuid = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
  await one.say('edit', { uuid })
  const file = (): string => readFileSync(join(cwd, 'a.txt'), 'utf8')
  expect(file()).toBe('two\n')
  const changed = {
    canRewind: true,
    filesChanged: [expect.stringMatching(/a\.txt$/) as unknown],
    insertions: 1,
    deletions: 1,
  }
  expect(await one.ask('rewind_files', { user_message_id: uuid, dry_run: true })).toMatchObject({ response: changed })
  expect(file()).toBe('two\n')
  expect(await one.ask('rewind_files', { user_message_id: uuid })).toMatchObject({ response: changed })
  expect(file()).toBe('one\n')
  writeFileSync(join(cwd, 'a.txt'), 'three\n')
  expect(await one.ask('rewind_files', { user_message_id: uuid })).toMatchObject({
    response: { canRewind: true, filesChanged: [] },
  })
  expect(file()).toBe('three\n')
  expect(await one.ask('rewind_files', { user_message_id: 'nobody' })).toMatchObject({ response: { canRewind: false } })
  const off = await host([], { cwd, args: [...args, '--no-file-checkpoints'] })
  expect(await off.ask('rewind_files', { user_message_id: uuid })).toMatchObject({
    subtype: 'error',
    error: 'File rewinding is not enabled.',
  })
})

test('an answer to a question cannot set a mode that requests cannot set, nor save it', async () => {
  const replies = [{ content: [call('Bash', { command: 'touch skipped' })] }, { content: 'Done.' }]
  const args = ['--permission-prompt-tool', 'stdio']
  const isQuestion = ({ type, request }: Line): boolean =>
    type === 'control_request' && JSON.stringify(request).includes('can_use_tool')
  for (const destination of ['session', 'userSettings']) {
    const config = join(here(), `config-${destination}`)
    const one = await host(replies, { args, env: { HALTING_CONFIG_DIR: config } })
    await one.ask('initialize')
    one.send(user('go'))
    const { request_id: id } = await one.next(isQuestion)
    const updatedPermissions = [{ type: 'setMode', mode: 'bypassPermissions', destination }]
    one.send({
      type: 'control_response',
      response: { subtype: 'success', request_id: id, response: { behavior: 'allow', updatedPermissions } },
    })
    const { permission_denials: denied } = await one.next(isResult)
    expect(denied).toHaveLength(1)
    expect(JSON.stringify(one.lines())).toContain('there is no mode bypassPermissions')
    expect([existsSync(join(here(), 'skipped')), existsSync(join(config, 'settings.json'))]).toEqual([false, false])
    await one.end()
  }
})
