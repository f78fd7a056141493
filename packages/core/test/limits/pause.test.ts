// Tests R-PAUSE-1 to R-PAUSE-9.
import { array, assert, asyncProperty, constant, integer, oneof } from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CallableHook,
  ConfigurationError,
  replay,
  resume,
  streamRun,
  startRun,
  stepLimit,
  type RunOptions,
} from '../../src/index.ts'
import type { LimitAnswer, LimitRequest } from '../../src/state/limit-request.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hanging,
  reader,
  run,
  subagent,
  tick,
  until,
  type RunTestOptions,
} from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** Answers in order, and records its questions. */
function answering(...answers: readonly (LimitAnswer | 'double')[]) {
  const asked: LimitRequest[] = []
  const askLimit: NonNullable<RunOptions['askLimit']> = async (request) => {
    const answer = answers[asked.length] ?? { end: true }
    asked.push(request)
    return answer === 'double' ? { raise: { [request.limit]: request.offers.at(-1)?.to ?? null } } : answer
  }
  return { asked, options: { onLimit: 'pause', askLimit } satisfies RunTestOptions }
}

const looks = (turns: number) => [...Array.from({ length: turns }, () => calls('Look')), 'Done.']
const look = reader('Look')

describe('a run that pauses at its limit of turns', () => {
  test('continues in the same run once the limit is raised, and keeps counting turns', async () => {
    const { asked, options } = answering({ raise: { maxTurns: 4 } })
    const { terminal, transitions, events } = await run(looks(3), { tools: [look], maxTurns: 2, ...options })
    expect([terminal.reason, terminal.summary.turns, transitions]).toEqual([
      'completed',
      4,
      ['next_turn', 'next_turn', 'next_turn'],
    ])
    expect(asked).toMatchObject([
      { limit: 'maxTurns', used: 2, of: 2, most: null, offers: [{ to: 3 }, { to: 4 }], untilMs: null },
    ])
    const questionEvents = events.filter(
      ({ type }) => type === 'limit_question' || type === 'limit_answered' || type === 'settings',
    )
    expect(questionEvents).toMatchObject([
      { type: 'limit_question', request: { limit: 'maxTurns' } },
      { type: 'settings', change: { limits: { maxTurns: 4 } } },
      { type: 'limit_answered', outcome: 'raised', to: 4 },
    ])
  })

  test('asks again at the raised limit', async () => {
    const { asked, options } = answering({ raise: { maxTurns: 2 } }, { raise: { maxTurns: 3 } })
    const { terminal } = await run(looks(5), { tools: [look], maxTurns: 1, ...options })
    expect([terminal.reason, terminal.summary.turns]).toEqual(['max_turns', 3])
    expect(asked.map(({ used, of }) => [used, of])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
  })

  test.each([
    ['the answer is to end', async () => ({ end: true }) as const],
    ['the callback fails', () => Promise.reject(new Error('nobody is here'))],
    ['the callback returns an invalid answer three times', async () => 'yes' as never],
  ])('ends under the limit when %s', async (_name, askLimit) => {
    const { terminal, transitions } = await run(looks(3), { tools: [look], maxTurns: 2, onLimit: 'pause', askLimit })
    expect([terminal.reason, transitions]).toEqual(['max_turns', ['next_turn']])
    expect(terminal.signal.message).toBe('Reached maximum number of turns (2)')
  })

  test('pauses only on request', async () => {
    const { asked, options } = answering('double')
    const { terminal } = await run(looks(3), { tools: [look], maxTurns: 2, ...options, onLimit: 'end' })
    expect([terminal.reason, asked]).toEqual(['max_turns', []])
  })

  test('keeps the question after an invalid answer, and reports what is wrong with it', async () => {
    const going = begin(looks(3), { tools: [look], maxTurns: 2, onLimit: 'pause', clock: createFakeClock() })
    await until(() => going.events.some(({ type }) => type === 'limit_question'))
    const question = going.events.find((event) => event.type === 'limit_question')
    const id = question?.type === 'limit_question' ? question.request.id : ''
    const wrong: unknown[] = [
      { raise: { maxTurns: 2 } },
      { raise: { maxTurns: 2.5 } },
      { raise: { maxTurns: '9' } },
      { raise: { maxBudgetUsd: 9 } },
      { raise: { maxTurns: 9, maxBudgetUsd: 9 } },
      { raise: {} },
      { raise: { maxTurns: Number.NaN } },
      { raise: { maxTurns: 4 }, end: true },
      { end: false },
      null,
      'yes',
    ]
    for (const answer of wrong)
      expect(() => going.loop.answerLimit(id, answer as LimitAnswer)).toThrow(ConfigurationError)
    expect(going.loop.answerLimit('another', { end: true })).toBe(false)
    expect(going.loop.answerLimit(id, { raise: { maxTurns: null } })).toBe(true)
    expect(going.loop.answerLimit(id, { end: true })).toBe(false)
    expect((await going.end()).terminal.reason).toBe('completed')
  })

  test('offers and accepts no more than a guard or an administrator allows', async () => {
    const { asked, options } = answering({ raise: { maxTurns: 6 } }, { raise: { maxTurns: 5 } })
    const runOptions = { tools: [look], maxTurns: 4, limitCeilings: { maxTurns: 5 }, ...options }
    const { terminal } = await run(looks(9), runOptions)
    expect([terminal.reason, terminal.summary.turns]).toEqual(['max_turns', 5])
    expect(asked.map(({ most, offers }) => [most, offers])).toEqual([
      [5, [{ to: 5 }]],
      [5, [{ to: 5 }]],
    ])
  })

  test('offers no more than the bound of a guard, at which the run would end anyway', async () => {
    const { asked, options } = answering('double')
    const { terminal } = await run(looks(9), { tools: [look], maxTurns: 2, stopWhen: stepLimit(3), ...options })
    expect(asked.map(({ most, offers }) => [most, offers])).toEqual([[3, [{ to: 3 }]]])
    expect(terminal.summary.turns).toBe(3)
  })

  test('reports that the limit was raised when the model spoke last, and only to the model', async () => {
    const cut = { text: 'half', stopReason: 'max_tokens', usage: { input_tokens: 10, output_tokens: 1_500 } } as const
    const { asked, options } = answering({ raise: { maxTotalTokens: 90_000 } })
    const model = scriptedModel([cut, 'Done.'])
    const { terminal } = await run([], { model, maxTotalTokens: 3_000, ...options })
    expect([terminal.reason, asked.length]).toEqual(['completed', 1])
    const last = (request: number) => model.requests[request]?.messages.at(-1)
    expect(JSON.stringify(last(1))).toContain('the user raised it')
    const turns = await run(looks(3), { tools: [look], maxTurns: 2, ...answering('double').options })
    expect(JSON.stringify(turns.model.requests)).not.toContain('the user raised it')
  })
})

describe('while it pauses', () => {
  const paused = async (overrides: RunTestOptions = {}) => {
    const clock = createFakeClock()
    const going = begin(looks(3), { tools: [look], maxTurns: 2, onLimit: 'pause', clock, ...overrides })
    await until(() => going.events.some(({ type }) => type === 'limit_question'))
    return { going, clock }
  }
  const answered = (events: readonly { readonly type: string }[]) =>
    events.find(({ type }) => type === 'limit_answered')

  test('stops the active time, and ends under the limit when an answer is too late', async () => {
    const { going, clock } = await paused({ pauseForMs: 60_000, maxDurationMs: 1_000 })
    await clock.advance(59_999)
    expect(answered(going.events)).toBeUndefined()
    await clock.advance(1)
    const { terminal, events } = await going.end()
    expect([terminal.reason, terminal.durationMs]).toEqual(['max_turns', 0])
    expect(answered(events)).toMatchObject({ outcome: 'over', waitedMs: 60_000 })
  })

  test('continues when a sufficient limit is set, and not otherwise', async () => {
    const { going } = await paused()
    going.loop.set({ limits: { maxToolCalls: 9, maxTurns: 2 } })
    await tick()
    expect(answered(going.events)).toBeUndefined()
    going.loop.set({ limits: { maxTurns: 5 } })
    const { terminal, events } = await going.end()
    expect([terminal.reason, answered(events)]).toMatchObject(['completed', { outcome: 'raised', to: 5 }])
  })

  test('keeps a message, and takes it when the run continues', async () => {
    const { going } = await paused()
    going.loop.steer('And look at the tests, too.')
    await tick()
    expect([answered(going.events), going.loop.waiting.length]).toEqual([undefined, 1])
    going.loop.set({ limits: { maxTurns: 9 } })
    const { terminal, state } = await going.end()
    expect([terminal.reason, JSON.stringify([...state.transcript])]).toEqual([
      'completed',
      expect.stringContaining('look at the tests'),
    ])
  })

  test("ends under the limit with a stop, and keeps the stop's signal", async () => {
    const { going } = await paused()
    going.loop.stop('enough')
    const { terminal, events } = await going.end()
    expect([terminal.reason, answered(events)]).toMatchObject(['max_turns', { outcome: 'stopped' }])
    expect([...terminal.signals].map(({ reason }) => reason).toSorted()).toEqual(['steps_limit', 'user_requested'])
  })

  test('ends as aborted with an abort, and notifies the callback', async () => {
    let signal: AbortSignal | undefined
    const { going } = await paused({
      askLimit: (_request, options) => {
        signal = options.signal
        return new Promise(() => {})
      },
    })
    going.loop.abort()
    const { terminal, events } = await going.end()
    expect([terminal.reason, answered(events)]).toMatchObject(['aborted_streaming', { outcome: 'aborted' }])
    expect(signal?.aborted).toBe(true)
  })
})

describe('each limit', () => {
  test('of tool calls is raised, and the run has another turn', async () => {
    const { asked, options } = answering('double')
    const { terminal, transitions } = await run([calls('Look', 'Look', 'Look'), calls('Look'), 'Done.'], {
      tools: [look],
      maxToolCalls: 2,
      ...options,
    })
    expect([terminal.reason, transitions]).toEqual(['completed', ['next_turn', 'next_turn']])
    expect(asked).toMatchObject([{ limit: 'maxToolCalls', used: 2, of: 2, offers: [{ to: 3 }, { to: 4 }] }])
  })

  test('is asked about when both tool calls and turns are used up', async () => {
    const { asked, options } = answering('double', 'double')
    const { terminal } = await run([calls('Look', 'Look'), 'Done.'], {
      tools: [look],
      maxToolCalls: 1,
      maxTurns: 1,
      ...options,
    })
    expect([terminal.reason, asked.map(({ limit }) => limit)]).toEqual(['completed', ['maxToolCalls', 'maxTurns']])
  })

  test.each([
    ['maxBudgetUsd', { maxBudgetUsd: 1_500 }],
    ['maxRunUsd', { maxRunUsd: 1_500 }],
    ['maxTotalTokens', { maxTotalTokens: 1_500 }],
  ] as const)(
    '%s is asked about before a request that does not fit, with the amount that it needs',
    async (limit, limits) => {
      const { asked, options } = answering('double')
      const script = ['Done.']
      const model = scriptedModel(script, { maxOutputTokens: 2_000 })
      const runOptions = { prices: dollarATokenPrices, minUsefulTokens: 2_000, model, ...limits, ...options }
      const { terminal, transitions, events } = await run(script, runOptions)
      expect([terminal.reason, transitions]).toEqual(['completed', ['limit_raised']])
      expect(asked).toMatchObject([{ limit, used: 0, of: 1_500 }])
      const needed = asked[0]?.needed ?? 0
      expect(needed).toBeGreaterThan(2_000)
      expect(asked[0]?.offers.every(({ to }) => to >= needed)).toBe(true)
      expect(terminal.summary.turns).toBe(1)
      const iterations = events.flatMap((event) => (event.type === 'lap' ? [event] : []))
      expect(iterations.map(({ before, after }) => before[2] - after[2])).toEqual([1])
    },
  )

  test('of time is raised: the interrupted call has its result, and the run continues under a fresh abort signal', async () => {
    const { asked, options } = answering({ raise: { maxDurationMs: 5_000 } })
    const { terminal, state } = await run([calls('Hang'), calls('Look'), 'Done.'], {
      tools: [hanging('Hang'), look],
      maxDurationMs: 1_000,
      ...options,
    })
    expect(terminal.reason).toBe('completed')
    expect(asked).toMatchObject([{ limit: 'maxDurationMs', of: 1_000 }])
    expect(JSON.stringify([...state.transcript])).toContain('read')
  })

  test('of time that interrupts a reply continues with the request, and ends when nobody raises it', async () => {
    const script = [{ hang: true } as const, 'Done.']
    const raised = answering({ raise: { maxDurationMs: null } })
    const { terminal, transitions } = await run(script, { maxDurationMs: 1_000, ...raised.options })
    expect([terminal.reason, transitions]).toEqual(['completed', ['limit_raised']])
    const { terminal: ended } = await run(script, { maxDurationMs: 1_000, ...answering({ end: true }).options })
    expect([ended.reason, ended.signal.source]).toEqual(['time_limit', 'abort'])
  })

  test('of time is enforced after it was raised', async () => {
    const { asked, options } = answering({ raise: { maxDurationMs: 3_000 } })
    const { terminal } = await run([{ hang: true }, { hang: true }, 'Done.'], { maxDurationMs: 1_000, ...options })
    expect([terminal.reason, terminal.durationMs, asked.map(({ of }) => of)]).toEqual([
      'time_limit',
      3_000,
      [1_000, 3_000],
    ])
  })

  test('of tries of a goal is raised, and the answer is sent back', async () => {
    const { asked, options } = answering({ raise: { maxGoalTries: 2 } })
    let checks = 0
    const goal = { name: 'tests', check: async () => ({ met: ++checks > 3, report: `failed ${checks}` }) }
    const { terminal, transitions } = await run(['Done.', 'Done?', 'Done!'], {
      until: [goal],
      maxGoalTries: 1,
      ...options,
    })
    expect(asked).toMatchObject([{ limit: 'maxGoalTries', used: 1, of: 1 }])
    expect([terminal.reason, transitions]).toEqual(['completed', ['goal_unmet', 'goal_unmet']])
  })
})

test('ends a subagent, and only the run is asked about', async () => {
  const { asked, options } = answering({ raise: { maxTurns: 4 } })
  const { terminal } = await run(
    [calls('Agent'), calls('Look'), calls('Look'), calls('Look'), calls('Look'), 'Done.'],
    { tools: [subagent, look], maxTurns: 2, ...options },
  )
  expect(asked.every(({ id }) => !id.includes('agent'))).toBe(true)
  expect(terminal.reason).toBe('completed')
})

test('hides a raised ending from the hooks at the end', async () => {
  let seen = 0
  const hook = new CallableHook(() => void seen++, { triggers: ['onStop'] })
  const { options } = answering({ raise: { maxTurns: 3 } }, { end: true })
  await run(looks(5), { tools: [look], maxTurns: 2, hooks: [hook], ...options })
  expect(seen).toBe(1)
})

describe('a recorded pause', () => {
  const optionsOf = (askLimit?: RunOptions['askLimit']): RunOptions => ({
    model: scriptedModel(looks(3)),
    tools: [look],
    maxTurns: 2,
    onLimit: 'pause',
    clock: createFakeClock(),
    pauseForMs: 60_000,
    ...(askLimit !== undefined && { askLimit }),
  })

  test('is replayed without any question, however the program is started', async () => {
    const { options } = answering({ raise: { maxTurns: 4 } })
    const first = await run(looks(3), { tools: [look], maxTurns: 2, ...options })
    const again = await replay(first.steps.records, { model: scriptedModel([]), tools: [look], maxTurns: 2 })
    expect(again.terminal.reason).toBe('completed')
    expect(again.events.filter(({ type }) => type.startsWith('limit_'))).toEqual(
      first.events.filter(({ type }) => type.startsWith('limit_')),
    )
  })

  test('continues from every record: the question is asked at most once more, and no turn is lost or made twice', async () => {
    const raise = async () => ({ raise: { maxTurns: 4 } })
    const completeRun = await run(looks(3), { tools: [look], maxTurns: 2, onLimit: 'pause', askLimit: raise })
    for (let count = 1; count < completeRun.steps.records.length; count++) {
      const records = await killedAfter(count, optionsOf(raise))
      const done = records.filter((record) => record.type === 'result' && record.key.includes('model:')).length
      const model = scriptedModel(looks(3).slice(done))
      const resumed = resume(records, { ...optionsOf(raise), model })
      const { terminal } = await resumed.loop.ended
      expect([count, terminal.reason, terminal.summary.turns]).toEqual([count, 'completed', 4])
    }
  })

  test('has the time that is left after a kill, and asks nothing when it is over', async () => {
    const clock = createFakeClock()
    const going = begin([], { ...optionsOf(), clock })
    await until(() => going.events.some(({ type }) => type === 'limit_question'))
    await tick()
    const records = [...going.steps.records]
    const later = createFakeClock({ start: 40_000 })
    const resumed = resume(records, { ...optionsOf(), clock: later })
    let ended = false
    void resumed.loop.result.then(() => (ended = true))
    await later.advance(19_000)
    expect(ended).toBe(false)
    await later.advance(1_000)
    expect((await resumed.loop.result).reason).toBe('max_turns')
  })
})

test('a run with a limit on turns makes at most the turns of the last limit that was set, whatever is answered', async () => {
  const answers = array(
    oneof(
      constant({ end: true } as const),
      integer({ min: -2, max: 12 }).map((to) => ({ raise: { maxTurns: to } })),
    ),
    { maxLength: 6 },
  )
  await assert(
    asyncProperty(integer({ min: 1, max: 4 }), answers, async (maxTurns, drawnAnswers) => {
      let [limit, at] = [maxTurns, 0]
      const askLimit: NonNullable<RunOptions['askLimit']> = async ({ used }) => {
        const answer = drawnAnswers[at++] ?? { end: true as const }
        if ('raise' in answer && answer.raise.maxTurns > used) limit = answer.raise.maxTurns
        return answer
      }
      const model = scriptedModel(() => calls('Look'))
      const running = streamRun(startRun({ prompt: 'go' }), {
        model,
        tools: [look],
        maxTurns,
        onLimit: 'pause',
        askLimit,
      })
      const { reason, summary } = await running.result
      expect([reason, summary.turns]).toEqual(['max_turns', limit])
    }),
  )
})
