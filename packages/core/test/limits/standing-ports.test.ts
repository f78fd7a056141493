// Tests R-STAND-50 to R-STAND-52: each reservation is settled, however the wait ends and whatever the port returns.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, replay, resume, type StandingBudgets, type StandingRequest } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, reader, run, tick, until, type RunTestOptions } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** Standing budgets that grant the configured amount, and count how much of it is settled. */
function portOf(answer: (request: StandingRequest, settle: () => void) => unknown) {
  const counts = { asked: 0, settled: 0 }
  const standing: StandingBudgets = {
    names: ['$9 a day'],
    countsFor: () => true,
    take(request) {
      counts.asked++
      return answer(request, () => counts.settled++) as ReturnType<StandingBudgets['take']>
    },
  }
  return { counts, standing }
}

const runOptions = (standing: StandingBudgets): RunTestOptions => ({
  tools: [reader('Look', 'seen')],
  prices: dollarATokenPrices,
  standing,
  model: scriptedModel([calls('Look'), 'Done.'], { maxOutputTokens: 1_000 }),
})

describe('a replay', () => {
  test.each([
    [
      'completed',
      (request: StandingRequest, asked: number) => ({ kind: 'taken', usd: request.usd, settle() {}, asked }),
    ],
    [
      'error',
      ({ usd }: StandingRequest, asked: number) => {
        if (asked > 1) return Promise.reject(new Error('the disk is full'))
        return { kind: 'taken', usd, settle() {} }
      },
    ],
  ])('takes nothing from standing budgets for a run that ended as %s', async (reason, answer) => {
    const { counts, standing } = portOf((request) => answer(request, counts.asked))
    const { terminal, steps } = await run([], runOptions(standing))
    expect(terminal.reason).toBe(reason)
    const { asked } = counts
    const replayed = await replay(steps.records, { ...runOptions(standing), model: scriptedModel([]) })
    await tick()
    expect([replayed.terminal.reason, counts.asked]).toEqual([reason, asked])
  })
})

describe('a wait whose end is not awaited', () => {
  test('releases what is granted', async () => {
    let give = (): void => {}
    const { counts, standing } = portOf(
      ({ usd }, settle) => new Promise((resolve) => (give = () => resolve({ kind: 'taken', usd, settle }))),
    )
    const clock = createFakeClock({ autoAdvance: true })
    const steps = createMemorySteps({ clock })
    // The step of the wait is rejected, as by a store that is full.
    const inner = steps.run.bind(steps)
    steps.run = (key, effect, options) =>
      key.includes('standing:') ? Promise.reject(new Error('the store is full')) : inner(key, effect, options)
    const going = begin([], { ...runOptions(standing), clock, steps })
    const { terminal } = await going.end()
    expect([terminal.reason, counts.settled]).toEqual(['error', 0])
    give()
    await until(() => counts.settled === 1)
    expect(counts).toEqual({ asked: 1, settled: 1 })
  })
})

test('a resumed process reserves for each request that it makes, also when the wait for it is on record', async () => {
  const waiting = () =>
    portOf(async ({ usd }, settle) => {
      await Promise.resolve()
      return { kind: 'taken', usd, settle }
    })
  const options = (standing: StandingBudgets) => ({
    ...runOptions(standing),
    model: scriptedModel([calls('Look'), 'Done.'], { maxOutputTokens: 1_000 }),
    clock: createFakeClock({ autoAdvance: true }),
  })
  const { steps } = await run([], options(waiting().standing))
  const waits = steps.records.flatMap((record, index) =>
    record.type === 'result' && record.key.includes('standing:') ? [index + 1] : [],
  )
  expect(waits.length).toBe(2)
  for (const recordCount of waits) {
    const { counts, standing } = waiting()
    const records = await killedAfter(recordCount, options(waiting().standing))
    const next = options(standing)
    const { terminal } = await resume(records, next).loop.ended
    expect([recordCount, terminal.reason, counts]).toEqual([
      recordCount,
      'completed',
      { asked: next.model.requests.length, settled: next.model.requests.length },
    ])
    expect(next.model.requests.length).toBeGreaterThan(0)
  }
})

describe('an attempt whose step fails', () => {
  const full = new Error('the store is full')

  test.each([
    ['before it is made releases everything', () => Promise.reject(full), [[0, true]]],
    [
      'after it is settled once, at its cost',
      async (inner: () => Promise<unknown>) => {
        await inner()
        throw full
      },
      [[15, true]],
    ],
  ])('%s', async (_what, fails, expected) => {
    const settled: unknown[] = []
    const settle = (usd: number, isKnown: boolean): number => settled.push([usd, isKnown])
    const { standing } = portOf(({ usd }) => ({ kind: 'taken', usd, settle }))
    const clock = createFakeClock({ autoAdvance: true })
    const steps = createMemorySteps({ clock })
    const inner = steps.run.bind(steps)
    steps.run = (key, effect, options) =>
      key.includes('model:') ? fails(async () => inner(key, effect, options)) : inner(key, effect, options)
    const { terminal } = await begin([], { ...runOptions(standing), clock, steps }).end()
    await tick()
    expect([terminal.reason, settled]).toEqual(['error', expected])
  })
})

describe('a port that returns invalid values', () => {
  test.each<[string, (request: StandingRequest, settle: () => void) => unknown]>([
    ['nothing', () => undefined],
    ['another kind', () => ({ kind: 'maybe' })],
    ['no settle', ({ usd }) => ({ kind: 'taken', usd })],
    ['no budget', () => ({ kind: 'refused' })],
    ['a budget without figures', () => ({ kind: 'refused', budget: { name: '$9 a day' } })],
    ['nothing, later', () => Promise.resolve(null)],
  ])('asks no model: %s', async (_what, answer) => {
    const { standing } = portOf(answer)
    const { terminal, model } = await run([], runOptions(standing))
    expect([terminal.reason, terminal.error?.code, model.requests.length]).toEqual(['error', 'callback', 0])
    expect(terminal.signal.message).toContain('The standing budgets returned an invalid answer: expected')
  })

  test.each([
    ['less than the minimum', ({ leastUsd }: StandingRequest) => leastUsd / 2],
    ['no number', () => NaN],
    ['a negative amount', () => -1],
    ['more than requested', ({ usd }: StandingRequest) => usd * 2],
  ])('asks no model for %s, and releases it', async (_what, usdOf) => {
    const { counts, standing } = portOf((request, settle) => ({ kind: 'taken', usd: usdOf(request), settle }))
    const { terminal, model } = await run([], runOptions(standing))
    expect([terminal.reason, model.requests.length, counts.settled]).toEqual(['error', 0, 1])
    expect(terminal.signal.message).toContain('The standing budgets returned an invalid answer: expected')
  })
})
