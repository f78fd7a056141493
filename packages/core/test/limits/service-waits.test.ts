// Tests R-SERV-1 to R-SERV-9.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ModelError, resume, type Goal, type RunEvent, type RunOptions, type ToolContext } from '../../src/index.ts'
import type { ModelErrorInit, ModelErrorJson } from '../../src/entries/adapters.ts'
import { isoTimeOf } from '../../src/values/iso-time.ts'
import { isServiceLimit, serviceWaitMs } from '../../src/model/service-limit.ts'
import { laterWaits, WaitTime } from '../../src/model/service-waits.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { agent, byPrompt, notesIn, start } from '../support/background.ts'
import { begin, calls, dollarATokenPrices, reader, run, subagent, tick, until } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const hour = 3_600_000
const limit = (retryAfterMs: number | null = 60_000, more: Partial<ModelErrorInit> = {}) => ({
  error: { kind: 'rate_limit', message: 'too many requests', status: 429, retryAfterMs, ...more } as const,
})
const outage = { error: { kind: 'server_error', message: 'down', status: 503 } } as const

const waitsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'service_waited' ? [[event.outcome, event.waitedMs]] : []))

/** Asks a model twice. */
const askingTool = (timeoutMs?: number) =>
  ({
    name: 'ask',
    description: 'asks',
    inputSchema: { type: 'object' },
    readOnly: true,
    asksModel: true,
    async execute(_input: unknown, { ask }: ToolContext) {
      const messages = [{ role: 'user', content: 'well?' }] as const
      const question = { system: '', messages, ...(timeoutMs !== undefined && { timeoutMs }) }
      const replies = [await ask?.(question), await ask?.(question)]
      return replies.map((reply) => reply?.kind).join(' ')
    },
  }) as const

const record = (init: Partial<ModelErrorInit>): ModelErrorJson =>
  new ModelError({ kind: 'server_error', message: 'x', ...init }).toRecord()

describe('which failures are waited for', () => {
  test.each([
    [{ kind: 'rate_limit', status: 429, retryAfterMs: 1_000 }, true],
    [{ kind: 'rate_limit', status: 429 }, false],
    [{ kind: 'overloaded', status: 529 }, true],
    [{ kind: 'server_error', status: 500 }, true],
    [{ kind: 'server_error' }, true],
    [{ kind: 'timeout', status: 504 }, true],
    [{ kind: 'timeout', status: 408 }, false],
    [{ kind: 'timeout' }, false],
    [{ kind: 'connection', neverConnected: true }, true],
    [{ kind: 'connection' }, false],
    [{ kind: 'authentication_failed', status: 401, retryAfterMs: 1_000 }, false],
    [{ kind: 'billing_error', status: 402, retryAfterMs: 1_000 }, false],
    [{ kind: 'server_error', status: 501, retryable: false }, false],
  ] as const)('%j: %s', (init, expected) => expect(isServiceLimit(record(init))).toBe(expected))
})

describe('the length of a wait', () => {
  const ms = (retryAfterMs: number | null, number = 1, leftMs = 8 * hour) =>
    serviceWaitMs({ error: record({ retryAfterMs }), number, leftMs, key: 'k' })

  test('is what the service reports, or grows when it reports nothing or too little', () => {
    const about = (base: number) => [base, base + Math.min(2_000, base / 10)] as const
    for (const [failure, base] of [
      [ms(60_000), 60_000],
      [ms(6 * hour), 6 * hour],
      [ms(null), 15_000],
      [ms(null, 3), 60_000],
      [ms(null, 30), 300_000],
      [ms(0, 2), 30_000],
      [ms(5_000), 5_000],
      [ms(5_000, 3), 20_000],
      [ms(5_000, 100), 300_000],
    ] as const) {
      expect(failure).toBeGreaterThanOrEqual(about(base)[0])
      expect(failure).toBeLessThan(about(base)[1])
    }
  })

  test('is nothing when the remaining time is too short', () => {
    expect([ms(60_000, 1, 59_999), ms(null, 1, 4_999), ms(31_536_000_000)]).toEqual([undefined, undefined, undefined])
    expect([ms(60_000, 1, 60_000), ms(null, 5, 5_000)]).toEqual([60_000, 5_000])
  })

  test('is never shorter than reported, nor longer than the remaining time, whatever is reported', () => {
    fc.assert(
      fc.property(
        fc.option(fc.oneof(fc.double(), fc.integer({ min: 0, max: 40_000_000 }))),
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 0, max: 31 * 24 * hour }),
        (reportedMs, number, leftMs) => {
          const error = record({ retryAfterMs: reportedMs })
          const waitMs = serviceWaitMs({ error, number, leftMs, key: 'k' })
          const least = Math.max(Math.min(leftMs, 5_000), error.retryAfterMs ?? 0)
          const reaches = leftMs >= Math.max(5_000, error.retryAfterMs ?? 0)
          const isRight = waitMs === undefined ? !reaches : reaches && waitMs >= least && waitMs <= leftMs
          expect(isRight).toBe(true)
        },
      ),
    )
  })
})

test('moments are formatted by the calendar', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => {
      expect(isoTimeOf(ms)).toBe(new Date(ms).toISOString())
    }),
  )
  expect([isoTimeOf(-1), isoTimeOf(Number.NaN), isoTimeOf(253_402_300_800_000)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

describe('the waited time', () => {
  test('counts parallel waits once, in whatever order they end and are read back', () => {
    const span = fc.record({ sinceMs: fc.integer({ min: 1, max: 60 }), ms: fc.integer({ min: 0, max: 20 }) })
    fc.assert(
      fc.property(fc.array(span, { minLength: 1 }), (spans) => {
        const time = new WaitTime(undefined)
        const waited = spans.map(({ sinceMs, ms }) =>
          time.begin({ sinceMs, untilMs: sinceMs + ms }, false)(sinceMs + ms),
        )
        const moments = new Set(spans.flatMap(({ sinceMs, ms }) => Array.from({ length: ms }, (_, at) => sinceMs + at)))
        expect(waited.reduce(laterWaits).ms).toBe(moments.size)
      }),
    )
  })

  test('continues from the record, including open waits', () => {
    const time = new WaitTime({ ms: 100, untilMs: 1_000 })
    const first = time.begin({ sinceMs: 900, untilMs: 1_200 }, false)
    const second = time.begin({ sinceMs: 1_050, untilMs: 1_100 }, true)
    expect(time.leftMs(400, 1_060)).toBe(240)
    expect([second(1_100), first(1_200)]).toEqual([
      { ms: 200, untilMs: 1_100 },
      { ms: 300, untilMs: 1_200 },
    ])
    time.restore({ ms: 350, untilMs: 1_300 })
    expect([time.leftMs(400, 1_300), time.leftMs(100, 1_300)]).toEqual([50, 0])
  })

  test('counts when the clock was set back', () => {
    const time = new WaitTime(undefined)
    time.begin({ sinceMs: 10_000, untilMs: 10_100 }, true)(10_100)
    expect(time.begin({ sinceMs: 500, untilMs: 600 }, true)(600)).toEqual({ ms: 200, untilMs: 10_200 })
  })

  test('is the time that others wait anyway when nothing is left', () => {
    const time = new WaitTime(undefined)
    time.begin({ sinceMs: 0, untilMs: 5_000 }, true)
    expect([time.leftMs(5_000, 0), time.leftMs(5_000, 2_000), time.leftMs(8_000, 2_000)]).toEqual([5_000, 3_000, 6_000])
  })
})

describe('a run', () => {
  test('waits for a rate limit at once, and active time stands still', async () => {
    const { terminal, clock, events, state, model } = await run([limit(), 'done'], { waitForLimitsMs: 8 * hour })
    const [[outcome, waitedMs]] = waitsOf(events) as [[string, number]]
    expect([terminal.reason, outcome, model.requests.length]).toEqual(['completed', 'over', 2])
    expect(waitedMs).toBeGreaterThanOrEqual(60_000)
    expect(clock.now()).toBe(waitedMs)
    expect([terminal.durationMs, state.spent.waits]).toEqual([0, { ms: waitedMs, untilMs: waitedMs }])
    expect(events.filter(({ type }) => type === 'retry')).toEqual([])
    expect(events.find((event) => event.type === 'service_wait' && event.isWaiting)).toMatchObject({
      sinceMs: 0,
      untilMs: waitedMs,
      error: { status: 429 },
    })
  })

  test('waits through an outage once its retries are used up', async () => {
    const { terminal, events, model } = await run([...Array.from({ length: 4 }, () => outage), 'done'], {
      waitForLimitsMs: hour,
      maxRetries: 1,
    })
    expect([terminal.reason, model.requests.length, waitsOf(events).length]).toEqual(['completed', 5, 3])
    const lengths = waitsOf(events).map(([, ms]) => Math.round(Number(ms) / 15_000))
    expect(lengths).toEqual([1, 2, 4])
  })

  test('ends at once without waiting, and reports when to come back', async () => {
    const { terminal, clock } = await run([limit(hour)], {
      clock: createFakeClock({ start: 1_700_000_000_000, autoAdvance: true }),
    })
    expect([terminal.reason, terminal.retryAt, clock.now()]).toEqual([
      'model_error',
      '2023-11-14T23:13:20.000Z',
      1_700_000_000_000,
    ])
    expect(terminal.signal.message).toMatch(/takes requests again at 2023-11-14T23:13:20.000Z\.$/)
  })

  test('ends when a service reports no time, or a later one than it may wait for', async () => {
    const none = await run(
      Array.from({ length: 3 }, () => limit(null)),
      { waitForLimitsMs: hour, maxRetries: 2 },
    )
    expect([none.terminal.reason, none.terminal.retryAt]).toEqual(['model_error', undefined])
    const late = await run([limit(2 * hour)], { waitForLimitsMs: hour })
    expect([late.terminal.reason, late.terminal.retryAt, late.clock.now()]).toEqual([
      'model_error',
      '1970-01-01T02:00:00.000Z',
      0,
    ])
  })

  test('reports no time to come back when waiting does not help, whatever the service reported', async () => {
    const refusals = [
      { kind: 'authentication_failed', status: 401 },
      { kind: 'billing_error', status: 402 },
      { kind: 'invalid_request', status: 400 },
    ] as const
    for (const refusal of refusals) {
      const { terminal } = await run([limit(hour, refusal)], { waitForLimitsMs: 8 * hour })
      expect([terminal.reason, terminal.retryAt]).toEqual(['model_error', undefined])
      expect(terminal.signal.message).not.toContain('requests again')
    }
  })

  test('never waits longer than it may, whatever the service reports', async () => {
    const { terminal, clock, model } = await run(
      Array.from({ length: 500 }, () => limit(5_000)),
      {
        waitForLimitsMs: hour,
        maxRetries: 0,
      },
    )
    expect(terminal.reason).toBe('model_error')
    expect(clock.now()).toBeLessThanOrEqual(hour)
    expect(model.requests.length).toBeLessThan(25)
  })

  test('applies its time limit to active time only', async () => {
    const { terminal } = await run([limit(hour), limit(hour), 'done'], {
      waitForLimitsMs: 8 * hour,
      maxDurationMs: 1_000,
    })
    expect(terminal.reason).toBe('completed')
  })

  test.each([-1, Number.NaN, Infinity, 32 * 24 * hour])('rejects a time of %d', async (waitForLimitsMs) => {
    await expect(async () => run(['x'], { waitForLimitsMs })).rejects.toThrow('31 days')
  })
})

describe('a wait ends', () => {
  const going = (
    options: Omit<Partial<RunOptions>, 'clock'> = {},
    script: Parameters<typeof begin>[0] = [limit(hour), 'done'],
  ) => {
    const clock = createFakeClock()
    return begin(script, { clock, waitForLimitsMs: 8 * hour, ...options })
  }
  const isWaiting = async ({ events }: ReturnType<typeof begin>) =>
    until(() => events.some((event) => event.type === 'service_wait' && event.isWaiting))

  test('when a person requests a retry now', async () => {
    const going1 = going()
    void going1.loop.result
    await isWaiting(going1)
    await going1.clock.advance(1_000)
    expect([going1.loop.retryNow(), going1.loop.retryNow()]).toEqual([true, false])
    const { terminal, events } = await going1.end()
    expect([terminal.reason, waitsOf(events)]).toEqual(['completed', [['retried', 1_000]]])
    expect(going1.loop.retryNow()).toBe(false)
  })

  test('when another model is set, which is asked in the same turn', async () => {
    const other = scriptedModel(['from the other'], { id: 'other' })
    const run1 = going({ models: [other] }, [limit(hour)])
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.set({ model: 'other' })
    const { terminal, events, state } = await run1.end()
    expect([terminal.reason, waitsOf(events)[0]?.[0], other.requests.length]).toEqual(['completed', 'model', 1])
    expect([terminal.summary.turns, state.spent.request]).toEqual([1, 1])
    expect(events.filter(({ type }) => type === 'model_start')).toMatchObject([
      { model: 'scripted' },
      { model: 'other' },
    ])
  })

  test('but not when the current model is set, also under its name in the options', async () => {
    const run1 = going()
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.set({ model: null })
    await tick()
    expect([run1.model.requests.length, waitsOf(run1.events)]).toEqual([1, []])
    run1.loop.abort()
    await run1.end()
  })

  test('but not for a question when another model is set that the question would not use', async () => {
    const other = scriptedModel(['from the other'], { id: 'other' })
    const script = [{ toolCalls: [{ name: 'ask' }] }, ...Array.from({ length: 20 }, () => limit(hour))]
    const run1 = going({ models: [other], tools: [askingTool()] }, script)
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.set({ model: 'other' })
    await tick()
    expect([run1.model.requests.length, waitsOf(run1.events)]).toEqual([2, []])
    run1.loop.abort()
    await run1.end()
  })

  test('with a stop, which is the ending', async () => {
    const run1 = going()
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.stop('enough')
    const { terminal, events } = await run1.end()
    expect([terminal.reason, terminal.signal.message, waitsOf(events)[0]?.[0], run1.model.requests.length]).toEqual([
      'user_requested',
      'enough',
      'stopped',
      1,
    ])
  })

  test('with an abort', async () => {
    const run1 = going()
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.abort()
    const { terminal, events } = await run1.end()
    expect([terminal.reason, waitsOf(events)[0]?.[0], terminal.committedUsd]).toEqual([
      'aborted_streaming',
      'aborted',
      0,
    ])
  })

  test('but not when a limit is lowered, which applies to the request after it', async () => {
    const run1 = going({ prices: dollarATokenPrices, maxBudgetUsd: 1e6 })
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.set({ limits: { maxBudgetUsd: 10 } })
    await tick()
    expect(waitsOf(run1.events)).toEqual([])
    await run1.clock.advance(hour + 3_000)
    const { terminal, model } = await run1.end()
    expect([terminal.reason, model.requests.length, terminal.committedUsd]).toEqual(['max_budget_usd', 1, 0])
  })

  test('but not with a message, which is taken afterwards', async () => {
    const run1 = going({}, [limit(hour), 'done', 'and then this'])
    void run1.loop.result
    await isWaiting(run1)
    run1.loop.followUp('and then?')
    await run1.clock.advance(hour - 1)
    expect(waitsOf(run1.events)).toEqual([])
    await run1.clock.advance(3_000)
    const { terminal } = await run1.end()
    expect(terminal.reason).toBe('completed')
  })
})

describe('over a kill', () => {
  test('it waits until the same time, and the time already waited counts', async () => {
    const options = { model: scriptedModel([limit(hour), limit(hour), 'done']), waitForLimitsMs: 1.5 * hour }
    const clock = createFakeClock({ start: 1_000_000, autoAdvance: true })
    const records = await killedBefore((entry) => entry.type === 'result' && entry.key.endsWith('.service'), {
      ...options,
      clock,
    })
    const intent = records.at(-1)
    expect(intent).toMatchObject({ type: 'intent', intent: { since: 1_000_000 } })
    const until1 = (intent as unknown as { intent: { until: number } }).intent.until
    const later = createFakeClock({ start: 1_000_000 + hour / 2, autoAdvance: true })
    const model = scriptedModel([limit(hour)])
    const resumed = resume(records, { model, waitForLimitsMs: options.waitForLimitsMs, clock: later })
    const { terminal, state } = await resumed.loop.ended
    // The second wait does not fit the remaining time.
    expect([terminal.reason, state.spent.waits, later.now()]).toEqual([
      'model_error',
      { ms: until1 - 1_000_000, untilMs: until1 },
      until1,
    ])
  })
})

test('the time waited in the turns before a kill counts', async () => {
  const options = {
    model: scriptedModel([limit(40 * 60_000), calls('Look'), 'unheard']),
    tools: [reader('Look')],
    waitForLimitsMs: hour,
  }
  const clock = createFakeClock({ autoAdvance: true })
  const records = await killedBefore((entry) => entry.type === 'result' && entry.key === 'run1/model:2.1', {
    ...options,
    clock,
  })
  const later = createFakeClock({ start: 2 * hour, autoAdvance: true })
  const resumed = resume(records, { ...options, model: scriptedModel([limit(40 * 60_000)]), clock: later })
  const { terminal } = await resumed.loop.ended
  // It asked once, and did not wait again.
  expect([terminal.reason, later.now()]).toEqual(['model_error', 2 * hour])
})

test('keeps the decision about a wait in the next process, from when the attempt failed', async () => {
  const options = { model: scriptedModel([limit(hour), 'done']), waitForLimitsMs: 8 * hour }
  const clock = createFakeClock({ start: 1_000_000, autoAdvance: true })
  // The failure is on record, and its wait is not.
  const records = await killedBefore((entry) => entry.type === 'intent' && entry.key.endsWith('.service'), {
    ...options,
    clock,
  })
  const later = createFakeClock({ start: 1_000_000 + hour / 2, autoAdvance: true })
  const resumed = resume(records, { ...options, model: scriptedModel(['done']), clock: later })
  const { terminal, state } = await resumed.loop.ended
  const { ms = 0, untilMs } = state.spent.waits ?? {}
  expect([terminal.reason, later.now()]).toEqual(['completed', untilMs])
  expect([ms >= hour / 2, ms <= hour / 2 + 2_000]).toEqual([true, true])
  // The remaining time at the moment of the failure counts.
  const stingy = resume(records, {
    model: scriptedModel(['done']),
    waitForLimitsMs: 0,
    clock: createFakeClock({ autoAdvance: true }),
  })
  expect((await stingy.loop.ended).terminal.reason).toBe('completed')
})

test('agents that wait in parallel wait no longer than the run may', async () => {
  const of = ({ idempotencyKey }: { readonly idempotencyKey: string }) => /agent:1:(\d)/.exec(idempotencyKey)?.[1]
  const clock = createFakeClock({ autoAdvance: true })
  let callCount = 0
  const model = scriptedModel((request) => {
    const agent = of(request)
    if (agent === undefined) return request.messages.length > 1 ? 'done' : calls('Agent', 'Agent')
    // The first waits for three quarters of the time at once, the second after it.
    if (agent === '0') return callCount++ === 0 ? limit(0.75 * hour) : 'of the first'
    if (request.messages.length === 1) return calls('Work')
    return limit(0.5 * hour)
  })
  const work = reader('Work', () => new Promise((resolve) => clock.after(hour, () => resolve('worked'))))
  const { terminal, state } = await run([], {
    model,
    clock,
    tools: [subagent, work],
    waitForLimitsMs: hour,
    maxRetries: 0,
  })
  expect([terminal.reason, (state.spent.waits?.ms ?? 0) < hour]).toEqual(['completed', true])
  expect(state.spent.waits?.ms).toBeGreaterThan(0.7 * hour)
})

test('`retryNow` also ends the waits of agents', async () => {
  const clock = createFakeClock()
  const model = scriptedModel(({ messages }, index) =>
    messages[0]?.content === 'sub'
      ? index === 1
        ? limit(hour)
        : 'of the agent'
      : messages.length > 1
        ? 'done'
        : calls('Agent'),
  )
  const going = begin([], { model, clock, tools: [subagent], waitForLimitsMs: 8 * hour })
  void going.loop.result
  const isWaiting = (event: RunEvent) => event.type === 'agent' && event.event.type === 'service_wait'
  await until(() => going.events.some(isWaiting))
  expect(going.loop.retryNow()).toBe(true)
  expect([(await going.end()).terminal.reason, clock.now()]).toEqual(['completed', 0])
})

test('questions of one tool together wait no longer than the run may', async () => {
  const asking = scriptedModel([
    { toolCalls: [{ name: 'ask' }] },
    ...Array.from({ length: 3 }, () => limit(40 * 60_000)),
    'done',
  ])
  const { terminal, state, clock } = await run([], {
    model: asking,
    tools: [askingTool()],
    waitForLimitsMs: hour,
    maxRetries: 0,
  })
  expect([terminal.reason, clock.now() < hour]).toEqual(['completed', true])
  expect(state.spent.waits?.ms).toBe(clock.now())
})

test('after a wait, other failures are retried as usual, with one attempt between two waits', async () => {
  const broken = { error: { kind: 'connection', message: 'cut' } } as const
  const { terminal, events } = await run([outage, outage, broken, outage, outage, broken, 'done'], {
    waitForLimitsMs: hour,
    maxRetries: 1,
  })
  const waitEvents = events.flatMap(({ type }) => (type === 'retry' || type === 'service_waited' ? [type] : []))
  expect([terminal.reason, waitEvents]).toEqual([
    'completed',
    ['retry', 'service_waited', 'retry', 'service_waited', 'service_waited', 'retry'],
  ])
})

test('the time limits of a question and of a check stop while a judge waits for its service', async () => {
  const asked = await run([{ toolCalls: [{ name: 'ask' }] }, limit(hour), 'yes', 'yes', 'done'], {
    tools: [askingTool(10_000)],
    waitForLimitsMs: 8 * hour,
  })
  expect(JSON.stringify(asked.messages)).toContain('answered answered')
  const check: Goal['check'] = async ({ ask }) => {
    const reply = await ask({ system: '', messages: [{ role: 'user', content: 'is it?' }], timeoutMs: 5_000 })
    return { met: reply.kind === 'answered' }
  }
  const judged = await run(['Done.', limit(hour), 'yes'], {
    until: [{ name: 'judged', check, timeoutMs: 10_000 }],
    waitForLimitsMs: 8 * hour,
  })
  expect([judged.terminal.reason, judged.clock.now() > hour]).toEqual(['completed', true])
  expect(judged.events.find(({ type }) => type === 'goal_end')).toMatchObject({
    checks: [{ met: true, durationMs: 0 }],
  })
})

test.each([{}, { maxDurationMs: 1_000 }])(
  'a run waits for its background agent as long as that waits for its service: %j',
  async (limits) => {
    let isRefused = false
    const script = byPrompt({
      go: (turn) => (turn === 0 ? calls(start('look')) : 'Done.'),
      look: () => (isRefused ? 'found it' : ((isRefused = true), limit(hour))),
    })
    const { terminal, state, clock } = await run([], {
      model: scriptedModel(script),
      tools: [agent()],
      waitForLimitsMs: 8 * hour,
      ...limits,
    })
    expect([terminal.reason, clock.now() > hour]).toEqual(['completed', true])
    expect(notesIn(state.transcript)).toMatchObject([{ type: 'started' }, { type: 'ended', status: 'completed' }])
  },
)
