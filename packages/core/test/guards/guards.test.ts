import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AgentStopException,
  all,
  any,
  costLimit,
  finishReason,
  noProgress,
  not,
  stepLimit,
  StopSignal,
  timeLimit,
  tokenLimit,
  type AgentTool,
  type Guard,
  type GuardView,
  type StopCategory,
  type Tool,
} from '../../src/index.ts'
import {
  CostLimitHook,
  ExecutionTimeLimitHook,
  FinishReasonHook,
  StepsLimitHook,
  TokenUsageLimitHook,
} from '../../src/compat/index.ts'
import { nearestCycle } from '../../src/limits/recent-turns.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, hook, json, reader, run, tool, type RunTestOptions } from '../support/harness.ts'

const view = (parts: Partial<GuardView> = {}): GuardView => ({
  checkpoint: 'after_tools',
  steps: 0,
  usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  totalTokens: 0,
  costUsd: 0,
  activeMs: 0,
  finishReason: null,
  recentTurns: [],
  lastCalls: [],
  ...parts,
})

describe('guards of limits (spec R-GUARD-2 to R-GUARD-5) report the used amount and the limit', () => {
  test.each([
    [
      new StepsLimitHook(10),
      { steps: 10 },
      {
        reason: 'steps_limit',
        message: 'Step limit reached: 10/10',
        context: { currentSteps: 10, maxSteps: 10, used: 10, limit: 10 },
        source: 'StepsLimitHook',
      },
    ],
    [
      new TokenUsageLimitHook(100),
      { totalTokens: 120 },
      {
        reason: 'token_limit',
        message: 'Token limit reached: 120/100',
        context: { totalTokens: 120, maxTokens: 100, used: 120, limit: 100 },
        source: 'TokenUsageLimitHook',
      },
    ],
    [
      new ExecutionTimeLimitHook(60),
      { activeMs: 61_000 },
      {
        reason: 'time_limit',
        message: 'Time limit reached: 61/60 s',
        context: { usedMs: 61_000, limitMs: 60_000, used: 61_000, limit: 60_000 },
        source: 'ExecutionTimeLimitHook',
      },
    ],
    [
      new CostLimitHook(2.5),
      { costUsd: 2.5 },
      {
        reason: 'cost_limit',
        message: 'Reached maximum budget ($2.5)',
        context: { usedUsd: 2.5, limitUsd: 2.5, used: 2.5, limit: 2.5 },
        source: 'CostLimitHook',
      },
    ],
    [
      new FinishReasonHook(['stop_sequence']),
      { finishReason: 'stop_sequence' },
      {
        reason: 'finish_reason',
        message: 'Finish reason received: stop_sequence',
        context: { finishReason: 'stop_sequence' },
        source: 'FinishReasonHook',
      },
    ],
  ] as const)('%o', (guard, at, signal) => {
    expect(guard.evaluate(view())).toBeUndefined()
    expect(guard.evaluate(view(at))?.toJSON()).toEqual(signal)
  })
})

describe('combinators', () => {
  const says = (name: string, reason: StopCategory): Guard => ({
    name,
    evaluate: () => new StopSignal({ reason, message: name }),
  })
  const silent: Guard = { name: 'silent', evaluate: () => undefined }

  test('any stops when one does, with the most urgent signal', () => {
    const guard = any(says('time', 'time_limit'), silent, says('steps', 'steps_limit'))
    expect([guard.name, guard.evaluate(view())?.message]).toEqual(['any(time, silent, steps)', 'steps'])
    expect([any(silent).evaluate(view()), any().evaluate(view())]).toEqual([undefined, undefined])
  })

  test('all stops when every one does, and names all of them', () => {
    const guard = all(says('time', 'time_limit'), says('steps', 'steps_limit'))
    expect(guard.evaluate(view())?.toJSON()).toEqual({
      reason: 'steps_limit',
      message: 'time and steps',
      context: {
        all: [
          says('time', 'time_limit').evaluate(view())?.toJSON(),
          says('steps', 'steps_limit').evaluate(view())?.toJSON(),
        ],
      },
      source: 'all(time, steps)',
    })
    expect([all(says('time', 'time_limit'), silent).evaluate(view()), all().evaluate(view())]).toEqual([
      undefined,
      undefined,
    ])
  })

  test('not stops when the other would not', () => {
    expect(not(silent).evaluate(view())?.toJSON()).toEqual({
      reason: 'stop_requested',
      message: 'silent does not hold',
      context: {},
      source: 'not(silent)',
    })
    expect(not(says('time', 'time_limit')).evaluate(view())).toBeUndefined()
  })

  test('passes bounds on only in any: neither all nor not bounds anything', () => {
    const [five, nine] = [new StepsLimitHook(5), new StepsLimitHook(9)]
    expect([any(five, nine, new TokenUsageLimitHook(7)).bounds, all(five, nine).bounds, not(five).bounds]).toEqual([
      { turns: 5, tokens: 7 },
      undefined,
      undefined,
    ])
  })

  test('agree with and, or and not, for any values', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1 }), (values) => {
        const guards = values.map((value, index) => (value ? says(`g${index}`, 'time_limit') : silent))
        expect(any(...guards).evaluate(view()) !== undefined).toBe(values.includes(true))
        expect(all(...guards).evaluate(view()) !== undefined).toBe(!values.includes(false))
        for (const [index, guard] of guards.entries())
          expect(not(guard).evaluate(view()) === undefined).toBe(values[index])
      }),
    )
  })

  test('stop a run when all hold, and not before', async () => {
    const stopWhen = all(new StepsLimitHook(2), new TokenUsageLimitHook(60))
    const { terminal, model } = await run(() => calls('Look'), { tools: [reader('Look')], stopWhen })
    expect([terminal.reason, model.requests.length, terminal.signal.message]).toEqual([
      'max_turns',
      4,
      'Step limit reached: 4/2 and Token limit reached: 60/60',
    ])
  })
})

describe('the short names make the guards of limits', () => {
  test.each([
    [stepLimit(3), new StepsLimitHook(3), { steps: 3 }],
    [tokenLimit(100), new TokenUsageLimitHook(100), { totalTokens: 100 }],
    [costLimit(2.5), new CostLimitHook(2.5), { costUsd: 2.5 }],
    [timeLimit(1_001), new ExecutionTimeLimitHook(1.001), { activeMs: 1_001 }],
    [
      finishReason('max_tokens', 'refusal'),
      new FinishReasonHook(['max_tokens', 'refusal']),
      { finishReason: 'refusal' },
    ],
  ] as const)('%o', (shortNamed, guard, at) => {
    expect(shortNamed).toBeInstanceOf(guard.constructor)
    expect([any(shortNamed).bounds, shortNamed.evaluate(view(at)), shortNamed.remaining(view(at))]).toEqual([
      any(guard).bounds,
      guard.evaluate(view(at)),
      guard.remaining(view(at)),
    ])
    expect(shortNamed.evaluate(view(at))).toBeInstanceOf(StopSignal)
  })

  test('and report what is wrong', () => {
    expect(() => timeLimit(0)).toThrow('ms must be above 0, but it is 0. Leave it out for no limit.')
    expect(timeLimit(1_001).bounds).toEqual({ ms: 1_001 })
  })

  test('stop a run', async () => {
    const { terminal } = await run(() => calls('Look'), {
      tools: [reader('Look')],
      stopWhen: [stepLimit(2), timeLimit(60_000)],
    })
    expect(terminal.signal.toJSON()).toMatchObject({ reason: 'steps_limit', message: 'Step limit reached: 2/2' })
  })
})

describe('a guard reports how close it is to firing', () => {
  test.each([
    [stepLimit(10), { steps: 4 }, { guard: 'StepsLimitHook', used: 4, limit: 10, unit: 'turns' }],
    [tokenLimit(100), { totalTokens: 120 }, { guard: 'TokenUsageLimitHook', used: 120, limit: 100, unit: 'tokens' }],
    [timeLimit(60_000), { activeMs: 1 }, { guard: 'ExecutionTimeLimitHook', used: 1, limit: 60_000, unit: 'ms' }],
    [costLimit(2), { costUsd: 0.5 }, { guard: 'CostLimitHook', used: 0.5, limit: 2, unit: 'usd' }],
    [finishReason('end_turn'), {}, { guard: 'FinishReasonHook', used: 0, limit: 1, unit: 'condition' }],
    [noProgress(), {}, { guard: 'noProgress', used: 0, limit: 5, unit: 'repeats' }],
    [noProgress(), { recentTurns: [9, 1, 2, 1, 2, 1, 2] }, { guard: 'noProgress', used: 3, limit: 5, unit: 'repeats' }],
    [stepLimit(Infinity), { steps: 4 }, undefined],
  ] as const)('%o at %o', (guard, at, expected) => {
    expect(guard.remaining?.(view(at))).toEqual(expected)
  })

  test('any: the nearest of those that report, all: the farthest if all report, not: whether it would fire', () => {
    const at = view({ steps: 9, totalTokens: 10 })
    const silent: Guard = { name: 'silent', evaluate: () => undefined }
    const [steps, tokens] = [stepLimit(10), tokenLimit(100)]
    const ofSteps = { guard: 'StepsLimitHook', used: 9, limit: 10, unit: 'turns' }
    const ofTokens = { guard: 'TokenUsageLimitHook', used: 10, limit: 100, unit: 'tokens' }
    expect(
      [any(tokens, steps, silent), all(steps, tokens), all(steps, silent), any(silent), any(), all()].map((guard) =>
        guard.remaining?.(at),
      ),
    ).toEqual([ofSteps, ofTokens, undefined, undefined, undefined, undefined])
    expect([not(steps), not(not(steps))].map((guard) => guard.remaining?.(at))).toEqual([
      { guard: 'not(StepsLimitHook)', used: 1, limit: 1, unit: 'condition' },
      { guard: 'not(not(StepsLimitHook))', used: 0, limit: 1, unit: 'condition' },
    ])
  })

  const figure = fc.integer({ min: 0, max: 6 })
  const views = fc
    .record({
      steps: figure,
      totalTokens: figure,
      costUsd: figure,
      activeMs: figure,
      finishReason: fc.constantFrom(null, 'end_turn', 'max_tokens'),
      recentTurns: fc.array(fc.constantFrom(1, 1, 1, 1, 2, -3), { maxLength: 25 }),
    })
    .map(view)
  const limit = fc.integer({ min: 1, max: 6 })
  const { guards } = fc.letrec<{ guards: Guard }>((tie) => ({
    guards: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(
        limit.map(stepLimit),
        limit.map(tokenLimit),
        limit.map(costLimit),
        limit.map(timeLimit),
        fc.constant(finishReason('end_turn')),
        fc.integer({ min: 2, max: 5 }).map((repeats) => noProgress({ repeats })),
      ),
      fc.array(tie('guards'), { minLength: 1, maxLength: 3 }).map((parts) => any(...parts)),
      fc.array(tie('guards'), { minLength: 1, maxLength: 3 }).map((parts) => all(...parts)),
      tie('guards').map(not),
    ),
  }))

  test('and fires exactly when its limit is used up, however it is composed; its report is JSON', () => {
    const seen = { fired: 0, silent: 0 }
    fc.assert(
      fc.property(guards, views, (guard, at) => {
        const remaining = guard.remaining?.(at)
        const fires = guard.evaluate(at) !== undefined
        seen[fires ? 'fired' : 'silent']++
        expect(json(remaining)).toEqual(remaining)
        expect(remaining !== undefined && remaining.used >= remaining.limit).toBe(fires)
      }),
      { numRuns: 1_000 },
    )
    expect([seen.fired > 100, seen.silent > 100]).toEqual([true, true])
  })
})

describe('no progress', () => {
  const cycle = (length: number, repeats: number): number[] =>
    Array.from({ length: length * repeats }, (_, index) => index % length)

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'sees a cycle of %i turns that repeated five times in a row, and not one turn earlier',
    (length) => {
      const full = { length, repeats: 5, limit: 5 }
      expect(nearestCycle(cycle(length, 5), 5)).toEqual(full)
      expect(nearestCycle(cycle(length, 5).slice(1), 5)).toEqual({ ...full, repeats: 4 })
      expect(nearestCycle([99, 98, ...cycle(length, 5)], 5)).toEqual(full)
    },
  )

  test('does not look for a cycle of 9', () => {
    expect(nearestCycle(cycle(9, 5), 5)).toEqual({ length: 1, repeats: 1, limit: 5 })
  })

  test('counts a single change anywhere in the cycle as progress', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(), (length, place) => {
        const turns = cycle(length, 5)
        turns[place % turns.length] = 99
        expect(nearestCycle(turns, 5)?.repeats).toBeLessThan(5)
      }),
    )
  })

  const guarded = { stopWhen: noProgress() }

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'a run in a cycle of %i turns is reminded after three rounds, then stopped after five in all',
    async (length) => {
      const { terminal, transitions } = await run(
        (_request, index) => calls({ name: 'Look', input: { page: index % length } }),
        { tools: [reader('Look')], ...guarded },
      )
      expect([
        terminal.reason,
        terminal.signal.context['cycleLength'],
        transitions.indexOf('no_progress_nudge'),
        transitions.length,
      ]).toEqual(['no_progress', length, length * 3 - 1, length * 5 - 1])
    },
  )

  test('accepts polling whose output changes in more than numbers', async () => {
    let percent = 0
    const { terminal } = await run((_request, index) => (index < 40 ? calls('Poll') : 'done'), {
      tools: [reader('Poll', () => `at ${'.'.repeat(percent++)}`)],
      ...guarded,
    })
    expect([terminal.reason, terminal.summary.turns]).toEqual(['completed', 41])
  })

  // Turns that waited are stored as negative numbers: -1 - hash.
  const waited = (turns: readonly number[], isWait: (turn: number) => boolean): number[] =>
    turns.map((turn) => (isWait(turn) ? -1 - turn : turn))

  test.each([
    [1, 25],
    [2, 12],
    [3, 8],
    [4, 6],
    [5, 5],
    [8, 5],
  ])('permits a cycle of %i turns with one that waits for 25 turns: it may repeat %i times', (length, limit) => {
    const rounds = (repeats: number): number[] => waited(cycle(length, repeats), (turn) => turn === 0)
    expect([rounds(limit - 1), rounds(limit)].map((turns) => nearestCycle(turns, 5))).toEqual([
      { length, repeats: limit - 1, limit },
      { length, repeats: limit, limit },
    ])
  })

  test('treats a turn as the same whether or not it waited; the newest round decides which limit applies', () => {
    const turns = waited(cycle(1, 10), () => true)
    expect([nearestCycle([...turns, 0], 5), nearestCycle([0, 0, ...turns], 5)]).toEqual([
      { length: 1, repeats: 11, limit: 5 },
      { length: 1, repeats: 12, limit: 25 },
    ])
  })

  test('reports a cycle as its shortest round, wherever it began', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(7), fc.boolean(), (length, begins, waits) => {
        const turns = waited(cycle(length, 50), () => waits).slice(begins, begins + 40)
        expect(nearestCycle(turns, 5)?.length).toBe(length)
      }),
    )
  })

  const polls = (ms: number, options: Partial<RunTestOptions> = {}): ReturnType<typeof run> => {
    const clock = createFakeClock({ autoAdvance: true })
    const poll = reader('Poll', async () => {
      await new Promise<void>((resolve) => void clock.after(ms, resolve))
      return 'pending'
    })
    return run(() => calls('Poll'), { tools: [poll], clock, ...guarded, ...options })
  }

  test('stops polling with the same result after 5 turns, and after 25 when each of them waits', async () => {
    // Timers of hosts may fire a little early.
    const [quick, slow] = [await polls(4_989), await polls(4_990)]
    expect(
      [quick, slow].map(({ terminal, transitions }) => [
        terminal.reason,
        terminal.summary.turns,
        transitions.indexOf('no_progress_nudge'),
        terminal.signal.context,
      ]),
    ).toEqual([
      ['no_progress', 5, 2, { cycleLength: 1, repeats: 5, used: 5, limit: 5 }],
      ['no_progress', 25, 14, { cycleLength: 1, repeats: 25, used: 25, limit: 25 }],
    ])
  })

  test('counts a turn as waiting when one of its tools does, and as the same turn either way', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const taking = (name: string, ms: (call: number) => number) => {
      let count = 0
      return reader(name, async () => {
        await new Promise<void>((resolve) => void clock.after(ms(count++), resolve))
        return 'pending'
      })
    }
    const nudgedAfter = async (tools: readonly Tool[]): Promise<number> => {
      const names = tools.map(({ name }) => name)
      const { transitions } = await run(() => calls(...names), { tools, clock, ...guarded })
      return 1 + transitions.indexOf('no_progress_nudge')
    }
    expect(await nudgedAfter([taking('Quick', () => 0), taking('Slow', () => 5_000)])).toBe(15)
    // Turns that alternate between waiting and not waiting get the reminder after three rounds.
    expect(await nudgedAfter([taking('Poll', (call) => (call % 2 === 0 ? 0 : 5_000))])).toBe(3)
  })

  test('counts a long-running agent as work: its turn does not wait', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const work = reader('Work', async () => {
      await new Promise<void>((resolve) => void clock.after(60_000, resolve))
      return 'done'
    })
    const agent: AgentTool = {
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'sub' }),
    }
    const { terminal } = await run(
      ({ messages }) => (messages[0]?.content === 'go' ? calls('Agent') : messages.length === 1 ? calls('Work') : 'it'),
      { tools: [agent, work], clock, ...guarded },
    )
    expect([terminal.reason, terminal.signal.context['limit']]).toEqual(['no_progress', 5])
  })

  test('reports the cycle that is nearest to its limit, and not the most frequent one', () => {
    // Three rounds of eight, and two turns of five.
    const turns = waited([0, 1, 1, 0, 1, 1, 0, 1, 1], (turn) => turn === 0)
    expect(nearestCycle(turns, 5)).toEqual({ length: 1, repeats: 2, limit: 5 })
  })

  test('accepts the same output for changing input, and ignores ids', async () => {
    const inputs = await run(
      (_request, index) => (index < 40 ? calls({ name: 'Look', input: { page: index } }) : 'done'),
      { tools: [reader('Look')], ...guarded },
    )
    expect(inputs.terminal.reason).toBe('completed')
    const ids = await run((_request, index) => calls({ name: 'Look', id: `id_${index}` }), {
      tools: [reader('Look')],
      ...guarded,
    })
    expect(ids.terminal.reason).toBe('no_progress')
  })

  test('starts the count anew after new user input', async () => {
    const steered = tool('Look', () => ('same'), { readOnly: true }) // prettier-ignore
    const script = (_request: unknown, index: number): ScriptedReply => {
      if (index % 2 === 1) going.loop.steer('go on')
      return index < 40 ? calls('Look') : 'done'
    }
    const going = begin(script, { model: scriptedModel(script), tools: [steered], ...guarded })
    const { terminal, transitions } = await going.end()
    expect([terminal.reason, transitions.includes('no_progress_nudge')]).toEqual(['completed', false])
  })

  test('is tracked only when a guard requests it: otherwise no turns are stored', async () => {
    const seen: unknown[] = []
    const watch = (looksAtTurns: boolean): Guard => ({
      name: 'watch',
      checkpoints: ['before_turn'],
      looksAtTurns,
      evaluate: ({ recentTurns }) => void seen.push(recentTurns.length),
    })
    for (const looksAtTurns of [true, false])
      await run([calls('Look'), calls('Look'), 'done'], { tools: [reader('Look')], stopWhen: watch(looksAtTurns) })
    expect(seen).toEqual([0, 1, 2, 0, 0, 0])
  })

  test.each([
    ['token_limit', 'token_limit'],
    ['retry_limit', 'no_progress'],
    ['finish_reason', 'no_progress'],
  ] as const)('sends no nudge when %s is raised with it', async (reason, ends) => {
    const stopping = (name: string, category: StopCategory): Guard => ({
      name,
      checkpoints: ['after_tools'],
      evaluate: ({ steps }) => (steps === 2 ? new StopSignal({ reason: category }) : undefined),
    })
    const { transitions, terminal } = await run(() => calls('Look'), {
      tools: [reader('Look')],
      stopWhen: [stopping('first', 'no_progress'), stopping('second', reason)],
    })
    expect([transitions, terminal.reason, [...terminal.signals].map((signal) => signal.reason)]).toEqual([
      ['next_turn'],
      ends,
      ['no_progress', reason],
    ])
  })

  test('sends no nudge when a tool or a hook stops the run with this reason', async () => {
    const signal = new StopSignal({ reason: 'no_progress', message: 'this leads nowhere' })
    const stops: readonly RunTestOptions[] = [
      { tools: [tool('Look', () => { throw new AgentStopException({ signal }) })] }, // prettier-ignore
      {
        tools: [tool('Look')],
        hooks: [hook('afterStep', (context) => context.withState(context.state().withStopSignal(signal)))],
      },
    ]
    for (const runOptions of stops) {
      const { transitions, terminal } = await run(() => calls('Look'), runOptions)
      expect([transitions, terminal.reason]).toEqual([[], 'no_progress'])
    }
  })

  test('sends no nudge when a limit on turns is reached in the same turn', async () => {
    const stop: Guard = {
      name: 'other',
      checkpoints: ['after_tools'],
      evaluate: () => new StopSignal({ reason: 'steps_limit' }),
    }
    const { transitions } = await run(() => calls('Look'), {
      tools: [reader('Look')],
      stopWhen: [stop, noProgress({ repeats: 2 })],
    })
    expect(transitions).toEqual([])
  })
})
