// Holds rules of docs/spec: R-ACP-2 to R-ACP-7.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { type ScriptedReply, scriptedModel } from '@halting/core/testing'
import { callProblems } from '../support/acp-schema.ts'
import { startAgent } from '../support/acp-agent.ts'

const write: ScriptedReply = {
  text: 'I write.',
  toolCalls: [{ id: 'w1', name: 'Write', input: { file_path: 'a.txt', content: 'new\n' } }],
}

test('answers a prompt after all updates of the run, and every line matches the schema', async () => {
  const model = scriptedModel([{ ...write, thinking: 'Hm.' }, 'Done.'])
  const { cwd, wire, newSession, prompt, updates, text } = await startAgent({ model, allow: ['Write'] })
  writeFileSync(join(cwd, 'b.txt'), 'b')
  const { sessionId, modes, configOptions } = await newSession()
  expect(modes?.currentModeId).toBe('default')
  expect(configOptions?.map(({ id }) => id)).toEqual([
    'mode',
    'model',
    'thinking',
    '_halting.max_turns',
    '_halting.budget_usd',
    '_halting.max_tokens',
    '_halting.max_duration',
    '_halting.run_usd',
    '_halting.max_tool_calls',
  ])
  // The default of -p and of the interactive program does not apply to editors (spec R-LIM-5).
  expect(configOptions?.find(({ id }) => id === '_halting.run_usd')).toMatchObject({ currentValue: 'none' })
  expect(await prompt(sessionId, 'Write a.txt')).toEqual({
    stopReason: 'end_turn',
    _meta: { 'halting/stop': expect.objectContaining({ reason: 'completed', category: 'completed' }) },
  })
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('new\n')
  expect(text()).toBe('I write.Done.')
  expect(text('agent_thought_chunk')).toBe('Hm.')
  const kinds = updates().map(({ sessionUpdate, status }) => [sessionUpdate, status].filter(Boolean).join(' '))
  // Only after session/new was answered: a prompt may be faster.
  expect(kinds.filter((kind) => kind === 'available_commands_update')).toHaveLength(1)
  expect(kinds.filter((kind) => kind !== 'available_commands_update')).toEqual([
    'session_info_update',
    'agent_message_chunk',
    'tool_call pending',
    'usage_update',
    // This model does not stream thinking.
    'agent_thought_chunk',
    'tool_call_update in_progress',
    'tool_call_update completed',
    'agent_message_chunk',
    'usage_update',
    'session_info_update',
  ])
  expect(updates('tool_call')).toEqual([
    {
      sessionUpdate: 'tool_call',
      toolCallId: 'w1',
      title: 'Write a.txt',
      name: 'Write',
      kind: 'edit',
      status: 'pending',
      locations: [{ path: join(cwd, 'a.txt') }],
      content: [{ type: 'diff', path: join(cwd, 'a.txt'), oldText: null, newText: 'new\n' }],
      rawInput: { file_path: 'a.txt', content: 'new\n' },
    },
  ])
  expect(wire.problems).toEqual([])
  expect(wire.unanswered).toEqual([])
})

test('receives a cancel in the same write as the prompt', async () => {
  const { agent, newSession, wire } = await startAgent({ model: scriptedModel([{ hang: true }]) })
  const { sessionId } = await newSession()
  const prompt = agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'hi' }] })
  const cancel = agent.notify(methods.agent.session.cancel, { sessionId })
  expect(await prompt).toMatchObject({ stopReason: 'cancelled' })
  await cancel
  expect(wire.problems).toEqual([])
})

test('receives a cancel while a prompt is prepared, and accepts further prompts', async () => {
  let reportPreparing: () => void = () => undefined
  const preparing = new Promise<void>((resolve) => {
    reportPreparing = resolve
  })
  let release: () => void = () => undefined
  const wait = new Promise<void>((resolve) => {
    release = resolve
  })
  const model = scriptedModel(['Yes.'])
  const { agent, newSession, prompt } = await startAgent({
    model,
    async prepare() {
      reportPreparing()
      await wait
    },
  })
  const { sessionId } = await newSession()
  const first = prompt(sessionId, 'hi')
  await preparing
  await agent.notify(methods.agent.session.cancel, { sessionId })
  release()
  expect(await first).toEqual({ stopReason: 'cancelled' })
  expect(await prompt(sessionId, 'again')).toMatchObject({ stopReason: 'end_turn' })
  expect(model.requests).toHaveLength(1)
})

test('leaves no call open after a cancel during tools', async () => {
  const model = scriptedModel([
    {
      toolCalls: [
        { id: 's1', name: 'Bash', input: { command: 'sleep 60' } },
        { id: 's2', name: 'Bash', input: { command: 'sleep 61' } },
      ],
    },
  ])
  const { agent, newSession, prompt, updates, wire } = await startAgent({ model, allow: ['Bash'] })
  const { sessionId } = await newSession()
  const answered = prompt(sessionId, 'sleep')
  await expect.poll(() => updates('tool_call_update').length, { timeout: 20_000 }).toBeGreaterThan(0)
  await agent.notify(methods.agent.session.cancel, { sessionId })
  expect(await answered).toMatchObject({
    stopReason: 'cancelled',
    _meta: { 'halting/stop': { reason: 'aborted_tools' } },
  })
  expect(callProblems(updates())).toEqual([])
  expect(
    updates('tool_call_update')
      .filter(({ status }) => status === 'failed')
      .map(({ toolCallId }) => toolCallId),
  ).toEqual(expect.arrayContaining(['s1', 's2']))
  expect(wire.problems).toEqual([])
})

test('a second prompt replaces the running one', async () => {
  const { newSession, prompt, wire } = await startAgent({
    model: scriptedModel([{ hang: true, text: 'Wait' }, 'Second.']),
  })
  const { sessionId } = await newSession()
  const first = prompt(sessionId, 'one')
  await expect.poll(() => wire.said.length).toBeGreaterThan(5)
  const second = prompt(sessionId, 'two')
  expect(await first).toMatchObject({
    stopReason: 'end_turn',
    _meta: { 'halting/stop': { reason: 'aborted_streaming' } },
  })
  expect(await second).toMatchObject({ stopReason: 'end_turn', _meta: { 'halting/stop': { reason: 'completed' } } })
  expect(wire.problems).toEqual([])
})

test('asks with the diff and the rule to save, and follows the answer', async () => {
  const asked: unknown[] = []
  const command = { id: 'b1', name: 'Bash', input: { command: 'touch made.txt' } }
  const model = scriptedModel([write, { toolCalls: [command] }, { toolCalls: [{ ...command, id: 'b2' }] }, 'Done.'])
  const { cwd, newSession, prompt, wire } = await startAgent({
    model,
    permission({ toolCall, options }) {
      asked.push({ toolCall, options })
      return {
        outcome: { outcome: 'selected', optionId: toolCall.toolCallId === 'w1' ? 'allow_once' : 'reject_always' },
      }
    },
  })
  const { sessionId } = await newSession()
  await prompt(sessionId, 'Write a.txt')
  expect(asked).toEqual([
    {
      toolCall: expect.objectContaining({
        toolCallId: 'w1',
        kind: 'edit',
        content: [{ type: 'diff', path: join(cwd, 'a.txt'), oldText: null, newText: 'new\n' }],
      }),
      options: [
        { optionId: 'allow_once', kind: 'allow_once', name: 'Allow once' },
        {
          optionId: 'allow_always:0',
          kind: 'allow_always',
          name: 'Always allow Edit(/a.txt) (in this project, for you)',
        },
        {
          optionId: 'allow_always:1',
          kind: 'allow_always',
          name: 'Allow, and switch to the mode "Accept edits" (in this session)',
        },
        { optionId: 'reject_once', kind: 'reject_once', name: 'Reject' },
        {
          optionId: 'reject_always',
          kind: 'reject_always',
          name: 'Always reject this Write call (in this session)',
        },
      ],
    },
    // From then on the same call is rejected without a question.
    expect.objectContaining({ toolCall: expect.objectContaining({ toolCallId: 'b1' }) }),
  ])
  expect(existsSync(join(cwd, 'a.txt'))).toBe(true)
  expect(existsSync(join(cwd, 'made.txt'))).toBe(false)
  expect(wire.problems).toEqual([])
})

test('withdraws an open question after a cancel, and leaves no request pending', async () => {
  let withdrawn = false
  const { agent, newSession, prompt, updates, wire } = await startAgent({
    model: scriptedModel([write]),
    permission: (_asked, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          withdrawn = true
          resolve({ outcome: { outcome: 'cancelled' } })
        })
      }),
  })
  const { sessionId } = await newSession()
  const answered = prompt(sessionId, 'Write a.txt')
  await expect
    .poll(() => wire.said.some(({ message }) => message['method'] === 'session/request_permission'))
    .toBe(true)
  await agent.notify(methods.agent.session.cancel, { sessionId })
  expect(await answered).toMatchObject({ stopReason: 'cancelled' })
  await expect.poll(() => withdrawn).toBe(true)
  expect(callProblems(updates())).toEqual([])
  expect(wire.problems).toEqual([])
})

test('denies the call if the client cannot ask, and continues the run', async () => {
  const { cwd, newSession, prompt, wire } = await startAgent({
    model: scriptedModel([write, 'Then not.']),
    permission() {
      throw new Error('no such dialog')
    },
  })
  const { sessionId } = await newSession()
  expect(await prompt(sessionId, 'Write a.txt')).toMatchObject({ stopReason: 'end_turn' })
  expect(existsSync(join(cwd, 'a.txt'))).toBe(false)
  expect(wire.problems).toEqual([])
})

test('treats a request that the client cancels as a cancel', async () => {
  const { agent, newSession, wire, updates } = await startAgent({
    model: scriptedModel([{ hang: true, text: 'Wait' }, 'Yes.']),
  })
  const { sessionId } = await newSession()
  const controller = new AbortController()
  const prompt = [{ type: 'text' as const, text: 'hi' }]
  const answered = agent.request(
    methods.agent.session.prompt,
    { sessionId, prompt },
    { cancellationSignal: controller.signal },
  )
  await expect.poll(() => updates('agent_message_chunk').length).toBeGreaterThan(0)
  controller.abort()
  expect(await answered).toMatchObject({ stopReason: 'cancelled' })
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(wire.problems).toEqual([])
})

test('a cancel also applies to prompts that wait for the end of the run', async () => {
  const long = `An answer. ${'word '.repeat(8_000)}`
  const model = scriptedModel((_request, index) => (index < 3 ? long : { hang: true, text: 'Wait' }))
  const { agent, newSession, prompt, updates, wire } = await startAgent({ model })
  const { sessionId } = await newSession()
  for (const text of ['one', 'two', 'three']) await prompt(sessionId, text)
  const [running, waiting] = [prompt(sessionId, 'four'), prompt(sessionId, '/compact')]
  await expect.poll(() => updates('agent_message_chunk').length).toBeGreaterThan(3)
  await agent.notify(methods.agent.session.cancel, { sessionId })
  expect(await running).toMatchObject({ stopReason: 'cancelled' })
  expect(await waiting).toMatchObject({ stopReason: 'cancelled' })
  expect(wire.problems).toEqual([])
})

test.each<readonly [how: string, texts: readonly string[], before: number]>([
  ['while nothing goes on', ['one', 'two', 'three'], 0],
  ['while a run goes on', ['zero', 'one', 'two', 'three'], 1],
])('runs three prompts, %s, one after the other, each with its answer', async (_how, texts, before) => {
  const model = scriptedModel((_request, index) => (index === 0 ? { hang: true, text: 'Wait' } : 'Done.'))
  const { newSession, prompt, updates, wire } = await startAgent({ model })
  const { sessionId } = await newSession()
  const answered: string[] = []
  const sendPrompt = (text: string) => prompt(sessionId, text).finally(() => answered.push(text))
  const first = texts.slice(0, before).map(sendPrompt)
  await expect.poll(() => updates('agent_message_chunk').length >= before).toBe(true)
  const answers = await Promise.all([...first, ...texts.slice(before).map(sendPrompt)])
  expect(answers).toMatchObject(
    texts.map((_, index) => ({
      stopReason: 'end_turn',
      _meta: { 'halting/stop': { reason: index === 0 ? 'aborted_streaming' : 'completed' } },
    })),
  )
  expect(answered).toEqual(texts)
  const persons = model.requests.at(-1)?.messages.filter(({ role }) => role === 'user') ?? []
  expect(persons.map(({ content }) => content)).toEqual(texts)
  expect([wire.problems, wire.unanswered]).toEqual([[], []])
})
