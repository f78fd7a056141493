// Tests R-STOP-5, R-STOP-7, R-DEC-2 to R-DEC-5, R-ORD-7, R-TOOL-8, R-GUARD-2, R-LAP-6, R-ABORT-8, R-REQ-7.
import { describe, expect, test } from 'vitest'
import {
  AgentStopException,
  ConfigurationError,
  streamRun,
  startRun,
  StopSignal,
  type Guard,
  type HookContext,
  type StopCategory,
  type EndingReason,
} from '../src/index.ts'
import { InMemoryCancellationSource, StepsLimitHook, TokenUsageLimitHook } from '../src/compat/index.ts'
import { agentStateOf } from '../src/run/run.ts'
import { endingReasonOf } from '../src/endings/run-result.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../src/testing/index.ts'
import {
  begin,
  calls,
  failures,
  hook,
  reader,
  resultTexts,
  run,
  loopMessages,
  tool,
  until,
  type RunningRun,
} from './support/harness.ts'

const tools = [reader('Look')]
const throwing = (exception: () => AgentStopException, readOnly = false) => tool('Throw', () => { throw exception() }, { readOnly }) // prettier-ignore

describe('the iteration of a last answer', () => {
  test('takes no message and calls nothing first: no stop, no guard, no hook', async () => {
    const asked: string[] = []
    const going = begin((_request, index) => (index < 2 ? calls('Look') : 'what is done'), {
      tools: [reader('Look')],
      maxTurns: 2,
      wrapUp: true,
      stopWhen: { name: 'watch', evaluate: ({ checkpoint, steps }) => void asked.push(`guard ${checkpoint} ${steps}`) },
      hooks: [
        hook(['beforeStep', 'beforeInference', 'afterInference', 'afterStep', 'onStop'], ({ trigger }) => {
          asked.push(trigger)
          if (trigger !== 'onStop') return
          going.loop.steer('one more thing')
          going.loop.stop()
        }),
      ],
    })
    const result = await going.end()
    const turn = ['beforeStep', 'beforeInference', 'afterInference']
    expect([result.transitions, result.terminal.reason, loopMessages(result).map(([origin]) => origin)]).toEqual([
      ['next_turn', 'wrap_up'],
      'max_turns',
      ['loop'],
    ])
    expect(asked).toEqual([
      'guard before_turn 0',
      ...turn,
      'guard after_tools 1',
      'afterStep',
      'guard before_turn 1',
      ...turn,
      'guard after_tools 2',
      'afterStep',
      'onStop',
    ])
  })

  test('is not made after an abort by the budget', async () => {
    const look = reader('Look', () => (going.loop.abort('budget'), 'read'))
    const going: RunningRun = begin([calls('Look'), 'never'], { tools: [look], wrapUp: true })
    const { transitions, terminal, model, state } = await going.end()
    expect([transitions, terminal.reason, model.requests.length, loopMessages({ state })]).toEqual([
      [],
      'max_budget_usd',
      1,
      [],
    ])
  })
})

describe('a thrown AgentStopException', () => {
  // Frozen: the ending for each category that a guard, hook or tool raises.
  const terminals: { readonly [reason in StopCategory]: EndingReason } = {
    error: 'error',
    stop_requested: 'stop_requested',
    user_requested: 'user_requested',
    steps_limit: 'max_turns',
    token_limit: 'token_limit',
    cost_limit: 'max_budget_usd',
    time_limit: 'time_limit',
    retry_limit: 'model_error',
    no_progress: 'no_progress',
    finish_reason: 'finish_reason',
    completed: 'completed',
    unknown: 'error',
  }

  test.each(Object.entries(terminals) as [StopCategory, EndingReason][])(
    'ends with the reason %s as %s',
    async (reason, terminalReason) => {
      const signal = new StopSignal({ reason, message: 'because', context: { a: 1 }, source: 'Signal' })
      const { terminal } = await run([calls('Throw')], {
        tools: [throwing(() => new AgentStopException({ signal, context: { b: 2 }, source: 'Throw' }))],
      })
      expect(terminal.reason).toBe(terminalReason)
      expect(terminal.signal.toJSON()).toEqual({ reason, message: 'because', context: { a: 1, b: 2 }, source: 'Throw' })
      expect(endingReasonOf(signal)).toBe(terminalReason)
    },
  )

  test('without a signal is stop_requested', async () => {
    const { terminal } = await run([calls('Throw')], { tools: [throwing(() => new AgentStopException())] })
    expect([terminal.reason, terminal.signal.toJSON()]).toEqual([
      'stop_requested',
      { reason: 'stop_requested', message: 'stop_requested', context: {}, source: null },
    ])
  })

  test('leaves the turn on record: usage, the message, a result for every sibling', async () => {
    const { terminal, state } = await run(
      [{ text: 'two at once', ...calls('Look', 'Throw', 'Write'), usage: { input_tokens: 7, output_tokens: 3 } }],
      {
        tools: [...tools, throwing(() => new AgentStopException({ message: 'done' })), tool('Write')],
      },
    )
    expect({ ...terminal.summary, usage: terminal.summary.usage.output_tokens }).toMatchObject({
      assistantMessages: 1,
      toolResults: 3,
      turns: 1,
      requests: 1,
      usage: 3,
    })
    expect(resultTexts({ state })).toEqual(['read', 'done', 'Not run: the run stopped before this call'])
  })

  test('lets running siblings finish', async () => {
    const slow = reader('Slow', async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve()
      return 'finished'
    })
    const { state } = await run([calls('Throw', 'Slow')], {
      tools: [throwing(() => new AgentStopException(), true), slow],
    })
    expect(resultTexts({ state })).toEqual(['stop_requested', 'finished'])
  })
})

test('a natural end stores an explicit completed signal', async () => {
  const { terminal, state } = await run(['answer'])
  expect([...terminal.signals]).toEqual([terminal.signal])
  expect(terminal.signal.toJSON()).toEqual({
    reason: 'completed',
    message: 'The model gave its answer',
    context: {},
    source: 'loop',
  })
  expect(agentStateOf(state).stopReason()).toBe('completed')
})

describe('a continuation request', () => {
  const continues = (message?: string) =>
    hook('onStop', (context) => context.withState(context.state().withExecutionContinued(message)), { id: 'again' })
  const once = (message?: string) => {
    let left = 1
    return hook(
      'onStop',
      (context) => (left-- > 0 ? context.withState(context.state().withExecutionContinued(message)) : context),
      { id: 'again' },
    )
  }

  test('consumes the signals it overrides: they are recorded as overridden, with the hook, and no longer apply', async () => {
    const { terminal, events, steps, transitions } = await run([calls('Look'), 'answer'], {
      tools,
      stopWhen: new StepsLimitHook(1),
      hooks: [once()],
    })
    expect([terminal.reason, terminal.signals.toString()]).toEqual([
      'completed',
      'completed: The model gave its answer',
    ])
    expect(transitions).toEqual(['continuation_requested'])
    const overridden = new StepsLimitHook(1).evaluate({ steps: 1 } as never)!
    expect(
      events.flatMap((event) =>
        event.type === 'signals_overridden' ? [{ by: event.by, signals: event.signals.map(String) }] : [],
      ),
    ).toEqual([{ by: 'again', signals: ['steps_limit: Step limit reached: 1/1'] }])
    expect(steps.records.flatMap((record) => (record.type === 'lap' ? [record.lap.overridden] : []))).toEqual([
      { by: 'again', signals: [overridden.toJSON()] },
    ])
  })

  test('serves one decision, and its iteration is charged to it instead of the limit', async () => {
    const { terminal, transitions } = await run(() => calls('Look'), { tools, maxTurns: 2, hooks: [once()] })
    expect([transitions, terminal.reason]).toEqual([['next_turn', 'continuation_requested'], 'max_turns'])
  })

  test('may be made by any hook, not only at the stop', async () => {
    const early = hook('afterToolUse', (context) => context.withState(context.state().withExecutionContinued()), {
      id: 'early',
    })
    const { transitions, terminal } = await run([calls('Look'), 'answer'], {
      tools,
      stopWhen: new StepsLimitHook(1),
      hooks: [early],
    })
    expect([transitions, terminal.reason]).toEqual([['continuation_requested'], 'completed'])
  })

  test('overrides a natural end only with a message for the model', async () => {
    const silent = await run(['answer', 'more'], { hooks: [continues()] })
    expect([silent.transitions, silent.terminal.reason]).toEqual([[], 'completed'])
    const speaking = await run(['answer', 'more'], { hooks: [once('look again')] })
    expect([speaking.transitions, speaking.terminal.reason, loopMessages(speaking)]).toEqual([
      ['continuation_requested'],
      'completed',
      [['hook', 'look again']],
    ])
  })

  test('leaves nothing behind when it is not granted', async () => {
    const { state, terminal } = await run(['answer'], { hooks: [continues()] })
    expect(state.continuation.explain()).toBe(`Stop Signals: ${terminal.signal.toString()}; Continuation Requested: No`)
  })

  test.each(['user_requested', 'error', 'cost_limit'] as const)('cannot override %s', async (reason) => {
    const stop = hook('afterStep', (context) =>
      context.withState(context.state().withStopSignal(new StopSignal({ reason }))),
    )
    const { transitions } = await run([calls('Look'), 'answer'], { tools, hooks: [stop, continues('go on')] })
    expect(transitions).toEqual([])
  })

  test.each(['user_requested', 'error', 'cost_limit'] as const)(
    'cannot override %s that is raised with another signal',
    async (reason) => {
      const raise = (context: HookContext) =>
        context.withState(
          context
            .state()
            .withStopSignal(new StopSignal({ reason: 'stop_requested' }))
            .withStopSignal(new StopSignal({ reason })),
        )
      const { transitions } = await run([calls('Look'), 'answer'], {
        tools,
        hooks: [hook('afterStep', raise), continues('go on')],
      })
      expect(transitions).toEqual([])
    },
  )

  test('cannot override an abort', async () => {
    const { transitions, terminal } = await run(['answer'], {
      signal: AbortSignal.abort(),
      hooks: [continues('go on')],
    })
    expect([transitions, terminal.reason]).toEqual([[], 'aborted_streaming'])
  })

  test('cannot override the same guard again', async () => {
    const { transitions, terminal } = await run(() => calls('Look'), { tools, stopWhen: new TokenUsageLimitHook(1_000_000), hooks: [] , maxTurns: 1 }) // prettier-ignore
    expect([transitions, terminal.reason]).toEqual([[], 'max_turns'])
    const guarded = await run(() => calls('Look'), { tools, stopWhen: new StepsLimitHook(2), hooks: [continues()] })
    expect([guarded.transitions, guarded.terminal.reason]).toEqual([
      ['next_turn', 'continuation_requested'],
      'max_turns',
    ])
  })

  test('may override a guard again once its measure has been below its limit', async () => {
    const levels = [0, 9, 0, 9, 9, 9]
    const level: Guard = {
      name: 'level',
      evaluate: () =>
        (levels.shift() ?? 0) >= 9 ? new StopSignal({ reason: 'token_limit', message: 'full' }) : undefined,
    }
    // Before turn 1: 0. After it: 9, overridden. Before turn 2: 0, below. After it: 9, overridden again. Before turn 3:
    // 9, silent. After it: 9, ends the run.
    const { transitions, terminal } = await run(() => calls('Look'), { tools, stopWhen: level, hooks: [continues()] })
    expect([transitions, terminal.reason]).toEqual([
      ['continuation_requested', 'continuation_requested'],
      'token_limit',
    ])
  })
})

test('polls cancellation whether or not other signals exist', async () => {
  const source = new InMemoryCancellationSource()
  const stop = tool('Stop', () => {
    source.cancel('stop')
    throw new AgentStopException({ message: 'thrown' })
  })
  const { terminal } = await run([calls('Stop')], { tools: [stop], cancellation: [source] })
  expect([...terminal.signals].map(String)).toEqual(['user_requested: stop', 'stop_requested: thrown'])
})

test("makes a tool's error a result for the model, not a failed run", async () => {
  const broken = tool('Break', () => { throw new Error('disk full') }) // prettier-ignore
  const { terminal, state } = await run([calls('Break'), 'answer'], { tools: [broken] })
  expect([terminal.reason, resultTexts({ state })]).toEqual(['completed', ['disk full']])
})

describe('limits', () => {
  test('guards use >=', () => {
    const view = (totalTokens: number) => ({ totalTokens }) as never
    expect([99, 100, 101].map((used) => new TokenUsageLimitHook(100).evaluate(view(used))?.message)).toEqual([
      undefined,
      'Token limit reached: 100/100',
      'Token limit reached: 101/100',
    ])
  })

  test.each([0, -1, 1.5, Number.NaN])('maxTurns %s is a configuration error', (maxTurns) => {
    expect(() => streamRun(startRun({ prompt: 'go' }), { model: scriptedModel([]), maxTurns })).toThrow(
      ConfigurationError,
    )
  })

  test('maxTurns N permits N turns', async () => {
    for (const maxTurns of [1, 2, 3])
      expect((await run(() => calls('Look'), { tools, maxTurns })).model.requests).toHaveLength(maxTurns)
  })

  test('maxTotalTokens counts input, including cached input, and output of all requests', async () => {
    const usage = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 4, cache_read_input_tokens: 8 }
    const { state, terminal } = await run(
      [
        { ...calls('Look'), usage },
        { text: 'answer', usage },
      ],
      { tools },
    )
    expect([state.spent.totalTokens, terminal.summary.usage]).toEqual([
      30,
      { input_tokens: 2, output_tokens: 4, cache_creation_input_tokens: 8, cache_read_input_tokens: 16 },
    ])
  })

  test('maxTotalTokens limits the whole run', async () => {
    const usage = { input_tokens: 40_000, output_tokens: 10 }
    const { terminal } = await run(() => ({ ...calls('Look'), usage }), { tools, maxTotalTokens: 60_000 })
    expect([terminal.reason, terminal.signal.context['limit']]).toEqual(['token_limit', 60_000])
  })

  test.each([
    [{ maxTotalTokens: 0 }, 'maxTotalTokens must be above 0, but it is 0. Leave it out for no limit.'],
    [{ maxTotalTokens: -1 }, 'maxTotalTokens must be above 0, but it is -1. Leave it out for no limit.'],
    [{ maxTotalTokens: Number.NaN }, 'maxTotalTokens must be above 0, but it is NaN. Leave it out for no limit.'],
    [
      { maxTokens: 5 },
      'Unknown option maxTokens. Use maxTotalTokens for the whole run, or maxOutputTokens for one reply.',
    ],
  ])('%j is a configuration error', (limits, message) => {
    expect(() => streamRun(startRun({ prompt: 'go' }), { model: scriptedModel([]), ...limits })).toThrow(
      new ConfigurationError(message),
    )
  })

  test('time is active time: waiting for a person does not count', async () => {
    const clock = createFakeClock()
    const permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask' as const, message: '?' }) }
    const going = begin([calls('Write'), 'answer'], {
      clock,
      tools: [tool('Write')],
      permissions,
      onAsk: 'wait',
      maxDurationMs: 1_000,
    })
    await until(() => going.events.some(({ type }) => type === 'approval_needed'))
    await clock.advance(86_400_000)
    going.steps.answer('run1/approval:1:0:call_0_0', { behavior: 'allow' })
    const { terminal, state } = await going.end()
    expect([terminal.reason, terminal.durationMs, resultTexts({ state })]).toEqual(['completed', 0, ['ok']])
  })
})

describe('a stream that breaks after completed blocks', () => {
  const streamError = { kind: 'connection', message: 'socket closed' } as const

  test('runs its completed calls and continues', async () => {
    const { transitions, terminal, state, events } = await run(
      [{ ...calls('Look'), stopReason: null as never, streamError }, 'answer'],
      { tools },
    )
    expect([transitions, terminal.reason, resultTexts({ state })]).toEqual([['next_turn'], 'completed', ['read']])
    expect(events.filter(({ type }) => type === 'notice')).toEqual([
      { type: 'notice', message: 'The reply broke off and may be incomplete: socket closed' },
    ])
  })

  const broken: ScriptedReply = { text: 'half', stopReason: null as never, streamError }

  test('with only text is resumed once, and is never completed', async () => {
    const resumed = await run([broken, 'the rest'])
    expect([resumed.transitions, resumed.terminal.reason, loopMessages(resumed)]).toEqual([
      ['max_output_tokens_recovery'],
      'completed',
      [['loop', 'The connection was lost during your reply. Continue exactly where your reply stopped.']],
    ])
    const failed = await run([broken, broken, 'never'])
    expect([failed.transitions, failed.terminal.reason, failures(failed)]).toEqual([
      ['max_output_tokens_recovery'],
      'model_error',
      [['server_error', 'socket closed']],
    ])
  })

  test('may be resumed again after a spent turn', async () => {
    const { transitions, terminal } = await run([broken, calls('Look'), broken, 'answer'], { tools })
    expect([transitions, terminal.reason]).toEqual([
      ['max_output_tokens_recovery', 'next_turn', 'max_output_tokens_recovery'],
      'completed',
    ])
  })
})
