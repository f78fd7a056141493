// Tests R-BUD-3a, R-CERT-8, R-LIM-64, R-LIM-64a, R-LIM-64b: a budget without room for a request is reported with what is missing, before the run and when it ends it.
import { describe, expect, test } from 'vitest'
import { forecast, plainContext } from '../src/entries/adapters.ts'
import { CostLimitHook } from '../src/compat/index.ts'
import { certificate, type Usage } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { dollarATokenPrices as prices, run, type RunTestOptions } from './support/harness.ts'

const model = scriptedModel(['answer'], { maxOutputTokens: 4_000 })
/** The maximum input of the first request, and the minimum reply. */
const needed = 1_000 + 16 + 2 + 2 + 1_024
const forecastOf = (options: RunTestOptions) => forecast({ model, prices, ...options }, 'go')

describe('predicts what the first request needs', () => {
  test.each<[string, RunTestOptions, number]>([
    ['a budget', { maxBudgetUsd: 500 }, needed],
    ['tokens', { maxTotalTokens: 500 }, needed],
    ['a budget with a last answer', { maxBudgetUsd: 500, wrapUp: true }, needed + needed + 1_000 + 1_024],
  ])('by %s', async (_what, limits, expected) => {
    const { first, canBegin, likely } = forecastOf(limits)
    expect([first, canBegin, likely.turns]).toEqual([{ usd: expected, tokens: expected }, false, 0])
    const { terminal } = await run([], { model, prices, ...limits })
    const { needed: tokens, neededUsd = tokens, limitNeeded, limitNeededUsd = limitNeeded } = terminal.signal.context
    expect([neededUsd, limitNeededUsd]).toEqual([expected, expected])
    const enough = limits.maxTotalTokens === undefined ? { maxBudgetUsd: expected } : { maxTotalTokens: expected }
    expect(forecastOf({ ...limits, ...enough }).canBegin).toBe(true)
    expect((await run([], { model, prices, ...limits, ...enough })).model.requests.length).toBeGreaterThan(0)
  })

  test('and includes what the session has spent', () => {
    expect(forecastOf({ maxBudgetUsd: needed, spentBeforeUsd: 1 }).canBegin).toBe(false)
    expect(forecastOf({ maxBudgetUsd: needed }).canBegin).toBe(true)
  })

  test('without dollars for a model without a price', () => {
    expect(forecast({ model }, 'go')).toMatchObject({ first: { usd: null }, likely: { usd: null } })
  })
})

describe('the likely course names the limit that ends it', () => {
  test.each<[string, RunTestOptions]>([
    ['maxTurns', { maxTurns: 5 }],
    ['maxBudgetUsd', { maxBudgetUsd: 100_000 }],
    ['maxTokens', { maxTotalTokens: 100_000 }],
  ])('%s', (endsBy, limits) => {
    const { likely } = forecastOf(limits)
    expect(likely.endsBy).toBe(endsBy)
    expect(likely.turns).toBeGreaterThan(4)
    const { usd, tokens } = certificate({ model, prices, ...limits })
    const most = [usd, tokens].map((bound) => (bound.bounded ? bound.value : Infinity))
    expect([likely.usd ?? 0, likely.tokens].map((figure, index) => figure <= (most[index] ?? 0))).toEqual([true, true])
  })

  test('and is long when nothing ends it', () => {
    const context = { ...plainContext, autoCompact: true }
    expect(forecastOf({ context, maxTurns: 5_000 }).likely).toMatchObject({ turns: 1_000, endsBy: null })
    expect(forecastOf({ context }).likely).toMatchObject({ turns: 1_000, endsBy: 'maxTurns' })
  })
})

test('also estimates runs of 10 and of 50 turns when no limit ends them earlier', () => {
  const turnsOf = (options: RunTestOptions) => forecastOf(options).shorter.map(({ turns }) => turns)
  expect([turnsOf({}), turnsOf({ maxTurns: 50 }), turnsOf({ maxTurns: 10 }), turnsOf({ maxBudgetUsd: 1 })]).toEqual([
    [10, 50],
    [10],
    [],
    [],
  ])
  const { shorter, likely } = forecastOf({ maxTurns: 80 })
  const sizes = [...shorter, likely].map(({ usd, tokens }) => [usd ?? 0, tokens])
  expect(sizes).toEqual(sizes.toSorted(([a = 0], [b = 0]) => a - b))
  const tenTurns = forecastOf({ maxTurns: 10 }).likely
  expect(shorter[0]).toEqual({ turns: tenTurns.turns, usd: tenTurns.usd, tokens: tenTurns.tokens })
})

test('names the limit of a run that is lower than what the session has left', () => {
  const endsBy = (options: RunTestOptions) => forecastOf(options).likely.endsBy
  const stopWhen = new CostLimitHook(100_000)
  expect([
    endsBy({ stopWhen, maxBudgetUsd: 200_000 }),
    endsBy({ stopWhen, maxBudgetUsd: 200_000, spentBeforeUsd: 150_000 }),
  ]).toEqual(['maxRunUsd', 'maxBudgetUsd'])
})

describe('a conversation that gets too long', () => {
  const context = (threshold: number) => ({ ...plainContext, autoCompact: true, compactionThreshold: () => threshold })
  const tokens = (options: RunTestOptions) => forecastOf({ maxTurns: 400, ...options }).likely.tokens

  test('is assumed to be compacted, which is paid for', () => {
    const [shortened, atTheWindow] = [tokens({ context: context(50_000) }), tokens({ context: context(1e9) })]
    expect(shortened).toBeLessThan(atTheWindow / 2)
    // When a summary would free nothing, none is made.
    expect(tokens({ context: context(1) })).toBeGreaterThan(0)
    const written = { ...prices, cost: (_model: string, usage: Usage) => usage.output_tokens }
    const { likely } = forecastOf({ maxTurns: 60, context: context(50_000), prices: written })
    const summaries = ((likely.usd ?? 0) - 60 * 400) / 4_000
    expect(summaries).toBe(2)
  })

  test('costs no more than the limit leaves, also when a summary precedes the turn', () => {
    const limits = Array.from({ length: 400 }, (_, index) => 600_000 + 2_000 * index)
    const over = limits.filter(
      (maxTotalTokens) => tokens({ context: context(50_000), maxTotalTokens }) > maxTotalTokens,
    )
    expect(over).toEqual([])
  })

  test('ends the run when nothing compacts it', () => {
    const { likely, shorter } = forecastOf({})
    expect(likely.endsBy).toBe('contextWindow')
    expect(likely.turns).toBeLessThan(200_000 / 1_900)
    expect(shorter.map(({ turns }) => turns)).toEqual([10, 50])
    expect(forecastOf({ maxTurns: 20 }).likely.endsBy).toBe('maxTurns')
  })
})

test('explains in figures that a budget fits no request', async () => {
  const dollars = await run([], { model, prices, maxBudgetUsd: 500 })
  expect(dollars.terminal.signal.message).toBe(
    `No request fits a budget of $500: the first one may cost up to $${needed}`,
  )
  const tokens = await run([], { model, maxTotalTokens: 500 })
  expect(tokens.terminal.signal.message).toBe(`No request fits a limit of 500 tokens: the first one may need ${needed}`)
})

test('explains that request and last answer do not both fit: the last answer is made anyway', async () => {
  const both = needed + needed + 1_000 + 1_024
  const limits = { maxBudgetUsd: both - 1, wrapUp: true }
  const { terminal, model: asked } = await run([], {
    model: scriptedModel(['last words'], { maxOutputTokens: 4_000 }),
    prices,
    ...limits,
  })
  expect([terminal.reason, terminal.signal.message, asked.requests.length]).toEqual([
    'max_budget_usd',
    `A turn and a last answer do not fit a budget of $${both - 1}: together they may cost up to $${both}`,
    1,
  ])
})
