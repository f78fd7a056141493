// Tests R-SET-1 to R-SET-10.
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  createMemorySteps,
  replay,
  resume,
  type AgentTool,
  type RunEvent,
  type Model,
  type ModelRequest,
  type PermissionRequest,
  type Permissions,
  type SettingsChange,
  type StepRecord,
} from '../../src/index.ts'
import { TokenUsageLimitHook } from '../../src/compat/index.ts'
import { foldRun } from '../../src/entries/steps.ts'
import {
  createFakeClock,
  scriptedModel,
  type FakeClock,
  type ScriptedModel,
  type ScriptedReply,
} from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hook,
  json,
  reader,
  resultTexts,
  tool,
  type RunTestOptions,
  type RunningRun,
  type Run,
  isLive,
} from '../support/harness.ts'

const tools = [reader('Look')]

const settingsOf = (events: readonly RunEvent[]): readonly SettingsChange[] =>
  events.flatMap((event) => (event.type === 'settings' ? [event.change] : []))

const onRecord = (records: readonly StepRecord[]): readonly (readonly [key: string, change: SettingsChange])[] =>
  records.flatMap((record) =>
    record.type === 'control' && record.control.settings !== undefined
      ? [[record.key, record.control.settings] as const]
      : [],
  )

/** Calls a tool in every turn up to the last. In the given turns, something is done when the reply is written. */
function turns(last: number, during: { readonly [turn: number]: () => unknown } = {}) {
  return ({ messages }: Pick<ModelRequest, 'messages'>): ScriptedReply => {
    const turn = messages.filter(({ role }) => role === 'assistant').length + 1
    const reply = turn >= last ? { text: 'done' } : calls('Look')
    const what = during[turn]
    return what === undefined ? reply : { ...reply, before: () => void what() }
  }
}

/** A run whose own model changes settings during the run. */
function beginChanged(
  last: number,
  during: { readonly [turn: number]: (going: RunningRun) => unknown },
  overrides: RunTestOptions = {},
): RunningRun {
  const script = turns(
    last,
    Object.fromEntries(Object.entries(during).map(([turn, what]) => [turn, (): unknown => what(going)])),
  )
  const going: RunningRun = begin(script, { tools, ...overrides })
  return going
}

/** The record as another process would read it, up to and including the n-th matching record. */
function cut(records: readonly StepRecord[], fits: (record: StepRecord) => boolean, more = 0): readonly StepRecord[] {
  const index = records.findIndex(fits)
  if (index < 0) throw new Error('There is no such record.')
  return records.slice(0, index + 1 + more).map((record) => json(record) as unknown as StepRecord)
}

const isSettings = (record: StepRecord): boolean => record.type === 'control' && record.control.settings !== undefined

describe('a setting that is changed during the run', () => {
  test('is recorded and reported, and applies from the next request on', async () => {
    const script = turns(3, { 1: () => going.loop.set({ thinking: { type: 'enabled', budgetTokens: 2_000 } }) })
    const going = begin(script, { tools, thinking: { type: 'adaptive' } })
    const { events, steps, model } = await going.end()
    const change = { thinking: { type: 'enabled', budgetTokens: 2_000 } }
    expect(onRecord(steps.records)).toEqual([['run1/control:after_reply:1', change]])
    expect(settingsOf(events)).toEqual([change])
    expect(model.requests.map(({ thinking }) => thinking)).toEqual([
      { type: 'adaptive' },
      { type: 'enabled', budgetTokens: 2_000 },
      { type: 'enabled', budgetTokens: 2_000 },
    ])
  })

  test('is one record when it is set several times before it is taken; the last value counts', async () => {
    const going = beginChanged(2, {
      1: ({ loop }) => {
        loop.set({ thinking: { type: 'disabled' }, limits: { maxTurns: 7, maxTotalTokens: 9_000 } })
        loop.set({ limits: { maxTurns: 8 } })
      },
    })
    const { steps } = await going.end()
    expect(onRecord(steps.records).map(([, change]) => change)).toEqual([
      { thinking: { type: 'disabled' }, limits: { maxTurns: 8, maxTotalTokens: 9_000 } },
    ])
  })

  test('applies from the first request when it is set before the run', async () => {
    const going = begin(turns(1), { tools })
    going.loop.set({ thinking: { type: 'adaptive' } })
    const { model, steps } = await going.end()
    expect(model.requests.map(({ thinking }) => thinking)).toEqual([{ type: 'adaptive' }])
    expect(onRecord(steps.records).map(([key]) => key)).toEqual(['run1/control:before_turn:1'])
  })

  test('returns to the value of the options with null', async () => {
    const going = beginChanged(3, {
      1: ({ loop }) => loop.set({ thinking: { type: 'disabled' } }),
      2: ({ loop }) => loop.set({ thinking: null }),
    })
    const { model } = await going.end()
    expect(model.requests.map(({ thinking }) => thinking)).toEqual([undefined, { type: 'disabled' }, undefined])
  })
})

describe('a model', () => {
  /** Three models with one script, each of which shows that it was asked. */
  function three(script: Parameters<typeof scriptedModel>[0]) {
    const asked: string[] = []
    const named = (id: string): ScriptedModel =>
      scriptedModel(
        (request, index) => {
          asked.push(id)
          return typeof script === 'function' ? script(request, index) : (script[index] ?? 'done')
        },
        { id },
      )
    return { asked, first: named('first'), second: named('second'), spare: named('spare') }
  }

  test('of the options is asked from the next request on, and the first one again after null', async () => {
    const script = turns(4, {
      1: () => going.loop.set({ model: 'second' }),
      3: () => going.loop.set({ model: null }),
    })
    const { asked, first, second } = three(script)
    const going = begin([], { tools, model: first, models: [second] })
    const { state } = await going.end()
    expect(asked).toEqual(['first', 'second', 'second', 'first'])
    expect(Object.keys(state.spent.modelUsage)).toEqual(['first', 'second'])
  })

  test('overrides the fallback when set after it took over; one set earlier falls back like any other', async () => {
    const overloaded: ScriptedReply = { error: { kind: 'overloaded', message: 'too many', status: 529 } }
    const isFallback = ({ events }: Pick<Run, 'events'>): boolean =>
      events.some((event) => event.type === 'lap' && event.transition === 'model_fallback')
    for (const [when, expected] of [
      [1, ['first', 'second', 'second', 'second', 'spare']],
      [2, ['first', 'first', 'first', 'spare', 'spare', 'second']],
    ] as const) {
      const { asked, first, second, spare } = three((request) => {
        const turn = request.messages.filter(({ role }) => role === 'assistant').length + 1
        const name = asked.at(-1)
        if (when === 1) {
          if (turn === 1) return { ...calls('Look'), before: () => going.loop.set({ model: 'second' }) }
          return name === 'spare' ? 'done' : overloaded
        }
        if (name === 'first') return overloaded
        if (turn === 2) return { ...calls('Look'), before: () => going.loop.set({ model: 'second' }) }
        return name === 'spare' ? calls('Look') : 'done'
      })
      const going = begin([], { tools, model: first, models: [second], fallbackModel: spare })
      const ended = await going.end()
      expect([isFallback(ended), asked]).toEqual([true, expected])
      const replayed = await replay(ended.steps.records, {
        tools,
        model: first,
        models: [second],
        fallbackModel: spare,
      })
      expect(replayed.terminal.reason).toBe('completed')
    }
  })

  test('counts in its own tokens: the count of the other is not used for reservations', async () => {
    const script = turns(3, { 1: () => going.loop.set({ model: 'second' }) })
    const { first, second } = three(script)
    const going = begin([], {
      tools,
      model: first,
      models: [second],
      maxTotalTokens: 500_000,
      system: 'x'.repeat(5_000),
    })
    const { steps } = await going.end()
    const reserved = steps.records.flatMap((record) =>
      record.type === 'intent' && record.key.includes('model:') ? [(record.intent as { tokens: number }).tokens] : [],
    )
    // The second request is bounded by bytes again; the third by the count of the second model.
    expect(reserved.map((tokens) => tokens > 69_000)).toEqual([true, true, false])
  })

  test('that is not in the options is an error at once, and changes nothing', async () => {
    const errors: unknown[] = []
    const going = beginChanged(3, {
      1: ({ loop }) => {
        try {
          loop.set({ model: 'nobody', thinking: { type: 'disabled' } })
        } catch (error) {
          errors.push(error)
        }
      },
    })
    const { steps, model } = await going.end()
    expect(errors).toEqual([
      new ConfigurationError('Unknown model nobody. Known models: scripted. Add it to the option models.'),
    ])
    expect([onRecord(steps.records), model.requests.map(({ thinking }) => thinking)]).toEqual([
      [],
      [undefined, undefined, undefined],
    ])
  })

  test('must be named by its id', () => {
    const model = scriptedModel([])
    expect(() => begin([], { model, models: [scriptedModel([])] })).toThrow(
      'Two models have the id scripted. Ids must be unique.',
    )
    expect(() => begin([], { model, models: [model] })).not.toThrow()
  })
})

describe('a permission mode', () => {
  /** Rules with two modes that allow calls in one of them. */
  function ruled(): { readonly permissions: Permissions; readonly modes: (string | undefined)[] } {
    const modes: (string | undefined)[] = []
    const behavior = ({ mode }: PermissionRequest) =>
      mode === 'open' ? ({ behavior: 'allow' } as const) : ({ behavior: 'deny', message: 'closed' } as const)
    return {
      modes,
      permissions: {
        modes: ['open', 'closed'],
        denies: () => undefined,
        decide(request) {
          modes.push(request.mode)
          return behavior(request)
        },
      },
    }
  }
  const write = tool('Look')

  test('is passed to the rules with every call from then on', async () => {
    const { permissions, modes } = ruled()
    const going = beginChanged(
      4,
      { 2: ({ loop }) => loop.set({ permissionMode: 'open' }), 3: ({ loop }) => loop.set({ permissionMode: null }) },
      { tools: [write], permissions },
    )
    const { state } = await going.end()
    expect(modes).toEqual([undefined, 'open', undefined])
    expect(resultTexts({ state })).toEqual([expect.stringContaining('closed'), 'ok', expect.stringContaining('closed')])
  })

  test('that the rules do not know is an error at once, and so is one for rules without modes', () => {
    const { permissions } = ruled()
    expect(() => begin([], { permissions }).loop.set({ permissionMode: 'ajar' })).toThrow(
      'Unknown permission mode ajar: there are open, closed.',
    )
    expect(() => begin([]).loop.set({ permissionMode: 'open' })).toThrow(
      'Unknown permission mode open: these permissions have none.',
    )
  })
})

describe('a limit', () => {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const paid = { prices: dollarATokenPrices, maxBudgetUsd: 1_000_000 }

  test('on turns that is raised lets the run continue', async () => {
    const going = beginChanged(6, { 1: ({ loop }) => loop.set({ limits: { maxTurns: 10 } }) }, { maxTurns: 2 })
    const { terminal, events } = await going.end()
    expect([terminal.reason, terminal.summary.turns]).toEqual(['completed', 6])
    const rankings = events.flatMap((event) => (event.type === 'lap' ? [[event.before[0], event.after[0]]] : []))
    expect(rankings).toEqual([
      [9, 8],
      [8, 7],
      [7, 6],
      [6, 5],
      [5, 4],
    ])
  })

  test('on turns that is lowered ends the run under that limit, at that many turns', async () => {
    const going = beginChanged(9, { 2: ({ loop }) => loop.set({ limits: { maxTurns: 3 } }) }, { maxTurns: 50 })
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.summary.turns, terminal.signal.message]).toEqual([
      'max_turns',
      3,
      'Reached maximum number of turns (3)',
    ])
  })

  test.each([
    ['turns', { maxTurns: 1 }, 'max_turns'],
    ['dollars', { maxBudgetUsd: 0.5 }, 'max_budget_usd'],
    ['tokens', { maxTotalTokens: 5 }, 'token_limit'],
    ['time', { maxDurationMs: 3_000 }, 'time_limit'],
  ] as const)(
    'on %s that is lowered below the spent amount ends the run at the next cancellation point',
    async (_what, limits, reason) => {
      const clock = createFakeClock({ autoAdvance: true })
      // In the third turn a tool runs, and time passes.
      const work = reader('Look', async () => {
        await new Promise<void>((resolve) => void clock.after(2_000, resolve))
        if (going.events.filter(({ type }) => type === 'turn_start').length === 3) going.loop.set({ limits })
        return 'looked'
      })
      const script = turns(9)
      const going = begin((request) => ({ ...(script(request) as object), usage }), { tools: [work], clock, ...paid })
      const { terminal, model, transitions } = await going.end()
      expect([terminal.reason, model.requests.length, transitions]).toEqual([reason, 3, ['next_turn', 'next_turn']])
      expect(terminal.signal.context['limit']).toBe(Object.values(limits)[0])
    },
  )

  test('on turns that is lowered after a turn was granted ends the run before the turn', async () => {
    const lower = hook('afterStep', () => {
      if (going.model.requests.length === 2) going.loop.set({ limits: { maxTurns: 1 } })
    })
    const going = begin(turns(9), { tools, hooks: [lower] })
    const { terminal, model } = await going.end()
    expect([terminal.reason, terminal.signal.context, model.requests.length]).toEqual([
      'max_turns',
      { used: 2, limit: 1, turnCount: 3 },
      2,
    ])
  })

  test('of dollars is enforced by the ledger: no unaffordable request is made', async () => {
    const script = turns(9, { 2: () => going.loop.set({ limits: { maxBudgetUsd: 1_100 } }) })
    const going = begin((request) => ({ ...(script(request) as object), usage }), { tools, ...paid })
    const { terminal, model, steps } = await going.end()
    const capped = model.requests.map(({ maxOutputTokens }) => maxOutputTokens)
    expect(capped.slice(0, 2)).toEqual([64_000, 64_000])
    expect([terminal.reason, terminal.committedUsd <= 1_100, model.requests.length]).toEqual([
      'max_budget_usd',
      true,
      2,
    ])
    const folded = foldRun(cut(steps.records, isSettings))
    expect(folded.spent.settled.tokens).toBe(4)
  })

  test('of a run without limits counts what was spent before', async () => {
    const script = turns(9, { 3: () => going.loop.set({ limits: { maxTotalTokens: 70_000 } }) })
    const going = begin(
      (request) => ({ ...(script(request) as object), usage: { input_tokens: 20_000, output_tokens: 1_000 } }),
      { tools },
    )
    const { terminal, model } = await going.end()
    // 63,000 are spent when it is set: 7,000 are left, and the next prompt alone is bounded by more.
    expect([terminal.reason, terminal.signal.context['used'], model.requests.length]).toEqual([
      'token_limit',
      63_000,
      3,
    ])
  })

  test('on time that is raised moves the deadline, and one that is lowered is enforced', async () => {
    const timed = async (limits: NonNullable<SettingsChange['limits']>) => {
      const clock = createFakeClock({ autoAdvance: true })
      const work = reader('Look', async (_input, { signal }) => {
        await new Promise<void>((resolve) => {
          const stop = clock.after(4_000, resolve)
          signal.addEventListener('abort', () => (stop(), resolve()))
        })
        return 'looked'
      })
      const script = turns(4, { 1: () => going.loop.set({ limits }) })
      const going: RunningRun = begin(script, { tools: [work], clock, maxDurationMs: 10_000 })
      const { terminal } = await going.end()
      return [terminal.reason, terminal.durationMs, terminal.signal.context['limitMs']]
    }
    expect(await timed({ maxDurationMs: 30_000 })).toEqual(['completed', 12_000, undefined])
    expect(await timed({ maxDurationMs: null })).toEqual(['completed', 12_000, undefined])
    expect(await timed({ maxDurationMs: 6_000 })).toEqual(['time_limit', 6_000, 6_000])
  })

  test('on time that is lowered below the used time ends the run even after the model has answered', async () => {
    const clock = createFakeClock()
    const answer = async (): Promise<void> => {
      await clock.advance(5_000)
      going.loop.set({ limits: { maxDurationMs: 4_000 } })
    }
    const going: RunningRun = begin([{ text: 'done', before: answer }], { clock })
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 5_000])
  })

  test('that a guard sets remains, and the ledger enforces it: the guard would stop the run there anyway', async () => {
    const script = turns(9, { 1: () => going.loop.set({ limits: { maxTotalTokens: 900_000 } }) })
    const large = { input_tokens: 60_000, output_tokens: 1_000 }
    const going = begin((request) => ({ ...(script(request) as object), usage: large }), {
      tools,
      stopWhen: new TokenUsageLimitHook(130_000),
    })
    const { terminal, model, state } = await going.end()
    expect([terminal.reason, model.requests.length, state.spent.totalTokens]).toEqual(['token_limit', 2, 122_000])
  })

  test('that is invalid or unenforceable is an error at once', () => {
    const { loop } = begin([])
    const message = (limits: NonNullable<SettingsChange['limits']>): string => {
      try {
        loop.set({ limits })
        return 'nothing'
      } catch (error) {
        return error instanceof ConfigurationError ? error.message : 'something else'
      }
    }
    expect([
      message({ maxTurns: 0 }),
      message({ maxTurns: 1.5 }),
      message({ maxTotalTokens: -1 }),
      message({ maxDurationMs: Number.NaN }),
      message({ maxBudgetUsd: 1 }),
      message({ maxTurns: Infinity, maxTotalTokens: null }),
    ]).toEqual([
      'maxTurns must be above 0, but it is 0. Set null for no limit.',
      'maxTurns must be a whole number of at least 1, but it is 1.5.',
      'maxTotalTokens must be above 0, but it is -1. Set null for no limit.',
      'maxDurationMs must be above 0, but it is NaN. Set null for no limit.',
      expect.stringContaining(
        'There is no price for scripted, so a dollar budget cannot be enforced. Pass it as prices: ',
      ),
      'nothing',
    ])
  })

  test.each<[what: string, change: unknown]>([
    ['nothing', null],
    ['a text', 'faster'],
    ['invalid limits', { limits: null }],
    ['a limit that is a text', { limits: { maxTurns: '5' } }],
    ['a limit that is true', { limits: { maxTotalTokens: true } }],
    ['a limit that is a list', { limits: { maxDurationMs: [3] } }],
    ['a mode that is a number', { permissionMode: 5 }],
    ['a model that is a number', { model: 5 }],
    ['thinking that is a text', { thinking: 'hard' }],
    ['thinking of an unknown type', { thinking: { type: 'hard' } }],
    ['thinking without a number', { thinking: { type: 'enabled' } }],
  ])('garbage is an error at once, too: %s', async (_what, change) => {
    const permissions: Permissions = { modes: ['plan'], denies: () => undefined, decide: () => ({ behavior: 'allow' }) }
    const going = begin(['done'], { permissions })
    // Plain JavaScript code can pass any value.
    expect(() => going.loop.set(change as SettingsChange)).toThrow(ConfigurationError)
    expect(settingsOf((await going.end()).events)).toEqual([])
  })

  test('records thinking as it was when it was set', async () => {
    const thinking = { type: 'enabled' as const, budgetTokens: 2_000 }
    const going = begin(['done'])
    going.loop.set({ thinking })
    thinking.budgetTokens = 9_000
    const { model, steps } = await going.end()
    expect(model.requests[0]?.thinking).toEqual({ type: 'enabled', budgetTokens: 2_000 })
    expect(onRecord(steps.records)[0]?.[1]).toEqual({ thinking: { type: 'enabled', budgetTokens: 2_000 } })
  })

  test('rejects a dollar limit with a model without a price, also when both are not yet taken', () => {
    const free = scriptedModel([], { id: 'free' })
    const prices = {
      cost: (model: string) => (model === 'free' ? undefined : 1),
      worstCase: (model: string) => (model === 'free' ? undefined : 1),
    }
    const { loop } = begin([], { prices, models: [free] })
    loop.set({ limits: { maxBudgetUsd: 5 } })
    expect(() => loop.set({ model: 'free' })).toThrow('There is no price for free')
  })
})

describe('a subagent', () => {
  const agent: AgentTool = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'sub' }),
  }

  test('continues with the settings it began with', async () => {
    const modes: (string | undefined)[] = []
    const permissions: Permissions = {
      modes: ['open', 'closed'],
      denies: () => undefined,
      decide: ({ mode }) => (modes.push(mode), { behavior: 'allow' }),
    }
    const set = (change: SettingsChange) => (): void => going.loop.set(change)
    const script = ({ messages }: ModelRequest): ScriptedReply => {
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1
      if (messages[0]?.content !== 'sub') {
        if (turn === 1) return { ...calls('Look'), before: set({ permissionMode: 'open' }) }
        return turn < 4 ? calls(turn === 2 ? 'Agent' : 'Look') : 'done'
      }
      if (turn === 1) return { ...calls('Look'), before: set({ permissionMode: 'closed' }) }
      return turn < 3 ? calls('Look') : 'found'
    }
    const going = begin(script, { tools: [agent, tool('Look')], permissions })
    await going.end()
    // The main loop looks and calls the agent, which looks twice. New settings apply to the main loop only.
    expect(modes).toEqual(['open', 'open', 'open', 'open', 'closed'])
  })
})

describe('over a crash', () => {
  const options = (models: readonly Model[], more: RunTestOptions = {}) => ({
    model: models[0]!,
    models: models.slice(1),
    tools,
    clock: createFakeClock({ autoAdvance: true }),
    ...more,
  })
  const two = (script: Parameters<typeof scriptedModel>[0]) => [
    scriptedModel(script, { id: 'first' }),
    scriptedModel(script, { id: 'second' }),
  ]
  const change: SettingsChange = {
    model: 'second',
    thinking: { type: 'adaptive' },
    limits: { maxTurns: 5, maxTotalTokens: 400_000 },
  }

  async function whole(): Promise<Run> {
    const going: RunningRun = begin([], options(two(turns(9, { 2: () => going.loop.set(change) })), { maxTurns: 3 }))
    return going.end()
  }

  test('a resume after any record ends the same', async () => {
    const { steps, terminal } = await whole()
    expect([terminal.reason, terminal.summary.turns]).toEqual(['max_turns', 5])
    const from = steps.records.findIndex(isSettings) + 1
    for (let length = from; length < steps.records.length; length++) {
      const records = steps.records.slice(0, length).map((record) => json(record) as unknown as StepRecord)
      const models = two(turns(9))
      const resumed = resume(records, options(models, { maxTurns: 3 }))
      const { reason, summary } = await resumed.loop.result
      const asked = models.map(({ requests }) => requests.every(({ thinking }) => thinking?.type === 'adaptive'))
      expect([length, reason, summary.turns, models[0]!.requests.length, asked]).toEqual([
        length,
        'max_turns',
        5,
        0,
        [true, true],
      ])
    }
  })

  test('limits that were set in a past turn apply: dollars and tokens on the ledger, time on the clock', async () => {
    const work = (clock: FakeClock) =>
      reader('Look', async (_input, { signal }) => {
        await new Promise<void>((resolve) => {
          const stop = clock.after(4_000, resolve)
          signal.addEventListener('abort', () => (stop(), resolve()))
        })
        return 'looked'
      })
    const runOptions = () => {
      const clock = createFakeClock({ autoAdvance: true })
      return { clock, tools: [work(clock)] }
    }
    const usage = { input_tokens: 20_000, output_tokens: 1_000 }
    for (const [limits, reason, requests] of [
      [{ maxTotalTokens: 130_000 }, 'token_limit', 6],
      [{ maxDurationMs: 14_000 }, 'time_limit', 4],
    ] as const) {
      const script = turns(9, { 1: () => going.loop.set({ limits }) })
      const going = begin((request) => ({ ...(script(request) as object), usage }), runOptions())
      const { steps, terminal, model } = await going.end()
      expect([terminal.reason, model.requests.length]).toEqual([reason, requests])
      const records = cut(steps.records, (record) => record.type === 'lap' && record.lap.spent.request === 3)
      const again = scriptedModel((request) => ({ ...(turns(9)(request) as object), usage }))
      const resumed = await resume(records, { model: again, ...runOptions() }).loop.result
      expect([resumed.reason, resumed.durationMs, again.requests.length]).toEqual([
        reason,
        terminal.durationMs,
        requests - 2,
      ])
    }
  })

  test('a longer time limit set in the open turn applies to all of that turn', async () => {
    const clock = createFakeClock()
    const slow = tool('Slow', async () => {
      await clock.advance(5_000)
      return 'slow'
    })
    const answer = async (): Promise<void> => {
      await clock.advance(8_000)
      going.loop.set({ limits: { maxDurationMs: 20_000 } })
    }
    const runOptions = { tools: [slow], maxDurationMs: 10_000 }
    const going: RunningRun = begin([{ ...calls('Slow'), before: answer }, 'done'], { ...runOptions, clock })
    const { steps } = await going.end()
    // 13 s are on record, in a turn that began with a limit of 10 s.
    const records = cut(steps.records, (record) => record.type === 'result' && record.key.startsWith('run1/tool:'))
    const again = { model: scriptedModel(['done']), clock: createFakeClock({ start: 1_000_000 }), ...runOptions }
    const { reason, durationMs } = await resume(records, again).loop.result
    expect([reason, durationMs]).toEqual(['completed', 13_000])
  })

  test('a replay has the same events', async () => {
    const { steps, events, terminal } = await whole()
    const replayed = await replay(steps.records, options(two([]), { maxTurns: 3 }))
    expect(json(replayed.events)).toEqual(json(events.filter((event) => !isLive(event))))
    expect(json(replayed.terminal)).toEqual(json(terminal))
  })

  test.each([
    ['in the open turn', 0],
    ['in a past turn', 8],
  ])('a model that was chosen %s and no longer exists is an error before anything is written', async (_when, more) => {
    const { steps } = await whole()
    const records = cut(steps.records, isSettings, more)
    const message = 'Unknown model second. Known models: first. Add it to the option models.'
    const written: StepRecord[] = []
    const alone = {
      ...options(two([]).slice(0, 1)),
      steps: createMemorySteps({ onRecord: (each) => written.push(each) }),
    }
    expect(() => resume(records, alone)).toThrow(new ConfigurationError(message))
    await expect(replay(steps.records, alone)).rejects.toThrow(new ConfigurationError(message))
    expect(written).toEqual([])
  })

  test('a setting after a resume is validated against the recorded settings', async () => {
    const { steps } = await whole()
    const { loop } = resume(cut(steps.records, isSettings), options(two(turns(9))))
    // Only the record limits the tokens.
    const endless = { ...scriptedModel([], { id: 'endless' }), maxServerToolUses: Infinity }
    const other = resume(cut(steps.records, isSettings), options([...two(turns(9)), endless]))
    expect(() => other.loop.set({ model: 'endless' })).toThrow('so a budget cannot be enforced')
    loop.abort()
    other.loop.abort()
    await Promise.all([loop.result, other.loop.result])
  })
})
