// Tests R-PERM-6 to R-PERM-8, R-HOOK-5, R-STEP-9.
import { describe, expect, test } from 'vitest'
import {
  agentTool,
  ConfigurationError,
  createMemorySteps,
  replay,
  startRun,
  type ModelRequest,
  type PermissionDecision,
  type Permissions,
} from '../../src/index.ts'
import { createFakeClock, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import {
  begin,
  calls,
  hanging,
  hook,
  reader,
  resultTexts,
  run,
  tick,
  tool,
  until,
  subagent,
} from '../support/harness.ts'

const asks: Permissions = {
  denies: () => undefined,
  decide: ({ call }) =>
    call.name.startsWith('Ask') ? { behavior: 'ask', message: `Allow ${call.name}?` } : { behavior: 'allow' },
}
const tools = [
  reader('Look'),
  tool('AskA', 'a done'),
  tool('AskB', 'b done'),
  tool('Echo', (input) => JSON.stringify(input)),
  tool('AskEcho', (input) => JSON.stringify(input)),
]
const waiting = () => run([calls('Look', 'AskA', 'AskB')], { tools, permissions: asks })
const answerAndContinue = async (
  approvals: { readonly [callId: string]: PermissionDecision },
  script: Parameters<typeof run>[0] = ['done'],
) => {
  const { state } = await waiting()
  return run(script, { tools, permissions: asks }, { approvals, transcript: state.transcript, runId: 'run2' })
}

describe('a call that a person has to approve', () => {
  test('ends the run; once approved, it runs first when the session continues', async () => {
    const result = await answerAndContinue({ call_0_1: { behavior: 'allow' }, call_0_2: { behavior: 'allow' } })
    expect([result.terminal.reason, resultTexts(result), result.model.requests.length]).toEqual([
      'completed',
      ['a done', 'b done'],
      1,
    ])
    expect(transcriptProblems(result.messages)).toEqual([])
  })

  test('is shown to the model when denied', async () => {
    const result = await answerAndContinue({
      call_0_1: { behavior: 'deny', message: 'not that' },
      call_0_2: { behavior: 'allow' },
    })
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', ['not that', 'b done']])
  })

  test('can be approved one at a time', async () => {
    const result = await answerAndContinue({ call_0_1: { behavior: 'allow' } })
    expect([result.terminal.reason, resultTexts(result), result.terminal.signal.context]).toEqual([
      'needs_approval',
      ['a done'],
      { pending: [{ id: 'call_0_2', name: 'AskB', message: 'Allow AskB?' }] },
    ])
  })

  test('may be given another input, which is checked', async () => {
    const { state } = await run([calls({ name: 'AskEcho', input: { a: 1 } })], { tools, permissions: asks })
    const approvals = { call_0_0: { behavior: 'allow', updatedInput: { a: 2 } } } as const
    expect(
      resultTexts(
        await run(['done'], { tools, permissions: asks }, { approvals, transcript: state.transcript, runId: 'run2' }),
      ),
    ).toEqual(['{"a":2}'])
  })

  test('is not run with an invalid input of a person', async () => {
    const ran: unknown[] = []
    const schema = { type: 'object', properties: { a: { type: 'number' } } } as const
    const strict = [tool('AskStrict', (input) => (ran.push(input), 'x'), { schema })]
    const { state } = await run([calls({ name: 'AskStrict', input: { a: 1 } })], { tools: strict, permissions: asks })
    const approvals = { call_0_0: { behavior: 'allow', updatedInput: { a: 'two' } } } as const
    const result = await run(
      ['done'],
      { tools: strict, permissions: asks },
      { approvals, transcript: state.transcript, runId: 'run2' },
    )
    expect([ran, resultTexts(result)]).toEqual([[], [expect.stringContaining('Invalid input for AskStrict')]])
  })

  test('is denied by the rules for an input of a person, whatever the answer says', async () => {
    const ran: unknown[] = []
    const permissions: Permissions = {
      denies: ({ call }) => (JSON.stringify(call.input).includes('rm') ? 'no rm' : undefined),
      decide: ({ call }) =>
        call.name === 'Ask'
          ? { behavior: 'ask', message: '?' }
          : { behavior: 'allow', updatedInput: { command: 'rm by rule' } },
    }
    const note = (input: unknown) => (ran.push(input), 'ran')
    const runOptions = { permissions, tools: [tool('Ask', note), tool('Changed', note)] }
    const { state, terminal } = await run([calls('Changed', 'Ask')], runOptions)
    expect([terminal.reason, resultTexts({ state })]).toEqual(['needs_approval', ['no rm']])
    const approvals = { call_0_1: { behavior: 'allow', updatedInput: { command: 'rm by hand' } } } as const
    const result = await run(['done'], runOptions, { approvals, transcript: state.transcript, runId: 'run2' })
    expect([result.terminal.reason, resultTexts(result), ran]).toEqual(['completed', ['no rm'], []])
    // Later rules do not change the past.
    const anything: Permissions = { denies: () => undefined, decide: () => ({ behavior: 'allow' }) }
    const replayed = await replay(
      result.steps.records,
      { ...runOptions, model: result.model, permissions: anything },
      state.transcript,
    )
    expect(replayed.terminal).toEqual(result.terminal)
  })

  test('gets a result that explains it when another message is sent instead', async () => {
    const { state } = await waiting()
    const { messages, terminal } = await run(
      ['done'],
      { tools, permissions: asks },
      { prompt: 'never mind', transcript: state.transcript, runId: 'run2' },
    )
    expect([terminal.reason, terminal.summary.toolResults]).toEqual(['completed', 2])
    expect(transcriptProblems(messages)).toEqual([])
    const notRunReason = 'Not run: it was waiting for approval when a new message arrived'
    expect(messages.at(-3)).toEqual({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0_1', content: notRunReason, is_error: true }, { type: 'tool_result', tool_use_id: 'call_0_2', content: notRunReason, is_error: true }] }) // prettier-ignore
  })

  test('is answered with approvals or with a prompt, never both: results come before any other message', async () => {
    const { state } = await waiting()
    const both = {
      approvals: { call_0_1: { behavior: 'allow' } },
      prompt: 'and hurry',
      transcript: state.transcript,
    } as const
    expect(() => startRun(both)).toThrow(ConfigurationError)
  })

  test('keeps the messages of earlier hooks', async () => {
    const speak = hook('afterToolUse', (context) => context.withState(context.state().withUserMessage('a note')), {
      tools: ['Look'],
    })
    const first = await run([calls('Look', 'AskA')], { tools, permissions: asks, hooks: [speak] })
    const result = await run(
      ['done'],
      { tools, permissions: asks },
      { approvals: { call_0_1: { behavior: 'allow' } }, transcript: first.state.transcript, runId: 'run2' },
    )
    expect(JSON.stringify(result.messages)).toContain('a note')
  })
})

describe('a wait for a person', () => {
  const ask = () => {
    const clock = createFakeClock()
    return begin([calls('AskA', 'Look'), 'done'], { clock, tools, permissions: asks, onAsk: 'wait' })
  }

  test('may take long, and is not active time', async () => {
    const going = ask()
    await until(() => going.events.some(({ type }) => type === 'approval_needed'))
    await going.clock.advance(3_600_000)
    going.steps.answer('run1/approval:1:0:call_0_0', { behavior: 'allow' })
    const { terminal, state } = await going.end()
    expect([terminal.reason, terminal.durationMs, resultTexts({ state })]).toEqual(['completed', 0, ['a done', 'read']])
  })

  test('stops the time limit only as long as it is pending', async () => {
    const clock = createFakeClock()
    const hang = tool('AskA', (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))) // prettier-ignore
    const going = begin([calls('AskA')], {
      clock,
      tools: [hang],
      permissions: asks,
      onAsk: 'wait',
      maxDurationMs: 10_000,
    })
    await until(() => going.events.some(({ type }) => type === 'approval_needed'))
    await clock.advance(3_600_000)
    going.steps.answer('run1/approval:1:0:call_0_0', { behavior: 'allow' })
    await tick()
    await clock.advance(9_999)
    expect(going.events.at(-1)?.type).not.toBe('run_end')
    await clock.advance(1)
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 10_000])
  })

  test('restarts the time limit when the step engine fails, for parallel work', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const steps = createMemorySteps({
      clock,
      onRecord: (record) => {
        if (record.type === 'intent' && record.key.includes('approval:')) throw new Error('disk full')
      },
    })
    const agent = agentTool({
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
      concurrencySafe: true,
      spawn: ({ prompt }) => ({ prompt }),
    })
    const ofAgent = (prompt: string) => ({ name: 'Agent', input: { prompt } })
    const script = ({ messages }: Pick<ModelRequest, 'messages'>) => {
      const prompt = messages[0]?.content
      return prompt === 'go' ? calls(ofAgent('ask'), ofAgent('hang')) : calls(prompt === 'ask' ? 'AskA' : 'Hang')
    }
    const runOptions = { clock, steps, tools: [...tools, hanging('Hang'), agent], permissions: asks }
    const going = begin(script, { ...runOptions, onAsk: 'wait', maxDurationMs: 5_000 })
    const { terminal } = await going.end()
    expect([terminal.reason, clock.now()]).toEqual(['time_limit', 5_000])
  })

  test('of two parallel subagents stops the time limit until both are answered', async () => {
    const clock = createFakeClock()
    const script = ({ messages }: ModelRequest): ScriptedReply => {
      if (messages.length > 1) return 'done'
      return messages[0]?.content === 'sub' ? calls('AskA') : calls('Agent', 'Agent')
    }
    const going = begin(script, {
      clock,
      tools: [subagent, ...tools],
      permissions: asks,
      onAsk: 'wait',
      maxDurationMs: 10_000,
    })
    const keys = (): readonly string[] =>
      going.events.flatMap((event) =>
        event.type === 'agent' && event.event.type === 'approval_needed' ? [event.event.key ?? ''] : [],
      )
    await until(() => keys().length === 2)
    const [first = '', second = ''] = keys()
    await clock.advance(60_000)
    going.loop.answer(first, { behavior: 'allow' })
    await tick()
    await clock.advance(60_000)
    going.loop.answer(second, { behavior: 'allow' })
    const { terminal } = await going.end()
    expect(terminal.reason).toBe('completed')
  })

  test('ends with an abort', async () => {
    const going = ask()
    await until(() => going.events.some(({ type }) => type === 'approval_needed'))
    going.loop.abort()
    const { terminal, state } = await going.end()
    expect([terminal.reason, resultTexts({ state })]).toEqual([
      'aborted_tools',
      ['Interrupted by user', 'Interrupted by user'],
    ])
  })
})

test('an engine approves and continues; denials are in the result', async () => {
  const { engine } = engineOf([calls('AskA', 'Echo'), 'done'], {
    tools,
    permissions: { ...asks, denies: ({ call }) => (call.name === 'Echo' ? 'Echo is denied' : undefined) },
  })
  const first = []
  for await (const message of engine.submit('go')) first.push(message)
  expect(resultOf(first)).toMatchObject({
    terminal_reason: 'needs_approval',
    subtype: 'error_during_execution',
    errors: ['Waiting for approval: AskA'],
  })
  const second = []
  for await (const message of engine.approve({ call_0_0: { behavior: 'allow' } })) second.push(message)
  expect(resultOf(second)).toMatchObject({
    terminal_reason: 'completed',
    result: 'done',
    permission_denials: [{ tool_name: 'Echo', tool_use_id: 'call_0_1', tool_input: {} }],
  })
})

test('closes open calls of a session with a result before the prompt', () => {
  const state = startRun({ prompt: 'hello' })
  const open = state.transcript.append({
    kind: 'assistant',
    id: 'a',
    message: {
      role: 'assistant',
      id: 'm',
      model: 'x',
      content: [{ type: 'tool_use', id: 't', name: 'T', input: {} }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    },
  })
  expect(transcriptProblems(startRun({ prompt: 'again', transcript: open }).transcript.messages())).toEqual([])
})
