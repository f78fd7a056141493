// Rules: R-HOST-1, R-HOST-2, R-HOST-4, R-HOST-5, R-HOST-6, R-HOST-7, R-HOST-8.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { endHosts, host, hostArgs, isResult, kinds, user } from '../support/host.ts'
import { given, one } from '../support/servers.ts'
import { call, here, installProgram, run, script } from '../support/program.ts'

installProgram()
endHosts()

const pause = { content: ['I wait.', call('Bash', { command: 'sleep 300' })] }
const bash = ['--allowedTools=Bash']

describe('the order of lines', () => {
  test('initialize is answered, then each message has a run that starts with init and ends with a result', async () => {
    const one = await host([{ content: 'Hello.' }])
    const answer = await one.ask('initialize', { systemPrompt: [''] })
    expect(answer).toMatchObject({
      subtype: 'success',
      pending_permission_requests: [],
      pending_user_dialog_requests: [],
      response: {
        output_style: 'default',
        available_output_styles: ['default'],
        account: { apiKeySource: 'ANTHROPIC_API_KEY' },
        current_permission_mode: 'default',
        session_state: 'idle',
        hook_on_failure_supported: true,
        claude_code_version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
        commands: expect.any(Array) as unknown,
        agents: expect.any(Array) as unknown,
        models: expect.arrayContaining([expect.objectContaining({ value: 'default' })]) as unknown,
      },
    })
    await one.say('hi')
    const { status, stderr, lines } = await one.end()
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(kinds(lines)).toEqual(['control_response', 'system init', 'assistant', 'result success'])
    const sessionId = lines[1]?.['session_id']
    for (const line of lines.slice(1))
      expect(line).toMatchObject({ session_id: sessionId, uuid: expect.stringMatching(/^[\da-f-]{36}$/) as unknown })
    // An empty system prompt is sent as no system prompt.
    expect(one.service.requests[0]?.body).not.toHaveProperty('system')
  })

  test('commands that servers add after initialize are reported after the first line, once (R-HOST-21)', async () => {
    const config = given({ s: one('slow', '', { SLOW_MS: '1500' }) })
    const each = await host([{ content: 'Hello.' }, { content: 'Again.' }], {
      args: ['--mcp-config', config],
      env: { HALTING_MCP_WAIT_MS: '50' },
    })
    const { response } = await each.ask('initialize', {})
    expect(JSON.stringify(response?.['commands'])).not.toContain('mcp__s__greet')
    const isConnected = async (): Promise<boolean> =>
      JSON.stringify((await each.ask('mcp_status')).response).includes('"connected"')
    await expect.poll(isConnected, { timeout: 20_000 }).toBe(true)
    await each.say('hi')
    await each.say('again')
    const { lines } = await each.end()
    const changes = lines.filter(({ subtype }) => subtype === 'commands_changed')
    expect(changes).toHaveLength(1)
    expect(changes[0]?.['commands']).toContainEqual({
      name: 'mcp__s__greet',
      description: '',
      argumentHint: 'who [rest]',
    })
    const init = kinds(lines).indexOf('system init')
    expect(kinds(lines)[init + 1]).toBe('system commands_changed')
  })

  test('with --include-all-messages, session states follow the first and the last line', async () => {
    const one = await host([{ content: 'Hello.' }], { args: ['--include-all-messages'] })
    await one.say('hi')
    expect(kinds((await one.end()).lines)).toEqual([
      'system init',
      'system session_state_changed running',
      'assistant',
      'result success',
      'system session_state_changed idle',
    ])
  })

  test('status commands are answered without a model, in a new session and during a run', async () => {
    const one = await host([{ content: ['One.', call('Bash', { command: 'sleep 0.3' })] }, { content: 'Two.' }], {
      args: bash,
    })
    expect(await one.say('/compact')).toMatchObject({
      is_error: false,
      local_command: 'compact',
      result: 'There is no conversation to compact yet.',
    })
    one.send(user('first'), user('/cost'))
    expect(await one.next(isResult)).toMatchObject({ result: 'Two.' })
    expect(await one.next(isResult)).toMatchObject({ local_command: 'cost', num_turns: 0 })
    expect(await one.say('/context')).toMatchObject({ result: expect.stringMatching(/^Context: /) as unknown })
    expect(await one.say('/why')).toMatchObject({ result: expect.stringContaining('completed') as unknown })
    expect(one.service.requests).toHaveLength(2)
    expect((await one.end()).status).toBe(0)
  })

  test('results follow the order of messages sent in one write, including commands', async () => {
    const one = await host([{ content: 'Hello.' }])
    one.send(user('/compact'), user('/context'), user('hi'), user('/limits turns 9'))
    const { lines } = await one.end()
    const results = lines.filter(isResult).map(({ result }) => /^\w+/.exec(String(result))?.[0])
    expect(results).toEqual(['There', 'Context', 'Hello', 'Limits'])
  })

  test('a message before initialize waits for initialize, and a message without any initialize runs too', async () => {
    const one = await host([{ content: 'Hello.' }])
    one.send(user('hi'), {
      type: 'control_request',
      request_id: 'i',
      request: { subtype: 'initialize', systemPrompt: ['Be brief.'] },
    })
    await one.next(isResult)
    expect(kinds(one.lines())[0]).toBe('control_response')
    expect(JSON.stringify(one.service.requests[0]?.body['system'])).toContain('Be brief.')
    const two = await host([{ content: 'Hello.' }])
    expect(await two.say('hi')).toMatchObject({ result: 'Hello.' })
    expect((await two.end()).status).toBe(0)
  })

  test('--await-initialize waits for initialize, and applies its options', async () => {
    const args = ['--await-initialize']
    const one = await host([{ content: 'Hello.' }], { args })
    one.send(user('hi'), { type: 'control_request', request_id: 'm', request: { subtype: 'mcp_status' } })
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(one.lines()).toEqual([])
    const { response } = await one.ask('initialize', { systemPrompt: ['Be brief.'], mcpServers: {} })
    expect(response).toMatchObject({ mcp_servers_applied: true })
    await one.next(isResult)
    expect(JSON.stringify(one.service.requests[0]?.body['system'])).toContain('Be brief.')
    // A host that sends nothing more gets an answer without it.
    const two = await host([{ content: 'Hello.' }], { args })
    two.send(user('hi'))
    expect(await two.end()).toMatchObject({ status: 0, stderr: '' })
    expect(two.lines().findLast(isResult)).toMatchObject({ result: 'Hello.' })
  })

  test('a second initialize is answered like the first, and rejected with other options', async () => {
    const one = await host([])
    const first = await one.ask('initialize', { appendSystemPrompt: 'a' })
    expect((await one.ask('initialize', { appendSystemPrompt: 'a' })).response).toEqual(first.response)
    expect(await one.ask('initialize', { appendSystemPrompt: 'b' })).toMatchObject({
      subtype: 'error',
      error: 'The session is already open with other options. Send initialize before the first message.',
    })
    expect((await one.end()).status).toBe(0)
  })

  test('the end of stdin interrupts nothing: submitted messages have results', async () => {
    const one = await host([{ content: 'Hello.', delay_ms: 300 }])
    one.send(user('hi'))
    const { status, lines } = await one.end()
    expect({ status, last: lines.findLast(isResult) }).toMatchObject({ status: 0, last: { result: 'Hello.' } })
  })

  test('the program exits when stdin ends without input', async () => {
    const one = await host([])
    expect(await one.end()).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })
})

describe('messages', () => {
  test('blocks with an image are sent unchanged, and a uuid names the message', async () => {
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
    const content = [
      { type: 'text', text: 'look' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
    ]
    const uuid = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
    const one = await host([{ content: 'A dot.' }], { args: ['--replay-user-messages'] })
    one.send(user(content, { uuid }))
    await one.next(isResult)
    expect(one.lines().filter(({ type }) => type === 'user')).toEqual([
      {
        type: 'user',
        message: { role: 'user', content },
        parent_tool_use_id: null,
        isReplay: true,
        uuid,
        session_id: expect.any(String) as unknown,
      },
    ])
    expect(JSON.stringify(one.service.requests[0]?.body)).toContain(data)
  })

  test('the active run receives a message immediately, at its end, or not at all, depending on its priority', async () => {
    const one = await host(
      [
        { content: ['One.', call('Bash', { command: 'sleep 1' })] },
        { expect: 'second', content: 'Two.' },
        { expect: 'third', content: 'Three.' },
      ],
      { args: bash },
    )
    one.send(user('first'))
    await one.next(({ type }) => type === 'assistant')
    one.send(user('second'), user('third', { priority: 'later' }))
    const { lines, status } = await one.end()
    expect(status).toBe(0)
    expect(lines.findLast(isResult)).toMatchObject({ result: 'Three.' })
  })

  test('the priority now interrupts the run, and starts the next one', async () => {
    const one = await host([pause, { expect: 'second', content: 'Two.' }], { args: bash })
    one.send(user('first'))
    await one.next(({ type }) => type === 'assistant')
    one.send(user('second', { priority: 'now' }))
    const { status, lines } = await one.end()
    expect(lines.filter(isResult).map(({ terminal_reason: reason }) => reason)).toEqual(['aborted_tools', 'completed'])
    expect(status).toBe(0)
  })

  test('a message without shouldQuery precedes the next one', async () => {
    const one = await host([{ content: 'Hello.' }])
    one.send(user('of note', { shouldQuery: false }))
    await one.say('hi')
    const { messages } = one.service.requests[0]?.body ?? {}
    expect(JSON.stringify(messages)).toMatch(/of note.*hi/)
    expect((await one.end()).lines.filter(isResult)).toHaveLength(1)
  })

  test('an invalid message has a result that says so, and the next one is answered', async () => {
    const one = await host([{ content: 'Hello.' }])
    one.send({ type: 'user', message: { role: 'user', content: [] } })
    expect(await one.next(isResult)).toMatchObject({
      is_error: true,
      session_id: expect.stringMatching(/^[\da-f-]{36}$/) as unknown,
      errors: [expect.stringContaining('is empty') as unknown],
    })
    expect(await one.say('hi')).toMatchObject({ result: 'Hello.' })
    expect((await one.end()).status).toBe(0)
  })

  test('handles 10 MB, two messages in one write, carriage returns and broken lines', async () => {
    const one = await host([{ content: 'Much.' }, { expect: 'second', content: 'Two.' }], {
      args: ['--context-window=20m', '--autocompact=off'],
    })
    const text = 'x'.repeat(10 * 1024 * 1024)
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    one.send(`${JSON.stringify(user(text))}\r\n{"type":\n[]\n\r\n{"type":"stranger"}\n{"type":${deep}}\n`)
    await one.next(isResult)
    one.send(user('second \u2028 third'))
    await one.next(isResult)
    const { status, stderr, lines } = await one.end()
    expect(lines.filter(isResult).map(({ result, errors }) => result ?? errors)).toEqual(['Much.', 'Two.'])
    expect(status).toBe(0)
    expect(stderr.split('\n')).toEqual([
      'halting: ignored a line on stdin that is not valid JSON: {"type":',
      'halting: ignored a line on stdin that is not a JSON object: []',
      'halting: ignored a line of the type "stranger".',
      'halting: ignored a line of the type that is not a string.',
      '',
    ])
  })

  test('an overlong line is rejected with an answer to the waiting host, and nothing else is lost', async () => {
    const one = await host([{ content: 'One.' }, { expect: 'third', content: 'Three.' }])
    const much = 'x'.repeat(33 * 1024 * 1024)
    one.send(user('first'))
    await one.next(isResult)
    one.send(user(much), { type: 'control_request', request_id: 'long "id', request: { subtype: 'interrupt', much } })
    one.send({ much }, user('third'))
    await one.next(isResult)
    await one.next(isResult)
    const { status, stderr, lines } = await one.end()
    expect(lines.filter(isResult).map(({ result, errors }) => result ?? errors)).toEqual([
      'One.',
      ['The message has more than 32 MiB and was not read. Send it in parts, or put it in a file and name the file.'],
      'Three.',
    ])
    expect(lines.filter(({ type }) => type === 'control_response')).toMatchObject([
      {
        response: {
          subtype: 'error',
          request_id: 'long "id',
          error: 'The request has more than 32 MiB and was not read.',
        },
      },
    ])
    expect(status).toBe(0)
    expect(stderr.split('\n')).toEqual([
      'halting: The message has more than 32 MiB and was not read. Send it in parts, or put it in a file and name the file.',
      expect.stringContaining('halting: ignored a line on stdin with more than 32 MiB: {"much":"xxx'),
      '',
    ])
  })
})

describe('the exit code is 0 unless the last result is an error', () => {
  test.each([
    ['a success', [{ content: 'Hello.' }], [], 0, {}],
    [
      'a limit',
      [{ content: [call('Bash', { command: 'true' })] }],
      [...bash, '--max-turns=1'],
      3,
      { subtype: 'error_max_turns' },
    ],
    ['a failure', [{ error: { status: 400, message: 'no such thing' } }], [], 1, { is_error: true }],
  ])('%s', async (_name, replies, args, exitCode, result) => {
    const one = await host(replies, { args })
    const message = await one.say('hi')
    expect(message).toMatchObject(result)
    const { status } = await one.end()
    expect(status).toBe(exitCode)
  })

  test('a hook that stops a run exits with 0 here, and with 4 with -p', async () => {
    const hooks = {
      PostToolUse: [{ hooks: [{ type: 'command', command: `echo '{"continue":false,"stopReason":"enough"}'` }] }],
    }
    const args = [...bash, '--settings', JSON.stringify({ hooks })]
    const replies = [{ content: [call('Bash', { command: 'true' })] }]
    const one = await host(replies, { args })
    expect(await one.say('hi')).toMatchObject({ subtype: 'success', terminal_reason: 'hook_stopped' })
    expect((await one.end()).status).toBe(0)
    expect((await run(['-p', 'hi', '--script', script(replies), ...args])).status).toBe(4)
  })

  test('an unsatisfied stop hook and a missing answer exit with 0 here, and with 4 and 1 with -p (spec R-GOAL-23)', async () => {
    const hooks = { Stop: [{ hooks: [{ type: 'command', command: 'echo tests fail >&2; exit 2' }] }] }
    const env = { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '1' }
    const stopHookArgs = ['--settings', JSON.stringify({ hooks })]
    const answers = [{ content: 'Done.' }, { content: 'Really done.' }]
    const unmet = await host(answers, { args: stopHookArgs, env })
    expect(await unmet.say('hi')).toMatchObject({
      subtype: 'success',
      is_error: false,
      terminal_reason: 'stop_hook_unmet',
      result: 'Really done.',
      stop: { reason: 'stop_hook_unmet', category: 'retry_limit' },
    })
    expect((await unmet.end()).status).toBe(0)
    const printed = await run(['-p', 'hi', '--script', script(answers), ...stopHookArgs], { env })
    expect(printed).toMatchObject({ status: 4, stdout: 'Really done.\n' })
    expect(printed.stderr).toContain('which was sent back 1 time in a row: tests fail (')

    const nothing = [{ content: '', repeat: 2 }]
    const silent = await host(nothing, {})
    const message = await silent.say('hi')
    expect(message).toMatchObject({ subtype: 'success', is_error: false, terminal_reason: 'no_answer', result: '' })
    expect(message).not.toHaveProperty('errors')
    expect((await silent.end()).status).toBe(0)
    expect((await run(['-p', 'hi', '--script', script(nothing)])).status).toBe(1)
  })

  test('the error is the sentence that people read', async () => {
    const one = await host([{ content: [call('Bash', { command: 'true' })] }], { args: [...bash, '--max-turns=1'] })
    expect((await one.say('hi'))['errors']).toEqual(['Reached maximum number of turns (1)'])
  })

  test('if the session cannot be opened, initialize fails and the program reports why', async () => {
    const one = await host([], { args: ['--resume=3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'] })
    expect(await one.ask('initialize')).toMatchObject({ subtype: 'error' })
    const { status, stderr } = await one.running.ended
    expect(status).toBe(2)
    expect(stderr).toContain('No conversation found with session ID')
    expect(stderr).not.toContain('stdin cannot be read')
  })
})

describe('arguments', () => {
  test('unknown flags are ignored with their values, in every spelling', async () => {
    const one = await host([{ content: 'Hello.' }], {
      args: [
        '--foo',
        'bar',
        '--from-later=1',
        '--bare',
        '--plugin-dir=/p',
        '--permission-mode=auto',
        '--max-turns',
        '5',
      ],
    })
    expect(await one.say('hi')).toMatchObject({ result: 'Hello.' })
    const { status, stderr } = await one.end()
    expect(status).toBe(0)
    expect(stderr).toBe(
      [
        'halting: --permission-mode auto is not supported. Using the mode default, which asks.',
        'halting: ignored the unknown flag --foo.',
        'halting: ignored the unknown flag --from-later.',
        'halting: ignored the unknown flag --bare.',
        'halting: there is no plugin in /p: the folder does not exist.',
        '',
      ].join('\n'),
    )
  })

  test('accepts every flag of the official SDK', async () => {
    const one = await host([{ content: '{"a":1}' }], {
      args: [
        '--thinking=adaptive',
        '--effort=xhigh',
        '--max-turns=3',
        '--max-budget-usd=0.5',
        '--task-budget=50000',
        '--model=claude-sonnet-5-5',
        '--betas=context-1m-2025-08-07',
        '--json-schema={"type":"object"}',
        '--debug-to-stderr',
        '--allowedTools=Read,Bash(npm test)',
        '--disallowedTools=WebFetch',
        '--tools=default',
        '--mcp-config',
        '{"mcpServers":{}}',
        '--strict-mcp-config',
        '--setting-sources=',
        '--permission-mode=acceptEdits',
        '--allow-dangerously-skip-permissions',
        '--permission-prompts=none',
        '--fallback-model=claude-haiku-4-5',
        '--include-hook-events',
        '--include-partial-messages',
        '--add-dir=/tmp',
        '--session-id=3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93',
        '--settings',
        '{"permissions":{"deny":["Write"]}}',
        '--no-session-persistence',
      ],
    })
    const result = await one.say('hi')
    expect(result).toMatchObject({ structured_output: { a: 1 }, session_id: '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93' })
    const seen = one.service.requests[0]
    expect(seen?.body).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'xhigh', task_budget: { type: 'tokens', total: 50_000 } },
    })
    expect(seen?.headers['anthropic-beta']).toBe('context-1m-2025-08-07,task-budgets-2026-03-13')
    expect((await one.end()).status).toBe(0)
  })

  test('accepts the arguments of the Python SDK: -v first, values as separate words', async () => {
    const { stdout } = await run(['-v'])
    expect(stdout).toMatch(/^2\.\d+\.\d+/)
    const one = await host([{ content: 'Hello.' }], {
      args: [
        '--system-prompt',
        'You are brief.',
        '--allowedTools',
        'Read',
        '--max-turns',
        '2',
        '--permission-mode',
        'plan',
        '--setting-sources',
        '',
      ],
    })
    const initialize = await one.ask('initialize', { hooks: null })
    expect(initialize.subtype).toBe('success')
    one.send({
      type: 'user',
      message: { role: 'user', content: 'hi' },
      parent_tool_use_id: null,
      session_id: 'default',
    })
    expect(await one.next(isResult)).toMatchObject({ result: 'Hello.' })
    expect(one.lines().find(({ subtype }) => subtype === 'init')).toMatchObject({ permissionMode: 'plan' })
    expect(JSON.stringify(one.service.requests[0]?.body['system'])).toContain('You are brief.')
    expect((await one.end()).status).toBe(0)
  })

  test('--agent makes the session that agent', async () => {
    const agents = {
      reviewer: { description: 'Reviews', prompt: 'You review.', tools: ['Read'], model: 'claude-haiku-4-5' },
    }
    const one = await host([{ content: 'Fine.' }], { args: ['--agent=reviewer'] })
    await one.ask('initialize', { agents })
    await one.say('hi')
    const body = one.service.requests[0]?.body
    expect(JSON.stringify(body?.['system'])).toContain('You review.')
    expect(body?.['model']).toBe('claude-haiku-4-5')
    expect(body?.['tools']).toEqual([expect.objectContaining({ name: 'Read' })])
  })

  test('offers only the skills that the host names', async () => {
    const cwd = mkdtempSync(join(here(), 'project-'))
    for (const name of ['knit', 'weave']) {
      mkdirSync(join(cwd, '.claude/skills', name), { recursive: true })
      writeFileSync(
        join(cwd, '.claude/skills', name, 'SKILL.md'),
        `---\nname: ${name}\ndescription: To ${name}.\n---\nDo it.`,
      )
    }
    const one = await host([{ content: 'Fine.' }], { cwd, args: ['--allowedTools=Skill(knit)'] })
    const { response } = await one.ask('initialize', { skills: ['knit'] })
    expect(response?.['commands']).toEqual(
      expect.arrayContaining(['knit', 'weave'].map((name) => expect.objectContaining({ name }) as unknown)),
    )
    await one.say('hi')
    expect(one.lines().find(({ subtype }) => subtype === 'init')).toMatchObject({ skills: ['knit'] })
  })

  test('resumes as a copy with its own id, from a message on', async () => {
    const cwd = mkdtempSync(join(here(), 'project-'))
    const first = await host([{ content: 'One.' }, { content: 'Two.' }], { cwd })
    const [a, b] = ['3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93', '4f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93']
    await first.say('one', { uuid: a })
    const last = first.lines().find(({ type }) => type === 'assistant')?.['uuid']
    const { session_id: sessionId } = await first.say('two')
    expect((await first.end()).status).toBe(0)
    const args = [
      `--resume=${String(sessionId)}`,
      '--fork-session',
      `--session-id=${b}`,
      `--resume-session-at=${String(last)}`,
    ]
    const second = await host([{ content: 'Three.' }], { cwd, args })
    expect(await second.say('three')).toMatchObject({ result: 'Three.', session_id: b })
    const sent = JSON.stringify(second.service.requests[0]?.body['messages'])
    expect([sent.includes('One.'), sent.includes('Two.'), sent.includes('three')]).toEqual([true, false, true])
    expect((await second.end()).status).toBe(0)
  })

  test('unknown flags without the host protocol, and invalid combinations of flags, are refused', async () => {
    expect(await run([...hostArgs.slice(0, 3), '--foo', '-p', 'hi'])).toMatchObject({ status: 2, stdout: '' })
    expect(await run(['--input-format=stream-json', '-p'])).toMatchObject({
      status: 2,
      stderr: 'halting: --input-format stream-json needs --output-format stream-json.\n',
    })
    expect(await run([...hostArgs, 'hi'])).toMatchObject({
      status: 2,
      stderr: 'halting: With --input-format stream-json, send prompts on stdin, one JSON message per line.\n',
    })
  })
})
