// Holds rules of docs/spec: R-ACP-3, R-ACP-5a, R-ACP-9: the updates that a session sends.
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import type { SessionEvent } from '@halting/core/session'
import type { RunEvent } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { EventUpdates, clientFeaturesOf } from '../../src/acp/event-updates.ts'
import { fullCapabilities, startAgent } from '../support/acp-agent.ts'
import { retry } from '../terminal/view-support.ts'

const unexpectedCall = (): never => {
  throw new Error('no figures are asked for')
}

function updatesOf(events: readonly RunEvent[], capabilities = fullCapabilities): readonly SessionUpdate[] {
  const updates = new EventUpdates(clientFeaturesOf(capabilities), '/work', unexpectedCall)
  return events.flatMap((event) => updates.updatesFor({ type: 'loop', event }))
}

const inAgent = (event: RunEvent, callId = 'a1'): RunEvent => ({ type: 'agent', callId, agentType: 'helper', event })

describe('agents', () => {
  test('report their calls under the id of their parent, and not their texts', () => {
    const events: RunEvent[] = [
      { type: 'tool_start', callId: 'a1', name: 'Agent', input: { description: 'Look' } },
      inAgent({ type: 'tool_start', callId: 'c1', name: 'Read', input: { file_path: 'x' } }),
      inAgent({
        type: 'model_update',
        request: 1,
        entryId: 'e',
        update: { type: 'text_delta', index: 0, text: 'hidden' },
      }),
      inAgent(inAgent({ type: 'tool_start', callId: 'c1', name: 'Bash', input: { command: 'ls' } }, 'b1')),
      inAgent(
        inAgent(
          { type: 'tool_end', callId: 'c1', name: 'Bash', status: 'done', durationMs: 1, output: 'ok', isError: false },
          'b1',
        ),
      ),
      inAgent({
        type: 'tool_end',
        callId: 'c1',
        name: 'Read',
        status: 'failed',
        durationMs: 1,
        output: 'ok',
        isError: true,
      }),
      { type: 'tool_end', callId: 'a1', name: 'Agent', status: 'done', durationMs: 1, output: 'ok', isError: false },
    ]
    const updates = new EventUpdates(clientFeaturesOf(fullCapabilities), '/work', unexpectedCall)
    expect(
      [
        ...events.flatMap((event) => updates.updatesFor({ type: 'loop', event })),
        ...updates.updatesFor({ type: 'closed' }),
      ].map((update) => ('toolCallId' in update ? [update.toolCallId, update.status] : update)),
    ).toEqual([
      ['a1', 'in_progress'],
      ['a1/c1', 'in_progress'],
      ['a1/b1/c1', 'in_progress'],
      ['a1/b1/c1', 'completed'],
      ['a1/c1', 'failed'],
      ['a1', 'completed'],
    ])
  })

  test('announces a call before asking about it, under the same id', () => {
    const updates = new EventUpdates(clientFeaturesOf({}), '/work', unexpectedCall)
    const run = { sessionId: 's', runId: 'run1', agentPath: 'agent:1:0:a1/', agentId: 'helper-1', depth: 1 }
    updates.updatesFor({ type: 'loop', event: inAgent({ type: 'run_start', run, model: 'm' }) })
    const asked = updates.announceQuestion({
      callId: 'c1',
      agentId: 'helper-1',
      toolName: 'Write',
      input: { file_path: 'x', content: 'y' },
    })
    expect([asked.id, asked.updates.map(({ sessionUpdate }) => sessionUpdate)]).toEqual(['a1/c1', ['tool_call']])
    expect(asked.view.title).toBe('helper › Write x')
    const input = { file_path: 'x', content: 'y' }
    const start = inAgent({ type: 'tool_start', callId: 'c1', name: 'Write', input })
    expect(updates.updatesFor({ type: 'loop', event: start })).toEqual([
      { sessionUpdate: 'tool_call_update', toolCallId: 'a1/c1', status: 'in_progress' },
    ])
  })
})

test('name the agent of a call, and the call that started it', () => {
  const read: RunEvent = { type: 'tool_start', callId: 'c1', name: 'Read', input: { file_path: 'x' } }
  expect(updatesOf([inAgent(inAgent(read, 'b1'))])).toMatchObject([
    {
      toolCallId: 'a1/b1/c1',
      title: 'helper › Read x',
      _meta: { 'halting/agent': { agentType: 'helper', callId: 'a1/b1' } },
    },
  ])
})

test('a call whose input was changed is shown with the new input', () => {
  const block = { type: 'tool_use', id: 'b1', name: 'Bash', input: { command: 'rm x' } } as const
  const questionEvent: RunEvent = {
    type: 'model_update',
    request: 1,
    entryId: 'e',
    update: { type: 'block', index: 0, block, messageId: 'm' },
  }
  const start = (command: string): RunEvent => ({ type: 'tool_start', callId: 'b1', name: 'Bash', input: { command } })
  expect(updatesOf([questionEvent, start('rm x')]).at(-1)).toEqual({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'b1',
    status: 'in_progress',
  })
  expect(updatesOf([questionEvent, start('ls')]).at(-1)).toEqual({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'b1',
    status: 'in_progress',
    title: 'Run ls',
    locations: [],
    content: [],
    rawInput: { command: 'ls' },
  })
})

describe('further events', () => {
  const compaction: RunEvent[] = [
    { type: 'compact_start', trigger: 'auto', tokens: 9 },
    { type: 'compact_end', trigger: 'auto', compacted: true, message: 'Made shorter: 9 to 3 tokens.' },
    { type: 'compact_start', trigger: 'auto', tokens: 9 },
    { type: 'compact_end', trigger: 'auto', compacted: false, message: 'It failed.' },
  ]

  test('a compaction is sent as an update if the client supports such updates', () => {
    expect(updatesOf(compaction)).toEqual([
      { sessionUpdate: 'compaction_update', compactionId: 'compaction-1', status: 'in_progress' },
      { sessionUpdate: 'compaction_update', compactionId: 'compaction-1', status: 'completed' },
      { sessionUpdate: 'compaction_update', compactionId: 'compaction-2', status: 'in_progress' },
      { sessionUpdate: 'compaction_update', compactionId: 'compaction-2', status: 'failed', error: 'It failed.' },
    ])
  })

  test('a compaction is sent as a message if the client does not support such updates', () => {
    expect(JSON.stringify(updatesOf(compaction, {}))).toContain('Made shorter: 9 to 3 tokens.')
    expect(updatesOf(compaction, {}).every(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')).toBe(true)
  })

  test('a retry reports its time and its count, and a recovery reports how often it may still happen', () => {
    const error = { kind: 'overloaded', message: 'Overloaded.', status: 529 } as never
    const events: RunEvent[] = [{ type: 'retry', request: 1, attempt: 2, maxRetries: 10, delayMs: 3_000, error }]
    expect(updatesOf(events)).toEqual([
      {
        sessionUpdate: 'notice',
        severity: 'warning',
        title: expect.stringMatching(/Overloaded\. Retry 2 of 10 in 3\.0 s/),
      },
    ])
    // Nothing of the reply was shown, so there is nothing to explain.
    expect(updatesOf(events, {})).toEqual([])
    const half: RunEvent = {
      type: 'model_update',
      request: 1,
      entryId: 'e',
      update: { type: 'text_delta', index: 0, text: 'Half' },
    }
    expect(updatesOf([half, ...events], {})).toHaveLength(2)
    const lap = { type: 'lap', transition: 'model_fallback', left: { model_fallback: 0 } } as never
    expect(updatesOf([lap])).toEqual([
      { sessionUpdate: 'notice', severity: 'info', title: 'Switching to the fallback model (0 left).' },
    ])
  })

  test('a call of a failed run is reported as failed', () => {
    const updates = new EventUpdates(clientFeaturesOf({}), '/work', unexpectedCall)
    updates.updatesFor({ type: 'loop', event: { type: 'tool_start', callId: 'c', name: 'Read', input: {} } })
    const broken: SessionEvent = { type: 'failed', error: new Error('no'), givenBack: [] }
    expect(updates.updatesFor(broken)).toMatchObject([{ toolCallId: 'c', status: 'failed' }])
  })
})

test('the complete todo list is always sent, as a plan', async () => {
  const todos = [
    { content: 'First', status: 'completed' },
    { content: 'Then', status: 'in_progress' },
  ]
  const model = scriptedModel([{ toolCalls: [{ name: 'TodoWrite', input: { todos } }] }, 'Done.'])
  const { newSession, prompt, updates, wire } = await startAgent({ model })
  const { sessionId } = await newSession()
  await prompt(sessionId, 'go')
  expect(updates('plan')).toEqual([
    {
      sessionUpdate: 'plan',
      entries: [
        { content: 'First', priority: 'medium', status: 'completed' },
        { content: 'Then', priority: 'medium', status: 'in_progress' },
      ],
    },
  ])
  expect(wire.problems).toEqual([])
})

test('the list of TaskCreate and TaskUpdate is sent as a plan after each change', async () => {
  const create = (subject: string) => ({ name: 'TaskCreate', input: { subject } })
  const update = { name: 'TaskUpdate', input: { taskId: '1', status: 'completed' } }
  const model = scriptedModel([{ toolCalls: [create('First'), create('Then')] }, { toolCalls: [update] }, 'Done.'])
  const { newSession, prompt, updates, wire } = await startAgent({ model })
  const { sessionId } = await newSession()
  await prompt(sessionId, 'go')
  expect(updates('plan')).toHaveLength(3)
  expect(updates('plan').at(-1)).toEqual({
    sessionUpdate: 'plan',
    entries: [
      { content: 'First', priority: 'medium', status: 'completed' },
      { content: 'Then', priority: 'medium', status: 'pending' },
    ],
  })
  expect(wire.problems).toEqual([])
})

test.each([
  ['allow_once', ['plan'], 'Plan mode'],
  ['reject_once', [], 'Created'],
] as const)('asks whether to plan first: %s', async (kind, modes, then) => {
  const writing = { name: 'Write', input: { file_path: 'a.txt', content: 'x' } }
  const model = scriptedModel([
    { toolCalls: [{ name: 'EnterPlanMode', input: {} }] },
    { toolCalls: [writing] },
    'Done.',
  ])
  const titles: unknown[] = []
  const { newSession, prompt, updates } = await startAgent({
    model,
    allow: ['Write'],
    permission: ({ options, toolCall }) => {
      titles.push(toolCall.title)
      return {
        outcome: { outcome: 'selected', optionId: options.find((option) => option.kind === kind)?.optionId ?? '' },
      }
    },
  })
  const { sessionId } = await newSession()
  await prompt(sessionId, 'go')
  expect(titles).toEqual(['Enter plan mode'])
  expect(
    updates('current_mode_update').map((update) => ('currentModeId' in update ? update.currentModeId : '')),
  ).toEqual(modes)
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain(then)
})

test.each([
  ['as a form', { elicitation: { form: {} } }],
  ['as choices', {}],
])('shows a question of the model %s, and passes the answer to the model', async (_how, capabilities) => {
  const questions = [{ question: 'Which?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
  const model = scriptedModel([{ toolCalls: [{ name: 'AskUserQuestion', input: { questions } }] }, 'Done.'])
  const { newSession, prompt, wire } = await startAgent({
    model,
    capabilities,
    elicitation: () => ({ action: 'accept', content: { answer1: 'Blue' } }),
    permission: ({ options }) => ({
      outcome: { outcome: 'selected', optionId: options.find(({ name }) => name === 'Blue')?.optionId ?? 'none' },
    }),
  })
  const { sessionId } = await newSession()
  expect(await prompt(sessionId, 'go')).toMatchObject({ stopReason: 'end_turn' })
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Which?\\nAnswer: Blue')
  expect(wire.problems).toEqual([])
})

test('/compact compacts the conversation, or says that there is nothing to compact', async () => {
  const model = scriptedModel((_request, index) => (index < 3 ? `An answer. ${'word '.repeat(8_000)}` : 'A summary.'))
  const { newSession, prompt, wire, updates } = await startAgent({ model })
  const { sessionId } = await newSession()
  await prompt(sessionId, 'one')
  expect(await prompt(sessionId, '/compact')).toMatchObject({ stopReason: 'end_turn' })
  expect(updates('notice').at(-1)).toMatchObject({ title: 'There is nothing to compact yet.' })
  await prompt(sessionId, 'two')
  await prompt(sessionId, 'three')
  expect(await prompt(sessionId, '/compact the names')).toMatchObject({ stopReason: 'end_turn' })
  expect(updates('compaction_update').at(-1)).toMatchObject({ status: 'completed' })
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('the names')
  expect(wire.problems).toEqual([])
})

test('a retried request says what failed: an interrupted reply, or a model that sent none', () => {
  const failed = retry('Overloaded', 1)
  const written: RunEvent = {
    type: 'model_update',
    request: 1,
    entryId: 'e',
    update: { type: 'text_delta', index: 0, text: 'I th' },
  }
  const titles = (events: readonly RunEvent[]): readonly unknown[] =>
    updatesOf(events).flatMap((update) => ('title' in update ? [update.title] : []))
  expect([titles([failed]), titles([written, failed])]).toEqual([
    [expect.stringMatching(/^The request failed: Overloaded\. Retry 1 of 10 at .*\d\d:\d\d:\d\d\.$/)],
    [expect.stringMatching(/^The reply was interrupted: Overloaded\. Retry 1 of 10 at .*\d\d:\d\d:\d\d\.$/)],
  ])
})
