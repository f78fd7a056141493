// Tests R-SUB-1 to R-SUB-8.
import { describe, expect, test } from 'vitest'
import {
  AgentStopException,
  StopSignal,
  type AgentTool,
  type ChildRun,
  type Guard,
  type RunEvent,
  type ModelRequest,
} from '../../src/index.ts'
import { StepsLimitHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hanging,
  hook,
  reader,
  resultTexts,
  results,
  run,
  loopMessages,
  tool,
  until,
} from '../support/harness.ts'
import { agentLimitReached } from '../../src/tool-calls/call-texts.ts'

const agent = (
  spawn: (input: { readonly prompt: string }) => ChildRun = ({ prompt }) => ({ prompt }),
  more: Partial<AgentTool> = {},
): AgentTool => ({
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object', required: ['prompt'] },
  readOnly: true,
  spawn,
  ...more,
})
const spawnCall = (prompt: string) => ({ name: 'Agent', input: { prompt } })
/** Scripts by prompt: the main loop's is `go`. */
const byPrompt =
  (scripts: { readonly [prompt: string]: readonly ScriptedReply[] | ((turn: number) => ScriptedReply) }) =>
  ({ messages }: ModelRequest): ScriptedReply => {
    const script = scripts[typeof messages[0]?.content === 'string' ? messages[0].content : ''] ?? []
    const turn = messages.filter(({ role }) => role === 'assistant').length
    return typeof script === 'function' ? script(turn) : (script[turn] ?? 'end')
  }

const innerEvents = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'agent' ? [event.event] : []))
const endOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'run_end' ? [event.terminal] : []))

describe('a subagent', () => {
  test('is the same loop; its last answer is the result', async () => {
    const script = byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: [calls('Look'), 'found it'] })
    const result = await run(script, { tools: [agent(), reader('Look')], system: 'main system' })
    expect(results(result)).toEqual([{ type: 'tool_result', tool_use_id: 'call_0_0', content: 'found it' }])
    expect(result.state.transcript.at(2)).toMatchObject({
      details: { call_0_0: { reason: 'completed', message: 'The model gave its answer', costUsd: 0, turns: 2 } },
    })
    expect(result.terminal.summary).toMatchObject({ requests: 2, turns: 2, usage: { input_tokens: 20 } })
    expect(result.state.spent).toMatchObject({ subagents: 1, totalTokens: 60 })
  })

  test('emits its events inside those of the parent', async () => {
    const { events } = await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: ['found it'] }), {
      tools: [agent()],
    })
    const inner = events.flatMap((event) => (event.type === 'agent' ? [event.event.type] : []))
    expect(inner).toEqual([
      'run_start',
      'message',
      'turn_start',
      'model_start',
      'model_update',
      'model_update',
      'figures',
      'model_end',
      'message',
      'context',
      'run_end',
    ] satisfies RunEvent['type'][])
  })

  test('has its own system prompt, tools and turns, and starts no agents on the last level', async () => {
    const child = agent(({ prompt }) => ({
      prompt,
      system: 'child system',
      tools: ['Look', 'Agent'],
      maxTurns: 2,
      agentType: 'explorer',
    }))
    const result = await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: () => calls('Look') }), {
      tools: [child, reader('Look'), tool('Write')],
      system: 'main system',
      maxSubagentDepth: 1,
    })
    const ofChild = result.model.requests.filter(({ messages }) => messages[0]?.content === 'sub')
    expect(ofChild.map(({ system, tools }) => [system, tools.map(({ name }) => name)])).toEqual([
      ['child system', ['Look']],
      ['child system', ['Look']],
    ])
    expect(results(result)).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'call_0_0',
        content: expect.stringContaining(
          'The agent was stopped before it was done (steps_limit: Reached maximum number of turns (2)).',
        ),
        is_error: true,
      },
    ])
  })

  test("is bounded by the parent's turns", async () => {
    const { model } = await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: () => calls('Look') }), {
      tools: [agent(({ prompt }) => ({ prompt, maxTurns: 99 })), reader('Look')],
      maxTurns: 3,
    })
    expect(model.requests.filter(({ messages }) => messages[0]?.content === 'sub')).toHaveLength(3)
  })

  test("is not stopped by the guard on its parent's turns, but by any other", async () => {
    const script = byPrompt({
      go: [calls(spawnCall('sub')), 'done'],
      sub: (turn) => (turn < 3 ? calls('Look') : 'found it'),
    })
    const guarded = (stopWhen: Guard) => run(script, { tools: [agent(), reader('Look')], stopWhen })
    expect(resultTexts(await guarded(new StepsLimitHook(2)))).toEqual(['found it'])
    const third: Guard = {
      name: 'third',
      evaluate: ({ steps }) => (steps >= 3 ? new StopSignal({ reason: 'steps_limit' }) : undefined),
    }
    expect(resultTexts(await guarded(third))).toEqual([
      expect.stringContaining('The agent was stopped before it was done'),
    ])
  })

  test('has given its answer when one of its tools stops it', async () => {
    const submit = tool('Submit', () => { throw new AgentStopException({ signal: new StopSignal({ reason: 'stop_requested', message: '42' }) }) }) // prettier-ignore
    const { terminal, state } = await run(
      byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: [{ text: 'my answer', ...calls('Submit') }] }),
      { tools: [agent(), submit] },
    )
    expect([terminal.reason, resultTexts({ state })]).toEqual(['completed', ['my answer']])
  })

  test('is aborted with its parent, and every call has a result', async () => {
    const going = begin(byPrompt({ go: [calls(spawnCall('sub'), 'Write')], sub: [calls('Hang')] }), {
      tools: [agent(), hanging('Hang'), tool('Write')],
    })
    await until(() => going.events.some((event) => event.type === 'agent' && event.event.type === 'tool_start'))
    going.loop.abort()
    const result = await going.end()
    expect([result.terminal.reason, resultTexts(result)]).toEqual([
      'aborted_tools',
      ['Interrupted by user', 'Interrupted by user'],
    ])
    const inner = result.events.flatMap((event) =>
      event.type === 'agent' && event.event.type === 'run_end' ? [event.event.terminal] : [],
    )
    expect(inner.map(({ reason, signal }) => [reason, signal.context['cause']])).toEqual([['aborted_tools', 'parent']])
  })

  test('R-SUB-6: that was aborted with its parent passes its last words to the continuing run', async () => {
    const script = byPrompt({ go: [calls(spawnCall('sub'))], sub: [{ text: 'It is in a.ts:7.', ...calls('Hang') }] })
    const going = begin(script, { tools: [agent(), hanging('Hang')] })
    await until(() => going.events.some((event) => event.type === 'agent' && event.event.type === 'tool_start'))
    going.loop.abort()
    expect(resultTexts(await going.end())).toEqual([
      expect.stringMatching(
        /^The agent was stopped before it was done \(.+\)\. Its last output:\n\nIt is in a\.ts:7\.$/,
      ),
    ])
  })

  test.each([
    ['user', 'aborted_tools', 'aborted_tools'],
    ['interrupt', 'aborted_tools', 'aborted_tools'],
    ['terminated', 'aborted_tools', 'aborted_tools'],
    ['abandoned', 'abandoned', 'aborted_tools'],
    ['budget', 'max_budget_usd', 'max_budget_usd'],
  ] as const)('is notified of an abort by %s: its parent ends as %s and it as %s', async (cause, ofParent, ofChild) => {
    const going = begin(byPrompt({ go: [calls(spawnCall('sub'))], sub: [calls('Hang')] }), {
      tools: [agent(), hanging('Hang')],
      prices: dollarATokenPrices,
      maxBudgetUsd: 1_000_000,
    })
    await until(() => innerEvents(going.events).some(({ type }) => type === 'tool_start'))
    going.loop.abort(cause)
    const { terminal, events } = await going.end()
    expect([terminal.reason, endOf(innerEvents(events)).map(({ reason }) => reason)]).toEqual([ofParent, [ofChild]])
  })

  test('that is interrupted by the time limit of its parent also ends at that limit', async () => {
    const result = await run(byPrompt({ go: [calls(spawnCall('sub'))], sub: [{ hang: true }] }), {
      tools: [agent()],
      maxDurationMs: 5_000,
    })
    const { terminal, events } = result
    // It had written nothing, and no person interrupted it.
    expect(resultTexts(result)).toEqual([
      'The agent was stopped before it was done (time_limit: Time limit reached: 5.0/5.0 s).',
    ])
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 5_000])
    expect(endOf(innerEvents(events)).map(({ signal }) => signal.toJSON())).toEqual([
      {
        reason: 'time_limit',
        message: 'Time limit reached: 5.0/5.0 s',
        context: { used: 5_000, usedMs: 5_000, limit: 5_000, limitMs: 5_000 },
        source: 'abort',
      },
    ])
  })

  test('adds its worst-case charges to the figures of its parent, separate from settled ones', async () => {
    const lost: ScriptedReply = { error: { kind: 'connection', message: 'gone' } }
    const model = scriptedModel([calls(spawnCall('sub')), lost, 'found it', 'done'], { maxOutputTokens: 2_000 })
    const { terminal, state } = await run([], {
      model,
      tools: [agent()],
      prices: dollarATokenPrices,
      maxSubagentDepth: 1,
    })
    // 1,000 around the request, 16 and 3 bytes for the prompt, 2 for no tools, and the cap of the reply.
    const worst = 1_000 + 16 + 3 + 2 + 2_000
    expect([terminal.costUsd, terminal.committedUsd, state.spent.totalTokens]).toEqual([45, 45 + worst, 45 + worst])
  })

  test('runs in parallel with others, unless the tool declares them unsafe in parallel', async () => {
    const order: string[] = []
    const look = reader('Look', () => (order.push('Look'), 'x'))
    const script = byPrompt({
      go: [calls(spawnCall('a'), spawnCall('b')), 'done'],
      a: [calls('Look'), 'from a'],
      b: [calls('Look'), 'from b'],
    })
    const together = await run(script, { tools: [agent(), look] })
    expect(resultTexts(together)).toEqual(['from a', 'from b'])
    const startedCalls = together.events.flatMap((event) => (event.type === 'agent' ? [event.callId] : []))
    expect(startedCalls.lastIndexOf('call_0_0')).toBeGreaterThan(startedCalls.indexOf('call_0_1'))
    const alone = await run(script, { tools: [agent(undefined, { concurrencySafe: false }), look] })
    const one = alone.events.flatMap((event) => (event.type === 'agent' ? [event.callId] : []))
    expect(one.lastIndexOf('call_0_0')).toBeLessThan(one.indexOf('call_0_1'))
  })

  test('takes the time of the longest when several run in parallel', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const after = (ms: number, text: string): ScriptedReply => ({
      text,
      before: () => new Promise((resolve) => void clock.after(ms, resolve)),
    })
    const script = byPrompt({
      go: [calls(spawnCall('a'), spawnCall('b'), spawnCall('c')), 'done'],
      a: [after(3_000, 'from a')],
      b: [after(5_000, 'from b')],
      c: [after(1_000, 'from c')],
    })
    const { terminal, events } = await run(script, { clock, tools: [agent(undefined, { concurrencySafe: true })] })
    expect([terminal.reason, terminal.durationMs]).toEqual(['completed', 5_000])
    expect(endOf(innerEvents(events)).map(({ durationMs }) => durationMs)).toEqual([1_000, 3_000, 5_000])
    // The reported time of each call is that of its agent.
    const callTimes = events.flatMap((event) => (event.type === 'tool_end' ? [event.durationMs] : []))
    expect(callTimes).toEqual([3_000, 5_000, 1_000])
  })

  test('can be started only a limited number of times in a run', async () => {
    const script = byPrompt({ go: [calls(spawnCall('sub')), calls(spawnCall('sub')), 'done'], sub: ['found'] })
    expect(resultTexts(await run(script, { tools: [agent()], maxSubagents: 1 }))).toEqual([
      'found',
      agentLimitReached(1, 'run', false),
    ])
  })

  test('that cannot be started is a failed call', async () => {
    const broken = agent(() => { throw new Error('no such type') }) // prettier-ignore
    expect(resultTexts(await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'] }), { tools: [broken] }))).toEqual([
      'no such type',
    ])
  })

  test('shows its tools and requests to hooks, but not its start and end', async () => {
    const seen: string[] = []
    const listening = hook(
      ['beforeExecution', 'afterExecution', 'onStop', 'beforeToolUse', 'beforeInference'],
      (context) => void seen.push(`${context.trigger} ${context.state().agentId === 'main' ? 'main' : 'child'}`),
    )
    await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: [calls('Look'), 'found'] }), {
      tools: [agent(), reader('Look')],
      hooks: [listening],
    })
    expect(seen).toEqual([
      'beforeExecution main',
      'beforeInference main',
      'beforeToolUse main',
      'beforeInference child',
      'beforeToolUse child',
      'beforeInference child',
      'beforeInference main',
      'onStop main',
      'afterExecution main',
    ])
  })

  test('has no token target, no stop hooks and no output schema', async () => {
    const asked: string[] = []
    const stopHooks = [
      { id: 'gate', handle: ({ querySource }: { readonly querySource: string }) => void asked.push(querySource) },
    ]
    const output = {
      check: (answer: string) =>
        answer === 'done' ? { fits: true as const, value: 1 } : { fits: false as const, message: 'no' },
    }
    const { transitions, terminal } = await run(
      byPrompt({ go: [calls(spawnCall('sub')), { text: 'done', usage: { output_tokens: 900 } }], sub: ['found'] }),
      { tools: [agent()], stopHooks, output, tokenBudget: 1_000 },
    )
    expect([transitions, terminal.reason, asked]).toEqual([['next_turn'], 'completed', ['main']])
  })

  test('has no last answer at its limit: that is for the main loop', async () => {
    const { model, terminal } = await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: [calls('Look')] }), {
      tools: [agent(({ prompt }) => ({ prompt, maxTurns: 1 })), reader('Look')],
      wrapUp: true,
    })
    const ofChild = model.requests.filter(({ messages }) => messages[0]?.content === 'sub')
    expect([terminal.reason, ofChild.length]).toEqual(['completed', 1])
  })

  test('has no task after it: those are for the main loop', async () => {
    const tasks: string[] = []
    await run(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: ['found it'] }), {
      tools: [agent()],
      postRun: [{ name: 'memory', start: async ({ querySource }) => void tasks.push(querySource) }],
    })
    expect(tasks).toEqual(['main'])
  })

  test('receives no message that arrives while it works: that is for the main loop', async () => {
    const going = begin(
      byPrompt({
        go: [calls(spawnCall('sub')), 'done', 'done'],
        sub: [{ ...calls('Look'), before: () => hand() }, 'found it'],
      }),
      { tools: [agent(), reader('Look')] },
    )
    const hand = () => {
      going.loop.steer('look here')
      going.loop.followUp('and there')
    }
    const result = await going.end()
    const inner = innerEvents(result.events).flatMap((event) => (event.type === 'message' ? [event.entry] : []))
    expect(inner.map((entry) => (entry.kind === 'user' ? entry.origin : entry.kind))).toEqual([
      'prompt',
      'assistant',
      'tool_results',
      'assistant',
    ])
    expect(loopMessages(result)).toEqual([
      ['steer', 'look here'],
      ['follow_up', 'and there'],
    ])
  })

  test('that leaves a hanging tool behind has it named by its parent', async () => {
    const going = begin(byPrompt({ go: [calls(spawnCall('sub'))], sub: [calls({ name: 'Deaf', id: 'deaf' })] }), {
      tools: [agent(), hanging('Deaf', { deaf: true })],
    })
    await until(() => innerEvents(going.events).some(({ type }) => type === 'tool_start'))
    going.loop.abort()
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.stillRunning]).toEqual(['aborted_tools', ['deaf']])
  })

  test('whose spawn throws a stop stops the run with it', async () => {
    const stopping = agent(() => {
      throw new AgentStopException({ message: 'no more agents today' })
    })
    const result = await run(byPrompt({ go: [calls(spawnCall('sub'), 'Write'), 'done'] }), {
      tools: [stopping, tool('Write')],
    })
    expect([result.terminal.reason, result.terminal.signal.message]).toEqual(['stop_requested', 'no more agents today'])
    expect(results(result).map(({ content, is_error }) => [content, is_error])).toEqual([
      ['no more agents today', undefined],
      ['Not run: the run stopped before this call', true],
    ])
  })

  test('gets no more room than its parent has left', async () => {
    const model = scriptedModel(byPrompt({ go: [calls(spawnCall('sub')), 'done'], sub: ['found it'] }), {
      maxOutputTokens: 2_000,
    })
    await run([], { model, tools: [agent()], prices: dollarATokenPrices, maxBudgetUsd: 2_600, maxSubagentDepth: 1 })
    const ofChild = model.requests.filter(({ messages }) => messages[0]?.content === 'sub')
    // Its parent spent 15; 1,000 are around its request, 16 and 3 bytes for the prompt, 2 for no tools.
    expect(ofChild.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([2_600 - 15 - (1_000 + 16 + 3 + 2)])
  })
})
