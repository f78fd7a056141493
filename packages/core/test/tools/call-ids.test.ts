// Tests R-TOOL-1, R-TOOL-14 and R-STEP-2: ids that a service repeats are made distinct before any other code sees them.
import { describe, expect, test } from 'vitest'
import {
  replay,
  resume,
  type AgentTool,
  type ContentBlock,
  type RunOptions,
  type ModelReply,
  type Permissions,
  type StepRecord,
  type TranscriptEntry,
} from '../../src/index.ts'
import { toolCallsOf } from '../../src/model/messages.ts'
import { scriptedModel, transcriptProblems, type ScriptedModel } from '../../src/testing/index.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import {
  begin,
  calls,
  hanging,
  hook,
  json,
  reader,
  results,
  run,
  tick,
  tool,
  until,
  type RunTestOptions,
  type Left,
  isLive,
} from '../support/harness.ts'

const echo = (name = 'Echo', parts = {}) => tool(name, ({ n }) => `${name} ${String(n)}`, parts)
const look = (name = 'Look') => reader(name, ({ n }) => `${name} ${String(n)}`)
/** One call for each id, distinguished by its number. */
const called = (ids: readonly string[], name = 'Echo') => calls(...ids.map((id, n) => ({ name, id, input: { n } })))

const entriesOf = ({ state }: Left): readonly TranscriptEntry[] => state.transcript.since(state.startLength)
const calledIds = (left: Left): readonly string[] =>
  entriesOf(left).flatMap((entry) => (entry.kind === 'assistant' ? toolCallsOf(entry.message).map(({ id }) => id) : []))
const answersById = (left: Left) => results(left).map(({ tool_use_id, content }) => [tool_use_id, content])

describe('calls of one message with one id', () => {
  test.each([
    ['write, one after another', [echo()], ['Echo', 'Echo', 'Echo']],
    ['read, together', [look()], ['Look', 'Look', 'Look']],
    ['read and write', [echo(), look()], ['Look', 'Echo', 'Look']],
  ])('have separate results when they %s', async (_how, tools, names) => {
    const same = calls(...names.map((name, n) => ({ name, id: 'same', input: { n } })))
    const result = await run([same, 'done'], { tools })
    const [first, second, third] = names.map((name, n) => `${name} ${n}`)
    expect([result.terminal.reason, calledIds(result), answersById(result)]).toEqual([
      'completed',
      ['same', 'same_2', 'same_3'],
      [
        ['same', first],
        ['same_2', second],
        ['same_3', third],
      ],
    ])
  })

  test.each([
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['a', 'a', 'a_2'],
      ['a', 'a_2', 'a_2_2'],
    ],
    [
      ['a_2', 'a', 'a'],
      ['a_2', 'a', 'a_3'],
    ],
    [
      ['', ''],
      ['call', 'call_2'],
    ],
    [
      ['call', '', 'call'],
      ['call', 'call_2', 'call_3'],
    ],
  ])('%j are made distinct as %j', async (ids, distinctIds) => {
    const result = await run([called(ids), 'done'], { tools: [echo()] })
    expect([calledIds(result), answersById(result)]).toEqual([
      distinctIds,
      distinctIds.map((id, n) => [id, `Echo ${n}`]),
    ])
  })

  test('get an id when they have none, or one that is not text', async () => {
    const content = [undefined, null, 7, {}].map((id) => ({ type: 'tool_use', id, name: 'Echo', input: {} }))
    const script = scriptedModel(['done'])
    const model: ScriptedModel = {
      ...script,
      call: (request, options) =>
        request.messages.length > 1
          ? script.call(request, options)
          : // An adapter in plain JavaScript can return this.
            Promise.resolve({ message: { ...message, content: content as unknown as ContentBlock[] } }),
    }
    expect(calledIds(await run([], { model, tools: [echo()] }))).toEqual(['call', 'call_2', 'call_3', 'call_4'])
  })

  test('are distinct everywhere: events, hooks, rules, the tool, details', async () => {
    const seen: { [place: string]: (string | undefined)[] } = {}
    const note = (place: string, id: string | undefined): void => void (seen[place] ??= []).push(id)
    const permissions: Permissions = {
      denies: ({ call }) => (note('denies', call.id), undefined),
      decide: ({ call }) => (note('decide', call.id), { behavior: 'allow' }),
    }
    const echoing = tool('Echo', ({ n }, { callId, progress }) => {
      note('tool', callId)
      progress(`half of ${String(n)}`)
      return { content: 'x', details: { n: Number(n) } }
    })
    const hooks = [
      hook('beforeToolUse', ({ toolCall }) => note('before', toolCall?.id)),
      hook('afterToolUse', ({ toolCall }) => note('after', toolCall?.id)),
    ]
    const result = await run([called(['same', 'same']), 'done'], { tools: [echoing], permissions, hooks })
    for (const event of result.events) {
      if ('callId' in event && event.callId !== null) note(event.type, event.callId)
      if (event.type === 'model_update' && event.update.type === 'block' && event.update.block.type === 'tool_use')
        note('block', event.update.block.id)
    }
    const both = ['same', 'same_2']
    const each = ['same', 'same', 'same_2', 'same_2']
    expect(seen).toEqual({
      denies: each,
      decide: both,
      tool: both,
      before: both,
      after: both,
      tool_start: both,
      tool_running: both,
      tool_update: both,
      tool_end: both,
      block: both,
      hook_start: each,
      hook_end: each,
    })
    expect(result.state.transcript.at(2)).toMatchObject({ details: { same: { n: 0 }, same_2: { n: 1 } } })
  })

  test('are distinct in the messages of the SDK, also in partial messages', async () => {
    const start = (index: number) => ({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: 'same', name: 'Look', input: {} },
    })
    const script = scriptedModel([called(['same', 'same'], 'Look'), 'done'])
    const streaming: ScriptedModel = {
      ...script,
      call: (request, options) =>
        script.call(request, {
          ...options,
          emit(update) {
            if (update.type === 'block' && update.block.type === 'tool_use')
              options.emit({ type: 'api_event', event: start(update.index) })
            options.emit(update)
          },
        }),
    }
    const { engine } = engineOf([], { model: streaming, tools: [look()], includePartialMessages: true })
    const ids: { [type: string]: unknown[] } = {}
    for await (const line of engine.submit('go')) {
      if (line.type === 'stream_event') {
        // As `start` made it.
        const event = line.event as unknown as ReturnType<typeof start>
        ;(ids['stream'] ??= []).push(event.content_block.id)
      }
      if (line.type === 'assistant') for (const { id } of toolCallsOf(line.message)) (ids['assistant'] ??= []).push(id)
      if (line.type === 'user' && typeof line.message.content !== 'string')
        for (const block of line.message.content)
          if ('tool_use_id' in block) (ids['user'] ??= []).push(block.tool_use_id)
    }
    const both = ['same', 'same_2']
    expect(ids).toEqual({ stream: both, assistant: both, user: both })
  })

  test('are distinct when they are denied, and when they wait for a person', async () => {
    const first = await run([called(['same', 'same', 'same'])], {
      tools: [echo()],
      permissions: {
        denies: ({ call }) => ((call.input as { n: number }).n === 0 ? 'not the first' : undefined),
        decide: () => ({ behavior: 'ask', message: 'May I?' }),
      },
    })
    expect([first.terminal.signal.context, answersById(first)]).toEqual([
      { pending: [{ id: 'same_2', name: 'Echo', message: 'May I?' }] },
      [['same', 'not the first']],
    ])
    const second = await run(
      ['done'],
      { tools: [echo()] },
      {
        transcript: first.state.transcript,
        runId: 'run2',
        approvals: {
          same_2: { behavior: 'allow', updatedInput: { n: 'allowed' } },
          same_3: { behavior: 'deny', message: 'not this' },
        },
      },
    )
    // Without rules nobody asks for the answers. None of them may be lost or mixed up.
    expect(answersById(second).map(([id]) => id)).toEqual(['same_2', 'same_3'])
  })

  test('wait for a person with separate keys', async () => {
    const going = begin([called(['same', 'same']), 'done'], {
      tools: [echo()],
      permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) },
      onAsk: 'wait',
    })
    const keys = () => going.events.flatMap((event) => (event.type === 'approval_needed' ? [event.key ?? ''] : []))
    await until(() => keys().length === 1)
    going.loop.answer(keys()[0] ?? '', { behavior: 'deny', message: 'not this' })
    await until(() => keys().length === 2)
    going.loop.answer(keys()[1] ?? '', { behavior: 'allow' })
    expect(answersById(await going.end())).toEqual([
      ['same', 'not this'],
      ['same_2', 'Echo 1'],
    ])
  })

  test('are distinct when they are left behind', async () => {
    const going = begin([called(['same', 'same'], 'Deaf')], {
      tools: [hanging('Deaf', { readOnly: true, deaf: true })],
    })
    await until(() => going.events.filter(({ type }) => type === 'tool_start').length === 2)
    going.loop.abort()
    const { terminal } = await going.end()
    expect(terminal.stillRunning).toEqual(['same', 'same_2'])
  })

  test('have separate subagents', async () => {
    const agent: AgentTool<{ readonly prompt: string }> = {
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object', required: ['prompt'] },
      readOnly: true,
      spawn: ({ prompt }) => ({ prompt }),
    }
    const same = ['one', 'two'].map((prompt) => ({ name: 'Agent', id: 'same', input: { prompt } }))
    const result = await run(
      ({ messages: [first, ...more] }) =>
        first?.content === 'go'
          ? more.length === 0
            ? calls(...same)
            : 'done'
          : `answer to ${JSON.stringify(first?.content)}`,
      { tools: [agent] },
    )
    const agentCallIds = result.events.flatMap((event) => (event.type === 'agent' ? [event.callId] : []))
    expect([answersById(result), [...new Set(agentCallIds)]]).toEqual([
      [
        ['same', 'answer to "one"'],
        ['same_2', 'answer to "two"'],
      ],
      ['same', 'same_2'],
    ])
  })
})

const message: ModelReply['message'] = {
  role: 'assistant',
  id: 'msg',
  model: 'scripted',
  content: [],
  stop_reason: 'tool_use',
  usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
}

describe('an id that repeats in a later message', () => {
  test('is distinct from all earlier ones', async () => {
    const script = [called(['a']), called(['a', 'b']), called(['a_2', 'a', 'b']), 'done']
    const result = await run(script, { tools: [echo()] })
    expect([calledIds(result), answersById(result).map(([id]) => id)]).toEqual([
      ['a', 'a_2', 'b', 'a_2_2', 'a_3', 'b_2'],
      ['a', 'a_2', 'b', 'a_2_2', 'a_3', 'b_2'],
    ])
  })

  test('is numbered further, however often it repeats', async () => {
    const turns = 200
    const result = await run(({ messages }) => (messages.length < 2 * turns ? called(['a']) : 'done'), {
      tools: [echo()],
      maxTurns: turns + 1,
    })
    expect(calledIds(result).at(-1)).toBe(`a_${turns}`)
  })

  test('in a later run of the session', async () => {
    const first = await run([called(['a', 'a']), 'done'], { tools: [echo()] })
    const second = await run(
      [called(['a']), 'done'],
      { tools: [echo()] },
      { prompt: 'again', transcript: first.state.transcript, runId: 'run2' },
    )
    expect([calledIds(first), calledIds(second)]).toEqual([['a', 'a_2'], ['a_3']])
  })

  test('after a compaction, since the record of the session keeps the ids', async () => {
    const { state } = await run([called(['a']), 'done'], { tools: [echo()] })
    const compacted = state.transcript.append({
      kind: 'compact_boundary',
      id: 'boundary',
      messages: [{ role: 'user', content: 'what was said before' }],
      trigger: 'manual',
      preTokens: 100,
      postTokens: 10,
    })
    const second = await run(
      [called(['a']), 'done'],
      { tools: [echo()] },
      { prompt: 'again', transcript: compacted, runId: 'run2' },
    )
    expect(calledIds(second)).toEqual(['a_2'])
  })

  test('ignores the calls of another run over the same transcript', async () => {
    const { state } = await run([called(['a']), 'done'], { tools: [echo()] })
    const branch = (runId: string, ids: readonly string[]) =>
      run([called(ids), 'done'], { tools: [echo()] }, { prompt: runId, transcript: state.transcript, runId })
    expect(calledIds(await branch('left', ['a', 'x']))).toEqual(['a_2', 'x'])
    expect(calledIds(await branch('right', ['a', 'x']))).toEqual(['a_2', 'x'])
  })
})

describe('calls with one id that start early', () => {
  test('start both, with separate results', async () => {
    const log: number[] = []
    const early = reader('Look', ({ n }) => (log.push(Number(n)), `seen ${String(n)}`))
    const reply = { ...called(['same', 'same'], 'Look'), before: () => until(() => log.length === 2) }
    const result = await run([reply, 'done'], { tools: [early] })
    expect([log, answersById(result)]).toEqual([
      [0, 1],
      [
        ['same', 'seen 0'],
        ['same_2', 'seen 1'],
      ],
    ])
  })

  test('have separate results when the reply is aborted', async () => {
    const controller = new AbortController()
    const reply = {
      ...called(['same', 'same', 'same'], 'Look'),
      before: async () => (await tick(), controller.abort()),
    }
    const result = await run([reply], {
      tools: [reader('Look', ({ n }) => (n === 2 ? new Promise<string>(() => {}) : `seen ${String(n)}`))],
      signal: controller.signal,
    })
    expect([result.terminal.reason, result.terminal.stillRunning, answersById(result)]).toEqual([
      'aborted_streaming',
      ['same_3'],
      [
        ['same', 'seen 0'],
        ['same_2', 'seen 1'],
        ['same_3', expect.stringContaining('may still be running')],
      ],
    ])
  })

  test('are reused only by the call that they were started for', async () => {
    const block = (n: number): ContentBlock => ({ type: 'tool_use', id: 'same', name: 'Look', input: { n } })
    const script = scriptedModel(['done'])
    const log: unknown[] = []
    // It emits its blocks in another order than in its message, or emits others.
    const confused = (emitted: readonly number[], order: readonly number[]): ScriptedModel => ({
      ...script,
      async call(request, options) {
        if (request.messages.length > 1) return script.call(request, options)
        for (const [index, n] of emitted.entries())
          options.emit({ type: 'block', index, block: block(n), messageId: 'msg' })
        await tick()
        return { message: { ...message, content: order.map(block) } }
      },
    })
    for (const [emitted, order] of [
      [
        [1, 2],
        [2, 1],
      ],
      [[1], [2]],
      [[1, 2], [2]],
    ] as const) {
      log.length = 0
      const result = await run([], {
        model: confused(emitted, order),
        tools: [reader('Look', ({ n }) => (log.push(n), `seen ${String(n)}`))],
      })
      expect(results(result).map(({ content }) => content)).toEqual(order.map((n) => `seen ${n}`))
    }
  })

  test.each(['the emitted objects', 'copies of them'])(
    'keep their streamed ids, in whatever order: %s',
    async (kind) => {
      const blockOf = (n: number): ContentBlock => ({ type: 'tool_use', id: 'same', name: 'Look', input: { n } })
      const script = scriptedModel(['done'])
      const backwards: ScriptedModel = {
        ...script,
        async call(request, options) {
          if (request.messages.length > 1) return script.call(request, options)
          const content = [blockOf(0), blockOf(1), blockOf(2)]
          for (const index of [2, 1]) {
            const block = content[index]
            if (block !== undefined) options.emit({ type: 'block', index, block, messageId: 'msg' })
          }
          return { message: { ...message, content: kind === 'copies of them' ? structuredClone(content) : content } }
        },
      }
      const result = await run([], { model: backwards, tools: [look()] })
      const blocks = result.events.flatMap((event) =>
        event.type === 'model_update' && event.update.type === 'block' ? [event.update] : [],
      )
      const emittedIds = blocks.map(({ index, block }) => [index, 'id' in block ? block.id : undefined])
      expect([emittedIds.slice(0, 2), answersById(result)]).toEqual([
        [
          [2, 'same'],
          [1, 'same_2'],
        ],
        [
          ['same_3', 'Look 0'],
          ['same_2', 'Look 1'],
          ['same', 'Look 2'],
        ],
      ])
    },
  )
})

test('a block is emitted as received, whatever the adapter does with its object afterwards', async () => {
  const script = scriptedModel(['done'])
  const log: unknown[] = []
  const changing: ScriptedModel = {
    ...script,
    async call(request, options) {
      if (request.messages.length > 1) return script.call(request, options)
      const input = { n: 1 }
      const block: ContentBlock = { type: 'tool_use', id: 'a', name: 'Look', input }
      options.emit({ type: 'block', index: 0, block, messageId: 'msg' })
      input.n = 2
      return { message: { ...message, content: [block] } }
    },
  }
  const result = await run([], { model: changing, tools: [reader('Look', ({ n }) => (log.push(n), 'seen'))] })
  expect([
    log,
    entriesOf(result).flatMap((entry) =>
      entry.kind === 'assistant' ? toolCallsOf(entry.message).map(({ input }) => input) : [],
    ),
  ]).toEqual([[1], [{ n: 1 }]])
})

describe('a record of calls with one id', () => {
  const script = [called(['same', 'same']), called(['same', 'same'], 'Look'), 'done']
  const permissions: Permissions = {
    denies: ({ call }) => ((call.input as { n: number }).n === 1 ? 'not the second' : undefined),
    decide: () => ({ behavior: 'allow' }),
  }
  const runOptions = (): RunTestOptions => ({
    tools: [echo(), look()],
    permissions,
    hooks: [hook('beforeToolUse', () => {})],
  })
  const denied = [
    ['same', 'Echo 0'],
    ['same_2', 'not the second'],
    ['same_3', 'Look 0'],
    ['same_4', 'not the second'],
  ]

  test('replays to the same events and results', async () => {
    const completeRun = await run(script, runOptions())
    expect(answersById(completeRun)).toEqual(denied)
    const records = completeRun.steps.records.map((record) => json(record) as unknown as StepRecord)
    const options: RunOptions = { ...runOptions(), model: scriptedModel([]) }
    const { events, terminal } = await replay(records, options)
    const live = completeRun.events.filter((event) => !isLive(event))
    expect([json(events), json(terminal)]).toEqual([json(live), json(completeRun.terminal)])
  })

  test('continues to the same results, cut anywhere', async () => {
    const completeRun = await run(script, runOptions())
    for (let count = 1; count < completeRun.steps.records.length; count++) {
      const records = completeRun.steps.records.slice(0, count).map((record) => json(record) as unknown as StepRecord)
      const model = scriptedModel(({ messages }) => {
        const turn = messages.filter(({ role }) => role === 'assistant').length
        return script[turn] ?? 'done'
      })
      const { terminal, state } = await resume(records, { ...runOptions(), model }).loop.ended
      const unknownOr = (text: unknown) =>
        expect.toSatisfy((resultText: unknown) => resultText === text || String(resultText).startsWith('The outcome'))
      expect([count, terminal.reason, transcriptProblems(state.transcript.messages())]).toEqual([
        count,
        'completed',
        [],
      ])
      expect(answersById({ state: { ...state, startLength: 0 } })).toEqual(
        denied.map(([id, text]) => [id, unknownOr(text)]),
      )
    }
  })
})

test('an engine approves one of two calls with one id', async () => {
  const { engine } = engineOf([called(['same', 'same']), 'done'], {
    tools: [echo()],
    permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) },
  })
  const lines = []
  for await (const line of engine.submit('go')) lines.push(line)
  expect(resultOf(lines)).toMatchObject({ terminal_reason: 'needs_approval' })
  const more = []
  const decisions = { same: { behavior: 'deny', message: 'not this' }, same_2: { behavior: 'allow' } } as const
  for await (const line of engine.approve(decisions)) more.push(line)
  expect(resultOf(more)).toMatchObject({ terminal_reason: 'completed' })
  const texts = engine.transcript
    .since(0)
    .flatMap((entry) =>
      entry.kind === 'user' && typeof entry.message.content !== 'string' ? entry.message.content : [],
    )
  expect(texts).toEqual([
    { type: 'tool_result', tool_use_id: 'same', content: 'not this', is_error: true },
    { type: 'tool_result', tool_use_id: 'same_2', content: 'Echo 1' },
  ])
})
