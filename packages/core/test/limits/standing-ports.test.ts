// Holds rules of docs/spec.md: R-STAND-50 to R-STAND-52: nothing is taken that nobody settles, whatever becomes of the wait and whatever the port gives.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, replay, type StandingBudgets, type StandingRequest } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, reader, run, tick, until, type Given } from '../support/harness.ts'

/** Standing budgets that give whatever they are told to, and count what of it is settled. */
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

const given = (standing: StandingBudgets): Given => ({
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
  ])('takes nothing of standing budgets: of a run that ended as %s', async (reason, answer) => {
    const { counts, standing } = portOf((request) => answer(request, counts.asked))
    const { terminal, steps } = await run([], given(standing))
    expect(terminal.reason).toBe(reason)
    const { asked } = counts
    const replayed = await replay(steps.records, given(standing) as Parameters<typeof replay>[1])
    await tick()
    expect([replayed.terminal.reason, counts.asked]).toEqual([reason, asked])
  })
})

describe('a wait that nobody hears the end of', () => {
  test('gives back what comes', async () => {
    let give = (): void => {}
    const { counts, standing } = portOf(
      ({ usd }, settle) => new Promise((resolve) => (give = () => resolve({ kind: 'taken', usd, settle }))),
    )
    const clock = createFakeClock({ autoAdvance: true })
    const steps = createMemorySteps({ clock })
    // The step of the wait is refused, as by a store that is full.
    const runStep = steps.run.bind(steps)
    steps.run = (key, effect, options) =>
      key.includes('standing:') ? Promise.reject(new Error('the store is full')) : runStep(key, effect, options)
    const going = begin([], { ...given(standing), clock, steps })
    const { terminal } = await going.end()
    expect([terminal.reason, counts.settled]).toEqual(['error', 0])
    give()
    await until(() => counts.settled === 1)
    expect(counts).toEqual({ asked: 1, settled: 1 })
  })
})

describe('a port that keeps to no type', () => {
  test.each<[string, (request: StandingRequest, settle: () => void) => unknown]>([
    ['nothing', () => undefined],
    ['another kind', () => ({ kind: 'maybe' })],
    ['no settle', ({ usd }) => ({ kind: 'taken', usd })],
    ['no budget', () => ({ kind: 'refused' })],
    ['a budget without figures', () => ({ kind: 'refused', budget: { name: '$9 a day' } })],
    ['nothing, later', () => Promise.resolve(null)],
  ])('asks no model: %s', async (_what, answer) => {
    const { standing } = portOf(answer)
    const { terminal, model } = await run([], given(standing))
    expect([terminal.reason, terminal.error?.code, model.requests.length]).toEqual(['error', 'callback', 0])
    expect(terminal.signal.message).toContain('The standing budgets gave no answer: neither')
  })

  test.each([
    ['less than the least', ({ leastUsd }: StandingRequest) => leastUsd / 2],
    ['no number', () => NaN],
    ['less than nothing', () => -1],
    ['more than all', ({ usd }: StandingRequest) => usd * 2],
  ])('asks no model for %s, and gives it back', async (_what, usdOf) => {
    const { counts, standing } = portOf((request, settle) => ({ kind: 'taken', usd: usdOf(request), settle }))
    const { terminal, model } = await run([], given(standing))
    expect([terminal.reason, model.requests.length, counts.settled]).toEqual(['error', 0, 1])
    expect(terminal.signal.message).toContain('The standing budgets gave no answer: neither')
  })
})
