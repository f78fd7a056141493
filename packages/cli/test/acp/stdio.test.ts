// Holds rules of docs/spec: R-ACP-1, R-ACP-1a, R-ACP-1b, R-ACP-2, R-ACP-8, R-ACP-13, R-ACP-14, R-ACP-15: the program itself, over stdin and stdout.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { deniedByUser } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { say, talk, type Talk } from '../support/acp-program.ts'
import { callProblems, type Message, updatesIn } from '../support/acp-schema.ts'
import { call, waitForFileText, here, installProgram, script, start, stillAlive } from '../support/program.ts'
import { server } from '../support/servers.ts'

installProgram()

test('too deeply nested messages are answered with an error, and the next ones are read', async () => {
  const one = await talk([])
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  one.child.stdin?.write(`{"jsonrpc":"2.0","id":${deep},"method":"x"}\n`)
  one.child.stdin?.write(`{"jsonrpc":"2.0","id":"p","method":"session/list","params":${deep}}\n`)
  one.child.stdin?.write(`{"jsonrpc":"2.0","id":${deep}}\n`)
  expect(await one.agent.request(methods.agent.session.list, {})).toEqual({ sessions: [] })
  const errors = one.wire.said.filter(({ from }) => from === 'agent').map(({ message }) => JSON.stringify(message))
  expect(errors.filter((line) => line.includes('-32600')).length).toBeGreaterThan(1)
  expect(errors.some((line) => line.includes('"id":"p"'))).toBe(true)
})

test('a session is opened, run, listed, loaded, resumed and deleted', async () => {
  const cwd = join(here(), 'work')
  mkdirSync(cwd)
  const replies = script([
    { content: ['I write.', call('Write', { file_path: 'a.txt', content: 'new\n' })] },
    { content: 'Done.' },
    { content: 'Again.' },
  ])
  const talkRun = await talk(['--script', replies])
  const { agent, wire, asked } = talkRun
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('Write a.txt') })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('new\n')
  expect(asked).toHaveLength(1)
  const { sessions } = await agent.request(methods.agent.session.list, { cwd })
  expect(sessions).toEqual([{ sessionId, cwd, title: 'Write a.txt', updatedAt: expect.any(String) }])
  expect(await agent.request(methods.agent.session.list, { cwd: here() })).toEqual({ sessions: [] })
  await agent.request(methods.agent.session.close, { sessionId })
  const before = wire.said.length
  await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  const since = wire.said.slice(before).map(({ message }) => message)
  const answer = since.findIndex((message) => 'result' in message)
  expect(
    updatesIn({ said: wire.said.slice(before, before + answer) }).map(({ sessionUpdate }) => sessionUpdate),
  ).toEqual(['user_message_chunk', 'agent_message_chunk', 'tool_call', 'tool_call_update', 'agent_message_chunk'])
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('And now?') })).toMatchObject({
    stopReason: 'end_turn',
  })
  await agent.request(methods.agent.session.close, { sessionId })
  const resumed = wire.said.length
  await agent.request(methods.agent.session.resume, { sessionId, cwd })
  expect(
    updatesIn({ said: wire.said.slice(resumed) }).filter(({ sessionUpdate }) => sessionUpdate === 'user_message_chunk'),
  ).toEqual([])
  for (let time = 0; time < 2; time++)
    expect(await agent.request(methods.agent.session.delete, { sessionId })).toEqual({})
  expect(await agent.request(methods.agent.session.list, {})).toEqual({ sessions: [] })
  await expect(agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })).rejects.toMatchObject({
    code: -32002,
  })
  talkRun.child.stdin?.end()
  expect(await talkRun.exited()).toBe(0)
  expect([wire.problems, talkRun.strangers, talkRun.stderr()]).toEqual([[], [], ''])
})

test('a run of a killed process continues in the mode that the editor shows, not in its initial mode', async () => {
  const cwd = join(here(), 'killed')
  mkdirSync(cwd)
  const command = 'echo begun > begun; sleep 60'
  const first = await talk(['--allowedTools', 'Bash', '--script', script([{ content: [call('Bash', { command })] }])])
  const { sessionId } = await first.agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  await first.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'acceptEdits' })
  void first.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') }).catch(() => undefined)
  await waitForFileText(join(cwd, 'begun'))
  first.child.kill('SIGKILL')
  await first.exited()
  const replies = [{ content: [call('Write', { file_path: 'a.txt', content: 'new' })] }, { content: 'Done.' }]
  const next = await talk(['--script', script(replies)])
  const loaded = await next.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  expect(loaded.modes?.currentModeId).toBe('default')
  await next.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('/continue') })
  expect([next.asked.length, existsSync(join(cwd, 'a.txt'))]).toEqual([1, true])
})

test('a cancel arrives in the same write as the prompt', async () => {
  const talkRun = await talk(['--script', script([{ content: 'Late.', delay_ms: 60_000 }])])
  const { agent, wire, child } = talkRun
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })
  const prompt = { jsonrpc: '2.0', id: 'p', method: 'session/prompt', params: { sessionId, prompt: say('hi') } }
  const cancel = { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId } }
  for (const message of [prompt, cancel]) wire.see('client', message)
  child.stdin?.write(`${JSON.stringify(prompt)}\n${JSON.stringify(cancel)}\n`)
  await expect
    .poll(() => wire.said.find(({ message }) => message['id'] === 'p' && 'result' in message)?.message['result'], {
      timeout: 20_000,
    })
    .toMatchObject({ stopReason: 'cancelled' })
  expect(wire.problems).toEqual([])
})

test.each([
  ['its stdin ends', 0],
  ['SIGTERM comes', 143],
])('when %s, the run ends, nothing is left, and another process finds the session complete', async (_how, status) => {
  const file = join(here(), `pid-${status}.txt`)
  const replies = script([{ content: [call('Bash', { command: `echo $$ > ${file}; sleep 600` })] }])
  const talkRun = await talk(['--script', replies, '--allowedTools', 'Bash'])
  const { sessionId } = await talkRun.agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })
  const answered = talkRun.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('sleep') }).then(
    (answer) => (answer as { readonly stopReason: string }).stopReason,
    () => 'no answer',
  )
  const pid = Number(await waitForFileText(file))
  if (status === 0) talkRun.child.stdin?.end()
  else talkRun.child.kill('SIGTERM')
  expect(await talkRun.exited()).toBe(status)
  expect(await answered).toBe('cancelled')
  expect(await stillAlive([pid])).toEqual([])
  expect(callProblems(updatesIn(talkRun.wire))).toEqual([])
  expect([talkRun.wire.problems, talkRun.strangers]).toEqual([[], []])
  const again = await talk(['--script', script([{ content: 'Yes.' }])])
  await again.agent.request(methods.agent.session.load, { sessionId, cwd: here(), mcpServers: [] })
  expect(updatesIn(again.wire).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call_update')).toEqual(
    expect.arrayContaining([expect.objectContaining({ status: 'failed' })]),
  )
  expect(callProblems(updatesIn(again.wire))).toEqual([])
  expect(
    await again.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('Still there?') }),
  ).toMatchObject({ stopReason: 'end_turn' })
})

test('a running command shows its output, then one update ends it; keys are redacted, even in pieces', async () => {
  const key = 'sk-ant-abcdefghijkl0123456789'
  const replies = script([
    { content: [call('Bash', { command: 'echo one; sleep 1.5; echo two' })] },
    { content: `It is ${key}.` },
  ])
  const { agent, wire } = await talk(['--script', replies, '--allowedTools', 'Bash'], {
    env: { ANTHROPIC_API_KEY: key },
  })
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })
  await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') })
  const callUpdates = updatesIn(wire, sessionId).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call_update')
  expect(callUpdates.map(({ status }) => status)).toEqual(['in_progress', undefined, 'completed'])
  expect(JSON.stringify(callUpdates[1])).toContain('one')
  expect(JSON.stringify(callUpdates[2])).toContain('one\\ntwo')
  const text = updatesIn(wire, sessionId).flatMap(({ sessionUpdate, content }) =>
    sessionUpdate === 'agent_message_chunk' ? [(content as { readonly text: string }).text] : [],
  )
  expect(text.join('')).toContain('It is [REDACTED].')
  expect(wire.problems).toEqual([])
})

test('a client provides MCP servers over stdio to a session', async () => {
  const replies = script([{ content: [call('mcp__own__say', { text: '${HOME}' })] }, { content: 'Done.' }])
  const { agent, wire } = await talk(['--script', replies, '--allowedTools', 'mcp__own'])
  const { sessionId } = await agent.request(methods.agent.session.new, {
    cwd: here(),
    mcpServers: [{ name: 'own', command: process.execPath, args: [server, 'good'], env: [] }],
  })
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('echo') })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(JSON.stringify(updatesIn(wire, sessionId))).toContain('say said ${HOME} in ')
  expect(wire.problems).toEqual([])
})

test('stdout contains only protocol messages: settings problems are reported on stderr and in the session', async () => {
  const cwd = join(here(), 'warned')
  mkdirSync(join(cwd, '.halting'), { recursive: true })
  writeFileSync(
    join(cwd, '.halting/settings.json'),
    '{ "hooks": { "Nothing": [] }, "permissions": { "allow": ["Bash"] } }',
  )
  const talkRun = await talk(['--script', script([{ content: 'Hi.' }])])
  const { agent, wire, strangers } = talkRun
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('hi') })
  expect(talkRun.stderr()).toMatch(/^halting: /)
  expect(JSON.stringify(updatesIn(wire))).toContain('trust')
  expect([wire.problems, strangers]).toEqual([[], []])
})

test('an invalid line is answered, and so is the next one', async () => {
  const { agent, child, wire } = await talk(['--script', script([{ content: 'Hi.' }])])
  child.stdin?.write('{ broken\n\n"text"\n')
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('hi') })).toMatchObject({
    stopReason: 'end_turn',
  })
  const codes = wire.said.flatMap(({ message }) =>
    'error' in message ? [(message['error'] as { code: number }).code] : [],
  )
  expect(codes.filter((code) => ![-32700, -32600].includes(code))).toEqual([])
})

test('without a key no session is opened, and the client is asked for one', async () => {
  const { agent, wire } = await talk([])
  await expect(agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })).rejects.toMatchObject({
    code: -32000,
    message: expect.stringContaining('ANTHROPIC_API_KEY'),
    data: { keyVariables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'], command: 'halting setup' },
  })
  await expect(
    agent.request(methods.agent.session.new, { cwd: join(here(), 'nowhere'), mcpServers: [] }),
  ).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('nowhere'),
  })
  expect(wire.problems).toEqual([])
})

test.each([
  ['a client with a terminal', { auth: { terminal: true } }, ['setup', 'environment']],
  ['any other client', {}, ['environment']],
])('without a key %s is offered methods to provide one (R-ACP-19)', async (_what, capabilities, ids) => {
  const { agent, wire, initialized } = await talk([], { capabilities })
  expect(initialized.authMethods?.map(({ id }) => id)).toEqual(ids)
  const terminal = initialized.authMethods?.find((method) => 'type' in method && method.type === 'terminal')
  expect(terminal === undefined ? [] : [terminal]).toMatchObject(
    ids.filter((id) => id === 'setup').map(() => ({ type: 'terminal', args: ['setup'] })),
  )
  const authenticate = (methodId: string) => agent.request(methods.agent.authenticate, { methodId })
  await expect(authenticate('environment')).rejects.toMatchObject({ code: -32000, data: { command: 'halting setup' } })
  await expect(authenticate('setup')).rejects.toMatchObject({ code: -32602 })
  await expect(authenticate('other')).rejects.toMatchObject({ code: -32602 })
  expect(wire.problems).toEqual([])
})

test('with a key no authentication is needed, and a request for it succeeds', async () => {
  const { agent, initialized } = await talk([], { env: { ANTHROPIC_API_KEY: 'made-up' } })
  expect(initialized.authMethods).toEqual([])
  expect(await agent.request(methods.agent.authenticate, { methodId: 'environment' })).toEqual({})
})

test('halting acp setup sets up a key in a terminal, whatever flags precede it (R-ACP-19)', async () => {
  const { status, stdout } = await start(['acp', '--max-turns', '5', 'setup'], {}).ended
  expect([status, stdout]).toEqual([1, expect.stringContaining('ANTHROPIC_API_KEY')])
  const other = await start(['acp', 'sutep'], {}).ended
  expect([other.status, other.stderr]).toEqual([2, expect.stringContaining('"sutep" is neither')])
})

test('a client may load an open session, and then receives the conversation so far', async () => {
  const cwd = here()
  const { agent, wire } = await talk(['--script', script([{ content: 'First.' }, { content: 'Second.' }])])
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  const load = () => agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  expect(await load()).toMatchObject({ modes: { currentModeId: 'default' } })
  await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('one') })
  const before = wire.said.length
  await load()
  const replayed = updatesIn({ said: wire.said.slice(before) }).map(
    ({ content }) => (content as { text?: string } | undefined)?.text,
  )
  expect(replayed.filter((text) => text !== undefined)).toEqual(['one', 'First.'])
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('two') })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(wire.problems).toEqual([])
})

test('names of attachments mention no files, also as arguments of a command (R-ACP-15)', async () => {
  const cwd = join(here(), 'work')
  mkdirSync(join(cwd, '.halting', 'commands'), { recursive: true })
  for (const name of ['named.txt', 'written.txt']) writeFileSync(join(cwd, name), `text of ${name}`)
  writeFileSync(join(cwd, '.halting', 'commands', 'look.md'), 'Look at $1 and $2.')
  const { agent, wire } = await talk(['--script', script([{ content: 'First.' }, { content: 'Second.' }])])
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  const attached = [
    { type: 'resource_link', uri: 'file:///w/a%20@named.txt%20b', name: 'a' },
    { type: 'resource_link', uri: 'https://x/y', name: ' @named.txt ' },
    { type: 'resource_link', uri: '@named.txt ', name: 'z' },
    { type: 'resource', resource: { uri: 'file:///w/c%20@named.txt%20d', text: 'held' } },
  ] as const
  for (const text of ['See @written.txt ', '/look @written.txt '])
    await agent.request(methods.agent.session.prompt, { sessionId, prompt: [...say(text), ...attached] })
  const before = wire.said.length
  await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  const replayText = updatesIn({ said: wire.said.slice(before) })
    .filter(({ sessionUpdate }) => sessionUpdate === 'user_message_chunk')
    .map(({ content }) => (content as { text?: string }).text ?? '')
    .join('\n')
  expect(replayText).not.toContain('text of named.txt')
  expect(replayText.split('text of written.txt')).toHaveLength(3)
  const names = '`/w/a @named.txt b`[ @named.txt ](https://x/y)[z](@named.txt )`/w/c @named.txt d`'
  expect(replayText).toContain(`See @written.txt ${names}`)
  expect(replayText).toContain(`Look at @written.txt and ${names}.`)
  expect(wire.problems).toEqual([])
})

test('models with a key can be chosen, and others can be named', async () => {
  const { agent } = await talk([], { env: { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: '' } })
  const { sessionId, configOptions } = await agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })
  const modelOption = configOptions?.find(({ id }) => id === 'model')
  const names =
    modelOption?.type === 'select'
      ? modelOption.options.flatMap((option) => ('value' in option ? [option.value] : []))
      : []
  expect(names).toEqual(expect.arrayContaining(['claude-sonnet-5-5', 'claude-haiku-4-5']))
  expect(names.filter((name) => name.startsWith('openai/'))).toEqual([])
  const set = (value: string) =>
    agent.request(methods.agent.session.setConfigOption, { sessionId, configId: 'model', value })
  const after = await set('claude-haiku-4-5')
  expect(after.configOptions.find(({ id }) => id === 'model')?.currentValue).toBe('claude-haiku-4-5')
  await expect(set('openai/gpt-5')).rejects.toMatchObject({
    code: expect.any(Number),
    message: expect.stringContaining('OPENAI_API_KEY'),
  })
})

test.each([
  [[], false],
  [['--allow-dangerously-skip-permissions'], true],
])('bypassPermissions is offered if it was allowed at the start: %s (R-RULE-1e)', async (flags, isOffered) => {
  const { agent } = await talk(['--script', script([]), ...flags])
  const { sessionId, modes } = await agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })
  expect(modes?.currentModeId).toBe('default')
  expect(modes?.availableModes.some(({ id }) => id === 'bypassPermissions')).toBe(isOffered)
  const option = { sessionId, configId: 'mode', value: 'bypassPermissions' }
  const answers = await Promise.all(
    [
      agent.request(methods.agent.session.setMode, { sessionId, modeId: 'bypassPermissions' }),
      agent.request(methods.agent.session.setConfigOption, option),
    ].map((setting) => setting.then(() => 'set', String)),
  )
  const isRefused = (answer: string): boolean => answer.includes('without --allow-dangerously-skip-permissions')
  expect(answers.map((answer) => [answer === 'set', isRefused(answer)])).toEqual([
    [isOffered, !isOffered],
    [isOffered, !isOffered],
  ])
})

test('flags that name a session are rejected', async () => {
  const { ended } = start(['acp', '--continue'])
  expect(await ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('Remove --continue.') })
})

test('requests that arrive with the end of stdin are answered', async () => {
  const lines = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } },
    { jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd: here(), mcpServers: [] } },
  ]
  const stdin = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const { status, stdout } = await start(['acp', '--script', script([])], { stdin }).ended
  const ids = stdout
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as Message)['id'])
  expect([status, new Set(ids.filter((id) => id !== undefined))]).toEqual([0, new Set([1, 2])])
})

test.each([
  [{ elicitation: { form: {} } }, { action: 'accept', content: { name: 'Ada' } }, ''],
  [{}, { action: 'decline' }, 'this editor does not support forms'],
])('a question of a server becomes a form of the editor: %j (R-ACP-16)', async (capabilities, answer, note) => {
  const replies = script([{ content: [call('mcp__own__do', {})] }, { content: 'Done.' }])
  const asked: unknown[] = []
  const { agent, wire } = await talk(['--script', replies, '--allowedTools', 'mcp__own'], {
    capabilities,
    answers: (app) =>
      app.onRequest(methods.client.elicitation.create, ({ params }) => {
        asked.push(params.message)
        return { action: 'accept', content: { name: 'Ada' } }
      }),
  })
  const { sessionId } = await agent.request(methods.agent.session.new, {
    cwd: here(),
    mcpServers: [{ name: 'own', command: process.execPath, args: [server, 'elicit'], env: [] }],
  })
  await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('ask me') })
  const updates = JSON.stringify(updatesIn(wire, sessionId))
  expect(updates).toContain(JSON.stringify(JSON.stringify(answer)).slice(1, -1))
  expect([asked.length > 0, updates.includes('does not support forms')]).toEqual([note === '', note !== ''])
  expect(wire.problems).toEqual([])
})

test('a subagent is shown with its name, calls and answer (R-ACP-3a)', async () => {
  const cwd = join(here(), 'of-agents')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'a.txt'), 'the needle\n')
  const input = { description: 'Find it', prompt: 'Where is the needle?', subagent_type: 'general-purpose' }
  const replies = script([
    { content: [call('Agent', input)] },
    { content: [call('Grep', { pattern: 'needle', output_mode: 'content' })] },
    { content: 'It is in **a.txt**.' },
    { content: 'Done.' },
  ])
  const { agent, wire } = await talk(['--script', replies])
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('find the needle') })
  const calls = updatesIn(wire, sessionId).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call')
  const [ofAgent, ofGrep] = calls
  expect(ofAgent).toMatchObject({ title: 'Agent general-purpose: Find it', kind: 'think' })
  expect(ofGrep).toMatchObject({ title: 'general-purpose › Search for "needle"', kind: 'search' })
  expect(ofGrep?.['toolCallId']).toMatch(new RegExp(`^${String(ofAgent?.['toolCallId'])}/`))
  const results = updatesIn(wire, sessionId).filter(
    ({ content, title }) => content !== undefined && title !== undefined,
  )
  expect(results).toContainEqual({
    sessionUpdate: 'tool_call_update',
    toolCallId: ofGrep?.['toolCallId'],
    status: 'completed',
    title: 'general-purpose › Search for "needle" (1 line in 1 file)',
    locations: [{ path: join(cwd, 'a.txt'), line: 1 }],
    content: [{ type: 'content', content: { type: 'text', text: '```\na.txt:1:the needle\n```' } }],
  })
  expect(results.at(-1)).toMatchObject({
    toolCallId: ofAgent?.['toolCallId'],
    title: expect.stringMatching(/^Agent general-purpose: Find it \(2 turns/),
    content: [{ content: { text: 'It is in **a.txt**.' } }],
  })
  expect([wire.problems, callProblems(updatesIn(wire, sessionId))]).toEqual([[], []])
})

/** The id of the question that the program asked. */
const permissionRequestId = ({ said }: Pick<Talk['wire'], 'said'>): unknown =>
  said.find(({ message }) => message['method'] === 'session/request_permission')?.message['id']
const ofWrite = [{ content: [call('Write', { file_path: 'lied.txt', content: 'x' })] }, { content: 'Done.' }]

test('the first of two answers to one question counts (R-ACP-7b)', async () => {
  const cwd = join(here(), 'two-answers')
  mkdirSync(cwd)
  const { agent, child, wire } = await talk(['--script', script(ofWrite)], {
    async permission() {
      const answer = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } })
      for (const option of ['reject_once', 'allow_once'])
        child.stdin?.write(
          `${JSON.stringify({ jsonrpc: '2.0', id: permissionRequestId(wire), result: answer(option) })}\n`,
        )
      return { outcome: { outcome: 'selected', optionId: 'allow_once' } }
    },
  })
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(existsSync(join(cwd, 'lied.txt'))).toBe(false)
  expect(JSON.stringify(updatesIn(wire))).toContain(deniedByUser)
})

test('after a message that is too large, the program reports it and ends with the session complete (R-ACP-1b)', async () => {
  const cwd = join(here(), 'too-large')
  mkdirSync(cwd)
  const one = await talk(['--script', script(ofWrite)], { permission: () => new Promise(() => undefined) })
  one.child.stdin?.on('error', () => undefined)
  const { sessionId } = await one.agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  const answered = one.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') }).then(
    () => 'answered',
    () => 'not answered',
  )
  await expect.poll(() => permissionRequestId(one.wire), { timeout: 20_000 }).toBeDefined()
  const optionId = 'x'.repeat(33 * 1024 * 1024)
  const result = { outcome: { outcome: 'selected', optionId } }
  one.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: permissionRequestId(one.wire), result })}\n`)
  expect(await one.exited()).toBe(1)
  expect(one.stderr()).toMatch(/^halting: the editor sent a message of more than 32 MiB/m)
  expect(await answered).toBe('not answered')
  const again = await talk(['--script', script([{ content: 'Yes.' }])])
  await again.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  expect(callProblems(updatesIn(again.wire))).toEqual([])
  expect(existsSync(join(cwd, 'lied.txt'))).toBe(false)
})
