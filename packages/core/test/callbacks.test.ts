// Tests R-LOOP-4, R-LOOP-7, R-TOOL-1, R-ABORT-1, R-REQ-2, R-GUARD-1: the outcome of a run is defined for any behavior of a callback.
import { describe, expect, test } from 'vitest'
import {
  CallableHook,
  ConfigurationError,
  streamRun,
  startRun,
  type Guard,
  type HookContext,
  type RunEvent,
  type RunOptions,
  type Model,
  type StopHookOutcome,
  type ToolOutput,
} from '../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedModel } from '../src/testing/index.ts'
import {
  calls,
  dollarATokenPrices,
  hanging,
  hook,
  reader,
  resultTexts,
  tick,
  tool,
  toolEnds,
  until,
  type RunTestOptions,
  type RunningRun,
  type Script,
} from './support/harness.ts'
import { runChecked, beginChecked } from './support/checked-run.ts'

const never = <T>() => new Promise<T>(() => {})
/** A value that plain JavaScript code can return where the types forbid it. */
const untyped = (value: unknown): never => value as never
const toolsAtWork = (going: RunningRun) =>
  until(() => going.events.some(({ type }) => type === 'tool_start')).then(tick)

describe('the return value of a tool', () => {
  test.each([
    ['nothing', undefined, '(no output)'],
    ['null', null, '(no output)'],
    ['a number', 42, '42'],
    ['an object without content', { lines: 3 }, '{"lines":3}'],
    ['content of another kind', { content: 7 }, '{"content":7}'],
    ['a function', () => 1, '(no output)'],
  ])('%s, becomes a result, also asynchronously', async (_what, returned, text) => {
    const tools = [
      tool('Now', () => untyped(returned)),
      tool('Later', async () => untyped(returned)),
      reader('Read', async () => untyped(returned)),
    ]
    const result = await runChecked([calls('Now', 'Later', 'Read'), 'done'], { tools })
    expect([result.terminal.reason, resultTexts(result), Object.values(toolEnds(result))]).toEqual([
      'completed',
      [text, text, text],
      ['done', 'done', 'done'],
    ])
  })

  test.each([
    ['a big integer', () => 10n],
    ['a circle', () => { const circle: { self?: unknown } = {}; circle.self = circle; return circle }], // prettier-ignore
  ])('%s, which JSON cannot represent, fails one call and not the run', async (_what, give) => {
    for (const execute of [() => untyped(give()), async () => untyped(give())]) {
      const result = await runChecked([calls('Odd'), 'done'], { tools: [tool('Odd', execute)] })
      expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', [expect.any(String)]])
    }
  })
})

test('fails one call and not the run when a tool that started early returns what JSON cannot represent', async () => {
  const odd = reader('Odd', async () => untyped(10n))
  const result = await runChecked([{ ...calls('Odd'), before: tick }, 'done'], { tools: [odd] })
  expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', [expect.any(String)]])
})

describe('the return value of a hook', () => {
  test.each(['beforeStep', 'beforeInference', 'beforeToolUse', 'afterToolUse', 'afterStep'] as const)(
    'that is not a context, at %s, is reported as an error and decides nothing',
    async (trigger) => {
      const errors: unknown[] = []
      const hooks = [
        hook(trigger, () => untyped({}), { id: 'odd' }),
        hook('onError', (context: HookContext) => void errors.push(context.error)),
      ]
      const result = await runChecked([calls('Write'), 'done'], { tools: [tool('Write', 'written')], hooks })
      const message = 'A hook must return the context it was given, or nothing.'
      const outcomes = result.events.flatMap((event) =>
        event.type === 'hook_end' && event.hook === 'odd' ? [event.outcome] : [],
      )
      const times = trigger.endsWith('ToolUse') || trigger === 'afterStep' ? 1 : 2
      expect([result.terminal.reason, resultTexts(result), outcomes, errors]).toEqual([
        'completed',
        ['written'],
        Array.from({ length: times }, () => ({ error: message })),
        Array.from({ length: times }, () => ({ source: 'hook', name: 'odd', message })),
      ])
    },
  )

  test.each([7, true, {}, null])('a stop hook that blocks with %j blocks nothing', async (block) => {
    const outcome: StopHookOutcome = { block: untyped(block) }
    const { terminal, model } = await runChecked(['done'], { stopHooks: [{ id: 'odd', handle: () => outcome }] })
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 1])
  })

  test('throws for a hook without triggers, which would never be called', () => {
    for (const options of [undefined, {}, { triggers: [] }]) {
      expect(() => new CallableHook(() => {}, untyped(options))).toThrow(
        new ConfigurationError("A CallableHook needs triggers, for example { triggers: ['afterStep'] }."),
      )
    }
  })
})

describe('the return value of a model', () => {
  const giving = (call: Model['call']): ScriptedModel => ({ ...scriptedModel([]), call })
  const content = [{ type: 'text', text: 'hello' }]

  test.each([
    ['nothing', undefined],
    ['no message', {}],
    ['a message without usage', { message: { role: 'assistant', id: 'm', model: 'x', content } }],
    ['a message without content', { message: { role: 'assistant', id: 'm', model: 'x', usage: {} } }],
    [
      'a tool result, which belongs to a user message',
      { message: { content: [{ type: 'tool_result', tool_use_id: 'x', content: 'y' }], usage: {} } },
    ],
  ])('%s, is not a reply: the run ends and says what is needed', async (_what, reply) => {
    for (const call of [() => untyped(reply), async () => untyped(reply)] as const) {
      const { terminal } = await runChecked([], { model: giving(call) })
      expect([terminal.reason, terminal.signal.message]).toEqual([
        'model_error',
        expect.stringContaining('expected { message: { content, usage, … } }'),
      ])
    }
  })

  test('above the requested length ends the run at its token limit, and runs none of its calls', async () => {
    for (const reply of [{ text: 'long' }, { text: 'long', ...calls('Write') }]) {
      const ran: string[] = []
      const result = await runChecked([{ ...reply, usage: { output_tokens: 50_000 } }], {
        tools: [tool('Write', () => (ran.push('Write'), 'x'))],
        maxTotalTokens: 40_000,
      })
      const { terminal } = result
      expect([terminal.reason, terminal.signal.context, ran]).toEqual([
        'token_limit',
        { used: 50_010, limit: 40_000 },
        [],
      ])
    }
  })

  test('that requests a wait of 25 hours ends the run at once', async () => {
    const clock = createFakeClock()
    const retryAfterMs = 25 * 3_600_000
    const { terminal, model, events } = await runChecked(
      [{ error: { kind: 'rate_limit', message: 'Come back tomorrow', status: 429, retryAfterMs } }, 'never'],
      { clock },
    )
    expect([terminal.reason, terminal.durationMs, model.requests.length, clock.now(), clock.pending]).toEqual([
      'model_error',
      0,
      1,
      0,
      0,
    ])
    expect(terminal.signal.message).toContain('Come back tomorrow')
    expect(events.filter(({ type }) => type === 'retry')).toEqual([])
  })
})

describe('a promise that never settles', () => {
  test('from a permission rule is not awaited after an abort, and nothing runs', async () => {
    const ran: string[] = []
    const going = beginChecked([calls('Write', 'Write', 'Read')], {
      tools: [tool('Write', () => (ran.push('Write'), 'x')), reader('Read', () => (ran.push('Read'), 'x'))],
      permissions: { denies: () => undefined, decide: () => never() },
    })
    await toolsAtWork(going)
    going.loop.abort()
    const result = await going.end()
    const text = 'Interrupted by user'
    expect([result.terminal.reason, resultTexts(result), ran]).toEqual(['aborted_tools', [text, text, text], []])
  })

  test('from a cancellation source is not awaited after an abort', async () => {
    const asked: string[] = []
    const going = beginChecked(['never'], {
      cancellation: [{ cancellationSignal: () => (asked.push('asked'), never()) }],
    })
    const reading = going.loop.ended
    await until(() => asked.length === 1)
    going.loop.abort()
    await reading
    const { terminal, model } = await going.end()
    expect([terminal.reason, model.requests.length]).toEqual(['aborted_streaming', 0])
  })
})

describe('a callback that throws', () => {
  const bug = (): never => {
    throw new Error('bug')
  }
  const tools = [tool('Write', 'written'), tool('Fail', bug), reader('Read'), reader('FailRead', bug)]

  test('in prices is reported in a notice, and the request still counts', async () => {
    const runOptions: RunTestOptions = { prices: { ...dollarATokenPrices, cost: bug }, tools }
    for (const script of [['done'], [calls('Write'), 'done']]) {
      const { terminal, events } = await runChecked(script, runOptions)
      expect([terminal.reason, terminal.summary.requests]).toEqual(['completed', script.length])
      expect(events.filter(({ type }) => type === 'notice')).toHaveLength(script.length)
    }
  })

  test.each([
    ['after_reply', 2],
    ['after_tools', 1],
    ['before_turn', 1],
  ] as const)('in a guard at %s keeps the paid requests in the figures', async (checkpoint, spent) => {
    let requests = 0
    const guard: Guard = {
      name: 'broken',
      checkpoints: [checkpoint],
      evaluate: () => (requests > 0 ? bug() : undefined),
    }
    const result = await runChecked(() => (requests++ === 0 ? calls('Write') : 'done'), {
      prices: dollarATokenPrices,
      stopWhen: guard,
      tools,
    })
    const { reason, costUsd, summary } = result.terminal
    expect([reason, costUsd, summary.usage.input_tokens, summary.requests, summary.turns]).toEqual([
      'error',
      15 * spent,
      10 * spent,
      spent,
      spent,
    ])
  })

  test('in an error policy keeps the outcome of each call', async () => {
    const result = await runChecked([calls('Write', 'Fail', 'Write')], { tools, errorPolicy: bug })
    expect([result.terminal.reason, resultTexts(result)]).toEqual([
      'error',
      ['written', 'bug', 'Not run: the run failed before this call'],
    ])
    const two = await runChecked([calls('Fail', 'Write')], { tools, errorPolicy: bug })
    expect(resultTexts(two)).toEqual(['bug', 'Not run: the run failed before this call'])
  })

  test('in an error policy keeps the results of calls that ran in parallel', async () => {
    const result = await runChecked([calls('FailRead', 'Read')], { tools, errorPolicy: bug })
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['error', ['bug', 'read']])
  })
})

describe('an answer of a person', () => {
  const asking: Pick<RunOptions, 'permissions' | 'tools'> = {
    permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) },
    tools: [tool('Write', 'written')],
  }
  const needed = (events: readonly RunEvent[]) =>
    events.flatMap((event) => (event.type === 'approval_needed' ? [event] : []))
  const event = { type: 'approval_needed', callId: 'call_0_0', name: 'Write', input: {}, message: 'May I?' }

  test('is given by the key of the event', async () => {
    const going = beginChecked([calls('Write'), 'done'], { ...asking, onAsk: 'wait' })
    await until(() => needed(going.events).length === 1)
    const key = 'run1/approval:1:0:call_0_0'
    expect(needed(going.events)).toEqual([{ ...event, key }])
    going.loop.answer(key, { behavior: 'allow' })
    const result = await going.end()
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', ['written']])
  })

  test('has no key when the run ends instead', async () => {
    const { terminal, events } = await runChecked([calls('Write')], asking)
    expect([terminal.reason, needed(events)]).toEqual(['needs_approval', [{ ...event, key: null }]])
  })
})

test('names a hanging tool that started early when the message is interrupted', async () => {
  const cut = ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise<void>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
  const started: string[] = []
  const deaf = reader('Deaf', () => (started.push('Deaf'), never<ToolOutput>()))
  const going = beginChecked([{ ...calls('Deaf'), before: cut }], { tools: [deaf, hanging('Hang')] })
  await until(() => started.length === 1)
  going.loop.abort()
  const result = await going.end()
  expect([result.terminal.reason, result.terminal.stillRunning, resultTexts(result)]).toEqual([
    'aborted_streaming',
    ['call_0_0'],
    [expect.stringContaining('may still be running')],
  ])
})

test('serves two readers of one iterator', async () => {
  const running = streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([calls('Read'), 'done']),
    tools: [reader('Read')],
    clock: createFakeClock(),
  })
  const iterator = running[Symbol.asyncIterator]()
  const types: string[] = []
  for (let open = true; open;) {
    const both = await Promise.all([iterator.next(), iterator.next()])
    for (const step of both) if (step.done !== true) types.push(step.value.type)
    open = both.every(({ done }) => done !== true)
  }
  expect([types.slice(0, 2), types.at(-1), types.filter((type) => type === 'run_end').length]).toEqual([
    ['run_start', 'message'],
    'run_end',
    1,
  ])
})

test.each([
  ['toolConcurrency', 0.5, 'toolConcurrency must be a whole number, but it is 0.5.'],
  ['maxRetries', 1.5, 'maxRetries must be a whole number, but it is 1.5.'],
  ['tokenBudget', NaN, 'tokenBudget must be a number of tokens or null.'],
])('%s of %d is rejected before anything runs', (name, value, message) => {
  const options = { model: scriptedModel([]), [name]: value }
  expect(() => streamRun(startRun({ prompt: 'go' }), options)).toThrow(new ConfigurationError(message))
})

test('a run that breaks calls nothing more: no hook, no stop hook, no task after the run', async () => {
  const asked: string[] = []
  const result = await runChecked(['answer'], {
    stopWhen: { name: 'broken', checkpoints: ['after_reply'], evaluate: () => { throw new Error('bug') } }, // prettier-ignore
    hooks: [hook(['onError', 'afterExecution', 'onStop'], ({ trigger }) => void asked.push(trigger))],
    stopHooks: [{ id: 'gate', handle: () => void asked.push('stop hook') }],
    postRun: [{ name: 'memory', start: async () => void asked.push('memory') }],
  })
  expect([result.terminal.reason, result.terminal.error?.message, asked]).toEqual(['error', 'The run failed: bug', []])
})

test('starts tasks after the run only when it completed', async () => {
  const started = async (script: Script, overrides: RunTestOptions = {}) => {
    const tasks: string[] = []
    const start = async () => void tasks.push('memory')
    const { terminal } = await runChecked(script, {
      tools: [reader('Read')],
      postRun: [{ name: 'memory', start }],
      ...overrides,
    })
    return [terminal.reason, tasks]
  }
  expect([
    await started(['answer']),
    await started([calls('Read')], { maxTurns: 1 }),
    await started(['answer'], { stopHooks: [{ id: 'gate', handle: () => ({ prevent: 'no' }) }] }),
    await started([{ error: { kind: 'invalid_request', message: 'bad', status: 400 } }]),
  ]).toEqual([
    ['completed', ['memory']],
    ['max_turns', []],
    ['stop_hook_prevented', []],
    ['model_error', []],
  ])
})
