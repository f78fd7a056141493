// Tests R-LOOP-4, R-HOOK-13, R-SHOOK-3, R-PERM-3, R-PERM-11, R-ORD-7a, R-GUARD-1, R-CTX-5b: the outcome of a run is defined for any value that a port returns.
import { describe, expect, test } from 'vitest'
import {
  StopSignal,
  type Guard,
  type HookContext,
  type HookTrigger,
  type Model,
  type PermissionDecision,
  type Permissions,
  type StopHook,
} from '../src/index.ts'
import { plainContext, type ContextManager } from '../src/context/context-manager.ts'
import type { ModelUpdate } from '../src/model/model.ts'
import { scriptedModel, transcriptProblems } from '../src/testing/index.ts'
import { bug, circle, garbage, revoked, throwing } from './support/garbage.ts'
import {
  begin,
  calls,
  hook,
  json,
  resultTexts,
  tool,
  toolEnds,
  until,
  type RunTestOptions,
  type Run,
} from './support/harness.ts'
import { runChecked } from './support/checked-run.ts'
import { isDeep, sampled } from './support/deep.ts'

/** A value that plain JavaScript code can return where the types forbid it. */
const untyped = (value: unknown): never => value as never
const tools = [tool('Write', 'written'), tool('Fail', bug)]
const script = () => [calls('Write', 'Fail'), 'done']
const runWith = (overrides: RunTestOptions): Promise<Run> => runChecked(script(), { tools, ...overrides })
const isText = (value: unknown): boolean => typeof value === 'string'
const isNothing = (value: unknown): boolean => value === undefined || value === null

/** Checks that the record survives a JSON round trip; undefined fields count as absent. */
function expectRecorded({ steps, terminal }: Run): void {
  for (const record of steps.records) expect(json(record)).toEqual(plainJson(record))
  expect(json(terminal)).toEqual(plainJson(terminal))
}

/** Classes of the record define their own JSON. */
function plainJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plainJson)
  if ('toJSON' in value && typeof value.toJSON === 'function') return plainJson(value.toJSON())
  if (value instanceof Error) return {}
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plainJson(part)]))
}

const anError = { error: expect.any(String) as string }

/** Throws at once, rejects later, returns at once, returns later. */
const returnWays = (
  make: () => unknown,
): readonly (readonly [failed: boolean, work: () => never, later: boolean])[] => [
  [true, () => { throw make() }, false], // prettier-ignore
  [true, () => untyped(Promise.reject(make())), true],
  [false, () => untyped(make()), false],
  [false, () => untyped((async () => make())()), true],
]

const runTriggers: readonly HookTrigger[] = [
  'beforeExecution',
  'beforeStep',
  'beforeInference',
  'afterInference',
  'beforeToolUse',
  'afterToolUse',
  'afterStep',
  'onStop',
  'onError',
  'afterExecution',
]

// For a quick run, each kind of garbage comes from a part of the hooks, and each hook returns a part of the kinds.
const numbered = garbage.map((each, index) => [...each, index] as const)

describe.each(sampled(numbered, { deep: 4, quick: 4 }))('a run continues when it receives %s', (_what, make, index) => {
  test.each(runTriggers.filter((_trigger, at) => isDeep || (at + index) % 5 === 0))(
    'from a hook at %s',
    async (trigger) => {
      for (const [failed, work] of returnWays(make)) {
        const result = await runWith({ hooks: [hook(trigger, work, { id: 'odd' })] })
        const outcomes = result.events.flatMap((event) => (event.type === 'hook_end' ? [event.outcome] : []))
        expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', ['written', 'bug']])
        const expectedOutcome = failed || !isNothing(make()) ? anError : {}
        expect([outcomes.length > 0, outcomes]).toEqual([true, outcomes.map(() => expectedOutcome)])
        expectRecorded(result)
      }
    },
  )

  test('from a stop hook', async () => {
    for (const [, work] of returnWays(make)) {
      const result = await runWith({ stopHooks: [{ id: 'odd', handle: work }] })
      expect(result.terminal.reason).toBe('completed')
      expectRecorded(result)
    }
  })

  test('from a task after the run', async () => {
    for (const [, work] of returnWays(make)) {
      const result = await runWith({ postRun: [{ name: 'odd', start: work }] })
      expect(result.terminal.reason).toBe('completed')
    }
  })

  test('from permission rules, which then allow nothing', async () => {
    for (const [failed, work, later] of returnWays(make)) {
      const decides = await runWith({ permissions: { denies: () => undefined, decide: work } })
      expect([decides.terminal.reason, Object.values(toolEnds(decides))]).toEqual(['completed', ['denied', 'denied']])
      expectRecorded(decides)
      const denies = await runWith({ permissions: { denies: work, decide: () => ({ behavior: 'allow' }) } })
      const none = !failed && isNothing(make()) && !later
      expect([denies.terminal.reason, Object.values(toolEnds(denies))]).toEqual([
        'completed',
        none ? ['done', 'failed'] : ['denied', 'denied'],
      ])
      expectRecorded(denies)
    }
  })

  test('from an error policy that answers neither yes nor no', async () => {
    const result = await runWith({ errorPolicy: () => untyped(make()) })
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', ['written', 'bug']])
  })
})

describe.each(sampled(garbage, { deep: 2, quick: 3 }))('a run ends properly when it receives %s', (_what, make) => {
  test('from a cancellation source, which cannot decide whether to stop', async () => {
    for (const [failed, work] of returnWays(make)) {
      const result = await runWith({ cancellation: [{ cancellationSignal: work }] })
      const nothing = !failed && (isNothing(make()) || make() === false)
      expect([result.terminal.reason, result.terminal.signal.source]).toEqual(
        nothing ? ['completed', 'loop'] : ['error', 'Object'],
      )
      expectRecorded(result)
    }
  })

  test('from a source without a prototype', async () => {
    const source = Object.assign(Object.create(null) as object, { cancellationSignal: () => { throw make() } }) // prettier-ignore
    const { terminal } = await runWith({ cancellation: [untyped(source)] })
    expect(terminal.reason).toBe('error')
  })

  test.each(['before_turn', 'after_reply', 'after_tools'] as const)('from a guard at %s', async (checkpoint) => {
    for (const [failed, work, later] of returnWays(make)) {
      const guard: Guard = { name: 'odd', checkpoints: [checkpoint], evaluate: work }
      const result = await runWith({ stopWhen: guard })
      const nothing = !failed && isNothing(make()) && !later
      const { reason, error } = result.terminal
      expect([reason, error?.code]).toEqual(nothing ? ['completed', undefined] : ['error', 'callback'])
      expectRecorded(result)
    }
  })

  test('from the check of the answer, which cannot decide whether it fits', async () => {
    for (const [failed, work] of returnWays(make)) {
      const result = await runWith({ output: { check: work } })
      expect([failed, result.terminal.reason, result.terminal.error?.code]).toEqual([failed, 'error', 'callback'])
      expectRecorded(result)
    }
  })

  test('from a layer of context management, or from the token estimate', async () => {
    const layers: readonly (readonly [keyof ContextManager, autoCompact: boolean])[] = [
      ['beforeRequest', true],
      ['blockingLimit', false],
    ]
    for (const [failed, work, later] of returnWays(make)) {
      const garbageOptions: readonly RunTestOptions[] = [
        ...layers.map(([layer, autoCompact]) => ({ context: { ...plainContext, autoCompact, [layer]: work } })),
        { tokens: { estimate: work } },
      ]
      for (const [index, runOptions] of garbageOptions.entries()) {
        const result = await runWith(runOptions)
        const isMissing = index === 0 && isNothing(make())
        const isNumber = index > 0 && make() === 7
        const { reason, error } = result.terminal
        const isAnswer = !failed && !later && (isMissing || isNumber)
        expect([runOptions, ['completed', 'blocking_limit'].includes(reason), error?.code]).toEqual([
          runOptions,
          isAnswer,
          isAnswer ? undefined : 'callback',
        ])
        expectRecorded(result)
      }
    }
  })

  test('from a compaction, which then gives up', async () => {
    for (const [, work] of returnWays(make)) {
      const context: ContextManager = {
        ...plainContext,
        autoCompact: true,
        beforeRequest: () => ({ trigger: 'auto', run: work }),
      }
      const result = await runWith({ context })
      const ends = result.events.flatMap((event) => (event.type === 'compact_end' ? [event.compacted] : []))
      expect([result.terminal.reason, ends]).toEqual(['completed', [false, false]])
      expectRecorded(result)
    }
  })

  test('from a model', async () => {
    for (const [, work] of returnWays(make)) {
      const model = { ...scriptedModel([]), call: untyped(work) as Model['call'] }
      const result = await runChecked([], { model, tools })
      expect(result.terminal.reason).toBe('model_error')
      expectRecorded(result)
    }
  })

  test('from a model, in the blocks of its message', async () => {
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    for (const content of [[make()], make()]) {
      const message = { role: 'assistant', id: 'm', model: 'x', stop_reason: 'end_turn', content, usage }
      const model = { ...scriptedModel([]), call: async () => untyped({ message }) }
      const result = await runChecked([], { model, tools })
      expect(result.terminal.reason).toBeOneOf(['model_error', 'completed', 'no_answer'])
      expectRecorded(result)
    }
  })

  test('from a model, emitted as a block', async () => {
    const scripted = scriptedModel(['done'])
    const model: Model = {
      ...scripted,
      call: (request, options) => {
        options.emit({ type: 'block', index: 0, block: untyped(make()), messageId: 'm' })
        options.emit(untyped(make()))
        return scripted.call(request, options)
      },
    }
    const result = await runChecked([], { model: untyped(model), tools })
    expect(result.terminal.reason).toBeOneOf(['model_error', 'completed', 'no_answer'])
  })

  test('from the listeners of the end', async () => {
    const result = await begin(script(), { tools, onResult: () => { throw make() } }).end() // prettier-ignore
    expect(result.terminal.reason).toBe('completed')
  })
})

describe('a change of a hook that contains garbage', () => {
  const changes: readonly (readonly [string, HookTrigger, (context: HookContext, value: never) => HookContext])[] = [
    ['the state', 'beforeStep', (context, value) => context.withState(value)],
    ['a message', 'beforeStep', (context, value) => context.withState(context.state().withUserMessage(value))],
    ['metadata', 'beforeStep', (context, value) => context.withState(context.state().withMetadata('odd', value))],
    ['a signal', 'afterStep', (context, value) => context.withState(context.state().withStopSignal(value))],
    ['an entry', 'afterStep', (context, value) => context.withState(context.state().withEntry(value))],
    ['the reason of a denial', 'beforeToolUse', (context, value) => context.withBlocked(value)],
    ['a permission', 'beforeToolUse', (context, value) => context.withPermission(value)],
    ['the input', 'beforeToolUse', (context, value) => context.withToolInput(value)],
    ['the output', 'afterToolUse', (context, value) => context.withToolOutput(value)],
    ['a reason to stop', 'afterToolUse', (context, value) => context.withContinuationPrevented(value)],
  ]
  test.each(changes)('%s, is shown or omitted, and breaks nothing', async (_what, trigger, change) => {
    for (const [, make] of garbage) {
      const result = await runWith({ hooks: [hook(trigger, (context) => change(context, untyped(make())))] })
      expect(result.terminal.error?.code).toBeOneOf([undefined])
      expectRecorded(result)
    }
  })

  const changed = async (trigger: HookTrigger, change: (context: HookContext) => HookContext) => {
    const result = await runChecked([calls('Write'), 'done'], {
      tools: [tool('Write', (input) => `wrote ${JSON.stringify(input)}`)],
      hooks: [hook(trigger, change)],
    })
    return [result.terminal.reason, resultTexts(result)]
  }

  test('a denial without a reason denies', async () => {
    for (const reason of [undefined, null, '', 7, {}, revoked()])
      expect(await changed('beforeToolUse', (context) => context.withBlocked(untyped(reason)))).toEqual([
        'completed',
        [expect.any(String)],
      ])
    expect(await changed('beforeToolUse', (context) => context.withBlocked(untyped(undefined)))).toEqual([
      'completed',
      ['A hook denied this call.'],
    ])
  })

  test('an invalid permission allows nothing: a person is asked; deny denies', async () => {
    for (const permission of ['yes', undefined, {}, 1])
      expect(await changed('beforeToolUse', (context) => context.withPermission(untyped(permission)))).toEqual([
        'needs_approval',
        [],
      ])
    expect(await changed('beforeToolUse', (context) => context.withPermission(untyped('deny')))).toEqual([
      'completed',
      ['A hook denied this call.'],
    ])
  })

  test('an invalid reason to stop still stops', async () => {
    for (const reason of [undefined, null, '', 7])
      expect(await changed('afterToolUse', (context) => context.withContinuationPrevented(untyped(reason)))).toEqual([
        'hook_stopped',
        ['wrote {}'],
      ])
  })
})

describe('a stop hook that returns garbage', () => {
  const stopped = async (outcome: unknown) => {
    const stopHook: StopHook = { id: 'odd', handle: () => untyped(outcome) }
    const result = await runChecked(['done'], { stopHooks: [stopHook] })
    expectRecorded(result)
    return [result.terminal.reason, result.terminal.signal.message]
  }

  test('breaks nothing', async () => {
    for (const [, make] of garbage) {
      const fields = ['block', 'prevent', 'systemMessage', 'error', 'aborted']
      for (const field of fields)
        expect((await stopped({ [field]: make() }))[0]).toBeOneOf(['completed', 'stop_hook_prevented'])
      expect((await stopped(throwing({}, ...fields)))[0]).toBe('completed')
    }
  })

  test('cannot pretend that it was aborted', async () => {
    expect(await stopped({ aborted: 'user' })).toEqual(['completed', 'The model gave its answer'])
  })

  test('prevents with true, without a reason', async () => {
    expect(await stopped({ prevent: true })).toEqual(['stop_hook_prevented', 'Stopped by odd'])
    expect(await stopped({ prevent: false })).toEqual(['completed', 'The model gave its answer'])
  })
})

describe('a garbage answer of a person', () => {
  const asks: Permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) }

  test('allows nothing while the run waits for it', async () => {
    for (const [, make] of garbage) {
      const going = begin(script(), { tools, permissions: asks, onAsk: 'wait' })
      const keys = () => going.events.flatMap((event) => (event.type === 'approval_needed' ? [event.key ?? ''] : []))
      for (const count of [1, 2]) {
        await until(() => keys().length === count)
        const key = keys()[count - 1] ?? ''
        expect(() => going.loop.answer(key, untyped(make()))).toThrow('An answer is ')
        going.loop.answer(key, { behavior: 'deny', message: 'no' })
      }
      const result = await going.end()
      expect([result.terminal.reason, Object.values(toolEnds(result))]).toEqual(['completed', ['denied', 'denied']])
      expectRecorded(result)
    }
  })

  test('allows nothing when the run continues with it', async () => {
    for (const [, make] of garbage) {
      const waiting = await begin([calls('Write')], { tools, permissions: asks }).end()
      const approvals = { call_0_0: untyped(make()) as PermissionDecision }
      const { transcript } = waiting.state
      const resumeWithAnswer = async (): Promise<string> => {
        const start = { approvals, transcript, runId: 'run2' }
        return (await begin(['done'], { tools, permissions: asks }, start).end()).terminal.reason
      }
      const endingOrError = await resumeWithAnswer().catch((error: Error) => error.message)
      expect(endingOrError).toContain(make() === undefined ? 'needs_approval' : 'An answer is ')
    }
  })

  test('with a garbage input is checked, and recorded as JSON', async () => {
    for (const [, make] of garbage) {
      const permissions: Permissions = {
        denies: () => undefined,
        decide: () => ({ behavior: 'allow', updatedInput: make() }),
      }
      const result = await runWith({ permissions })
      expect(result.terminal.reason).toBe('completed')
      expectRecorded(result)
    }
  })
})

test('with a garbage message is shown as text', async () => {
  for (const [, make] of garbage) {
    const going = begin(['first', 'second', 'third'], {})
    going.loop.steer(untyped(make()))
    going.loop.followUp(untyped([make()]))
    const result = await going.end()
    expect(result.terminal.reason).toBe('completed')
    expect(transcriptProblems(result.messages)).toEqual([])
    expectRecorded(result)
  }
})

test('keeps a circular value of a hook out of the record', async () => {
  const result = await runWith({
    hooks: [hook('beforeStep', (context) => context.withState(context.state().withMetadata('odd', untyped(circle()))))],
  })
  expect(result.state.spent.metadata).toEqual({ odd: { self: '[circular]' } })
})

test('rejects a compaction to a conversation that the service would refuse', async () => {
  const refused: readonly (readonly [messages: unknown, problem: string])[] = [
    [[], 'the list is empty'],
    ['all of it', 'invalid result'],
    [[{ role: 'assistant', content: [{ type: 'text', text: 'hello' }] }], 'the first message is not from the user'],
    [[{ role: 'user', content: [{ type: 'text' }] }], 'text'],
    [[{ role: 'user', content: 'hello' }, { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'X', input: {} }] }], 'without a result'],
  ] // prettier-ignore
  for (const [messages, problem] of refused) {
    const context: ContextManager = {
      ...plainContext,
      autoCompact: true,
      beforeRequest: () => ({
        trigger: 'auto',
        run: async () => untyped({ kind: 'compacted', messages, preTokens: Number.NaN, postTokens: -1 }),
      }),
    }
    const result = await begin(['done'], { context }).end()
    const endMessages = result.events.flatMap((event) => (event.type === 'compact_end' ? [event.message] : []))
    expect([result.terminal.reason, endMessages]).toEqual(['completed', [expect.stringContaining(problem)]])
  }
})

test('rejects a malformed question of a compaction, which continues', async () => {
  for (const [, make] of garbage) {
    const replies: string[] = []
    const context: ContextManager = {
      ...plainContext,
      autoCompact: true,
      beforeRequest: () => ({
        trigger: 'auto',
        run: async ({ ask }) => {
          replies.push((await ask(untyped(make()))).kind)
          return { kind: 'gave_up', message: 'nothing to ask' }
        },
      }),
    }
    const result = await begin(['done'], { context }).end()
    expect([result.terminal.reason, replies]).toEqual(['completed', ['failed']])
  }
})

test('makes the fields of a signal texts, whatever it was made from', () => {
  for (const [, make] of garbage) {
    const signal = new StopSignal({ reason: 'error', message: untyped(make()), source: untyped(make()) })
    expect([typeof signal.message, signal.source === null || typeof signal.source === 'string']).toEqual([
      'string',
      true,
    ])
  }
})

test.each(garbage)('a reply that was cut is recorded as JSON, whatever it streamed: %s', async (_what, make) => {
  const controller = new AbortController()
  const model: Model = {
    ...scriptedModel([]),
    call(_request, options) {
      const emit = (update: ModelUpdate) => options.emit(update)
      emit({ type: 'block', index: 0, block: { type: 'text', text: 'so' }, messageId: untyped(make()) })
      emit({ type: 'text_delta', index: 1, text: untyped(make()) })
      emit({ type: 'thinking_delta', index: 1, text: untyped(make()) })
      emit({ type: 'text_delta', index: 1, text: 'far' })
      emit(untyped({ type: 'odd', at: make() }))
      controller.abort()
      return new Promise(() => {})
    },
  }
  const result = await begin([], { model, signal: controller.signal }).end()
  expect(result.terminal.reason).toBe('aborted_streaming')
  expectRecorded(result)
  const assistantMessages = result.state.transcript
    .toJSON()
    .flatMap((entry) => (entry.kind === 'assistant' ? [entry.message] : []))
  const garbageValue = make()
  const text = isText(garbageValue) ? `${String(garbageValue)}far` : 'far'
  expect(assistantMessages.map(({ id, content }) => [typeof id, content])).toEqual([
    [
      'string',
      [
        { type: 'text', text: 'so' },
        { type: 'text', text },
      ],
    ],
  ])
  for (const { event } of result.events.flatMap((each) => (each.type === 'model_update' ? [{ event: each }] : [])))
    expect(json(event)).toEqual(event)
})
