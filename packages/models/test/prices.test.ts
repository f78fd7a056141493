import { ConfigurationError } from '@halting/core'
import type { Usage } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPrices, mergePriceOverrides, openai, snapshotSource } from '../src/index.ts'
import type { ModelPrice } from '../src/index.ts'
import { parsePriceOverrides } from '../src/prices/price-overrides.ts'
import { snapshotTable } from '../src/prices/snapshot.ts'
import { drawn } from './support/deep.ts'

const million = 1_000_000
const usage = (parts: Partial<Usage>): Usage => ({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  ...parts,
})
const hour = (tokens: number): Partial<Usage> => ({
  cache_creation_input_tokens: tokens,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: tokens },
})
const searches = (count: number): Partial<Usage> => ({ server_tool_use: { web_search_requests: count } })
const ids = snapshotTable
  .trim()
  .split('\n')
  .map((line) => line.split(' ')[0]!)

describe('the prices of the snapshot', () => {
  test.each([
    ['claude-opus-5-5', 4, 20, 5, 8, 0.2],
    ['claude-opus-5', 5, 25, 6.25, 10, 0.5],
    ['claude-opus-4-5', 5, 25, 6.25, 10, 0.5],
    ['claude-sonnet-5', 2, 10, 2.5, 4, 0.2],
    ['claude-sonnet-4-5-20250929', 3, 15, 3.75, 6, 0.3],
    ['claude-haiku-4-5', 1, 5, 1.25, 2, 0.1],
    ['claude-fable-5', 10, 50, 12.5, 20, 1],
  ])('%s', (model, input, output, write, hourWrite, read) => {
    const prices = createPrices()
    const costs = [
      usage({ input_tokens: million }),
      usage({ output_tokens: million }),
      usage({ cache_creation_input_tokens: million }),
      usage(hour(million)),
      usage({ cache_read_input_tokens: million }),
    ].map((used) => prices.cost(model, used))
    expect(costs).toEqual([input, output, write, hourWrite, read])
    expect(prices.cost(`anthropic/${model}`, usage({ input_tokens: million }))).toBe(input)
  })
})

test('are unknown for a model without a price, never those of a similar one', () => {
  const prices = createPrices()
  for (const model of [
    'claude-opus',
    'claude-opus-5-6',
    'Claude-Opus-5',
    'claude-opus-5 ',
    '',
    'constructor',
    '__proto__',
  ]) {
    expect(prices.cost(model, usage({ input_tokens: 1 }))).toBeUndefined()
    expect(prices.worstCase(model, { inputTokens: 1, outputTokens: 1 })).toBeUndefined()
  }
})

test('apply a tier to the whole request, by its prompt size', () => {
  const prices = createPrices()
  const cost = (read: number, input: number) =>
    prices.cost('claude-haiku-5-5', usage({ input_tokens: input, cache_read_input_tokens: read, output_tokens: 1000 }))
  expect(cost(90_000, 10_000)).toBeCloseTo((90_000 * 0.01 + 10_000 * 0.1 + 1000 * 0.5) / million, 12)
  expect(cost(90_000, 10_001)).toBeCloseTo((90_000 * 0.05 + 10_001 * 0.5 + 1000 * 2.5) / million, 12)
})

test('use the input rate if cache reads or writes have none', () => {
  const prices = createPrices()
  expect(prices.cost('openai/gpt-4', usage({ cache_read_input_tokens: million }))).toBe(30)
  expect(prices.cost('openai/gpt-4', usage({ cache_creation_input_tokens: million }))).toBe(30)
  expect(prices.cost('openai/gpt-4', usage(hour(million)))).toBe(30)
})

describe('overrides', () => {
  test('take precedence over the snapshot, and add prices', () => {
    const prices = createPrices({
      'claude-opus-5': { input: 1, output: 2, cacheRead: 0 },
      'anthropic/claude-own': { input: 3, output: 4, tiers: [{ inputTokensAbove: 10, input: 6, output: 8 }] },
    })
    expect(
      prices.cost('anthropic/claude-opus-5', usage({ input_tokens: million, cache_read_input_tokens: million })),
    ).toBe(1)
    expect(prices.cost('claude-own', usage({ input_tokens: 10 }))).toBeCloseTo(30 / million, 12)
    expect(prices.cost('claude-own', usage({ input_tokens: 11 }))).toBeCloseTo(66 / million, 12)
  })

  test('replace a whole entry: a missing rate is that of the input', () => {
    const prices = createPrices({ 'claude-haiku-5-5': { input: 1, output: 2 } })
    const read = usage({ cache_read_input_tokens: million })
    expect(prices.cost('claude-haiku-5-5', read)).toBe(1)
    expect(prices.cost('claude-haiku-5-5', usage({ input_tokens: million }))).toBe(1)
  })
})

describe('web searches', () => {
  test('cost 10 dollars per thousand at Anthropic and OpenAI, and what an override says elsewhere', () => {
    const prices = createPrices({
      dear: { input: 1, output: 1, webSearch: 25 },
      free: { input: 1, output: 1, webSearch: 0 },
      unsaid: { input: 1, output: 1 },
    })
    const costs = [
      'claude-opus-5-5',
      'anthropic/claude-haiku-4-5',
      'openai/gpt-5',
      'mistral/devstral-2512',
      'dear',
      'free',
      'unsaid',
    ].map((id) => prices.cost(id, usage({ input_tokens: 1_000, ...searches(7) })))
    expect(costs).toEqual([0.074, 0.071, 0.07125, 0.0004, 0.176, 0.001, 0.071])
  })

  test("of OpenAI's small models add 8,000 tokens each", () => {
    const ids = ['openai/gpt-4o-mini', 'openai/gpt-4.1-mini', 'openai/gpt-4.1']
    const costs = ids.map((id) => createPrices().cost(id, usage(searches(10))))
    expect(costs).toEqual([0.1 + 8_000 * 10 * 0.15e-6, 0.1 + 8_000 * 10 * 0.4e-6, 0.1])
  })

  test('are reserved for each allowed use', () => {
    const bound = { inputTokens: 1_000, outputTokens: 100 }
    const worst = (uses?: number) =>
      createPrices().worstCase('claude-opus-5-5', uses === undefined ? bound : { ...bound, serverToolUses: uses })
    expect([worst(), worst(0), worst(1), worst(8)]).toEqual([0.01, 0.01, 0.02, 0.09])
  })

  test('without a limit have no finite worst case, unless they are free', () => {
    const prices = createPrices({ free: { input: 0, output: 1, webSearch: 0 } })
    const endless = { inputTokens: Infinity, outputTokens: 1, serverToolUses: Infinity }
    expect(prices.worstCase('claude-opus-5-5', endless)).toBe(Infinity)
    expect(prices.worstCase('free', endless)).toBe(0.000001)
  })
})

describe('prices from settings', () => {
  const problemsOf = (value: unknown): readonly string[] => {
    try {
      parsePriceOverrides(value)
    } catch (error) {
      if (error instanceof ConfigurationError) return error.message.split('\n')
      throw error
    }
    return []
  }

  test('are returned as written', () => {
    const settings = {
      'claude-own': { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, webSearch: 12 },
      'org/local': { input: 0, output: 0 },
      tiered: {
        input: 1,
        output: 2,
        tiers: [
          { inputTokensAbove: 1_000, input: 2, output: 4, cacheRead: 0.2 },
          { inputTokensAbove: 2_000, input: 4, output: 8 },
        ],
      },
    }
    expect(parsePriceOverrides(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
    expect(parsePriceOverrides({})).toEqual({})
  })

  const rates = 'US dollars per million tokens'
  test.each<[what: string, price: unknown, problem: string]>([
    ['negative', { input: -1, output: 1 }, `: input is -1. Give ${rates}, 0 or more.`],
    ['not a number', { input: 1, output: Number.NaN }, `: output is NaN. Give ${rates}, 0 or more.`],
    ['endless', { input: 1, output: 1, cacheRead: Infinity }, `: cacheRead is Infinity. Give ${rates}, 0 or more.`],
    ['text', { input: '3', output: 1 }, `: input is "3". Give ${rates}, 0 or more.`],
    ['null', { input: 1, output: 1, cacheWrite: null }, `: cacheWrite is null. Give ${rates}, 0 or more.`],
    ['without input', { output: 1 }, ` has no input. Give ${rates}.`],
    ['without output', { input: 1 }, ` has no output. Give ${rates}.`],
    [
      'dollars per token',
      { input: 0.000003, output: 1 },
      `: input is 0.000003, which looks like dollars per token. Give ${rates}.`,
    ],
    ['a similar name', { input: 1, output: 1, cache_read: 1 }, ' has no field cache_read. Did you mean cacheRead?'],
    ['a capital', { Input: 1, input: 1, output: 1 }, ' has no field Input. Did you mean input?'],
    [
      'a negative fee',
      { input: 1, output: 1, webSearch: -1 },
      ': webSearch is -1. Give US dollars per thousand searches, 0 or more.',
    ],
    ['a number', 3, ' must be an object like { "input": 3, "output": 15 }.'],
    ['a list', [3, 15], ' must be an object like { "input": 3, "output": 15 }.'],
    ['tiers that are not a list', { input: 1, output: 1, tiers: {} }, ': tiers must be a list, not {}.'],
    [
      'a tier without a size',
      { input: 1, output: 1, tiers: [{ input: 1, output: 1 }] },
      ', tier 1: inputTokensAbove is nothing. Give a whole number of tokens above 0.',
    ],
    [
      'a tier with a negative size',
      { input: 1, output: 1, tiers: [{ inputTokensAbove: -5, input: 1, output: 1 }] },
      ', tier 1: inputTokensAbove is -5. Give a whole number of tokens above 0.',
    ],
    [
      'tiers out of order',
      {
        input: 1,
        output: 1,
        tiers: [
          { inputTokensAbove: 9, input: 1, output: 1 },
          { inputTokensAbove: 9, input: 1, output: 1 },
        ],
      },
      ', tier 2: inputTokensAbove is 9, which is not above 9. List tiers from low to high.',
    ],
    [
      'a tier with an invalid rate',
      { input: 1, output: 1, tiers: [{ inputTokensAbove: 9, input: -1, output: 1 }] },
      `, tier 1: input is -1. Give ${rates}, 0 or more.`,
    ],
    [
      'a tier with its own fee',
      { input: 1, output: 1, tiers: [{ inputTokensAbove: 9, input: 1, output: 1, webSearch: 1 }] },
      ', tier 1 has no field webSearch. Its fields are input, output, cacheRead, cacheWrite, cacheWrite1h, inputTokensAbove.',
    ],
    [
      'a tier that is not an object',
      { input: 1, output: 1, tiers: [9] },
      ', tier 1 must be an object like { "inputTokensAbove": 200000, "input": 6, "output": 22.5 }.',
    ],
  ])('are rejected: %s', (_what, price, problem) => {
    expect(problemsOf({ 'claude-own': price })).toEqual([`The price of claude-own${problem}`])
    expect(() => createPrices({ 'claude-own': price as ModelPrice })).toThrow(ConfigurationError)
  })

  test('are rejected with all problems at once', () => {
    expect(problemsOf({ a: { input: -1, outptu: 2 }, ' b': { input: 1, output: 1 }, c: null })).toEqual([
      'The price of a has no field outptu. Did you mean output?',
      'The price of a: input is -1. Give US dollars per million tokens, 0 or more.',
      'The price of a has no output. Give US dollars per million tokens.',
      '" b" is not a valid model ID.',
      'The price of c must be an object like { "input": 3, "output": 15 }.',
    ])
    expect(problemsOf({ 'claude-x': { input: 1, output: 1 }, 'anthropic/claude-x': { input: 2, output: 2 } })).toEqual([
      '"claude-x" and "anthropic/claude-x" are the same model: give its price once.',
    ])
    expect(problemsOf({ 'gpt-x': { input: 1, output: 1 }, 'openai/gpt-x': { input: 2, output: 2 } })).toEqual([
      '"gpt-x" and "openai/gpt-x" are the same model: give its price once.',
    ])
    for (const value of [null, [], 'claude', 3, undefined]) {
      expect(problemsOf(value)).toEqual([
        expect.stringMatching(/^Prices must be an object of prices by model ID \(received /),
      ])
    }
  })
})

test('keeps the cost of any usage between the minimum of its tokens and the worst case (spec R-LIM-60)', () => {
  const tokens = fc.nat(2 * million)
  const rate = fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 200, noNaN: true }))
  const tier = fc.record(
    { input: rate, output: rate, cacheRead: rate, cacheWrite: rate, cacheWrite1h: rate },
    { requiredKeys: ['input', 'output'] },
  )
  // All rates are equal, so that the cost is the worst case and sums lose nothing.
  const flat = rate.map((all): ModelPrice => ({ input: all, output: all, cacheWrite1h: all, webSearch: all }))
  const sizes = fc.uniqueArray(fc.integer({ min: 1, max: million }), { maxLength: 3 })
  const price = fc
    .tuple(tier, fc.option(rate, { nil: undefined }), sizes, fc.array(tier, { minLength: 3, maxLength: 3 }))
    .map(([base, webSearch, above, tiers]): ModelPrice => ({
      ...base,
      ...(webSearch !== undefined && { webSearch }),
      tiers: above.toSorted((a, b) => a - b).map((inputTokensAbove, index) => ({ ...tiers[index]!, inputTokensAbove })),
    }))
  const some = fc.record({
    input: tokens,
    read: tokens,
    written: tokens,
    forAnHour: tokens,
    output: tokens,
    uses: fc.nat(20),
    more: fc.constantFrom(0, 1, 1000),
  })
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...ids), price, flat),
      some,
      (model, { input, read, written, forAnHour, output, uses, more }) => {
        const prices = createPrices(typeof model === 'string' ? {} : { own: model })
        const id = typeof model === 'string' ? model : 'own'
        const used = usage({
          input_tokens: input,
          cache_read_input_tokens: read,
          cache_creation_input_tokens: written,
          cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: forAnHour },
          output_tokens: output,
          ...searches(uses),
        })
        const worst = prices.worstCase(id, {
          inputTokens: input + read + written + more,
          outputTokens: output + more,
          serverToolUses: uses + (more % 3),
        })
        const cost = prices.cost(id, used)!
        expect(worst).toBeGreaterThanOrEqual(cost)
        const [tokens, least] = [input + read + written + output, prices.leastPerToken!(id)!]
        // Their product has a rounding error in its last digits.
        expect(cost).toBeGreaterThanOrEqual(tokens * least * (1 - 1e-12))
      },
    ),
    { numRuns: drawn(5000) },
  )
})

test('takes the minimum from the cheapest kind of token in the cheapest tier', () => {
  const prices = createPrices({
    free: { input: 0, output: 1 },
    tiered: { input: 3, output: 9, tiers: [{ inputTokensAbove: 10, input: 2, output: 8, cacheRead: 1 }] },
  })
  const least = ['claude-sonnet-5-5', 'openai/gpt-4', 'claude-haiku-5-5', 'free', 'tiered', 'unknown'].map((id) =>
    prices.leastPerToken?.(id),
  )
  expect(least).toEqual([1e-7, 3e-5, 1e-8, 0, 1e-6, undefined])
})

test('names the source of the snapshot, in which every line is a price', () => {
  expect(snapshotSource).toMatch(/MIT.*2026-11-10/)
  const prices = createPrices()
  expect(new Set(ids).size).toBe(138)
  for (const id of ids) expect(prices.cost(id, usage({ input_tokens: 1, output_tokens: 1 }))).toBeGreaterThanOrEqual(0)
})

test('takes a price from the first source that lists the model under any of its names', () => {
  const price = (input: number) => ({ input, output: 1 })
  expect(
    mergePriceOverrides([
      { 'anthropic/claude-x': price(1), a: price(2) },
      { 'claude-x': price(3), b: price(4) },
    ]),
  ).toEqual({ 'claude-x': price(1), a: price(2), b: price(4) })
})

test('finds price and sizes of an OpenAI model with and without its prefix', () => {
  const known = createPrices()
  const cost = (id: string, used: Usage): number | undefined => known.cost(id, used)
  const used = usage({ input_tokens: million })
  expect(cost('gpt-5', used)).toBe(cost('openai/gpt-5', used))
  expect(cost('gpt-5', used)).toBeGreaterThan(0)
  expect(createPrices({ 'gpt-5': { input: 7, output: 7 } }).cost('openai/gpt-5', used)).toBe(7)
  const { contextWindow, maxOutputTokens } = openai({ model: 'gpt-5', id: 'openai/gpt-5', apiKey: 'key' })
  expect(openai({ model: 'gpt-5', apiKey: 'key' })).toMatchObject({ contextWindow, maxOutputTokens })
  expect(cost('openai-compatible/gpt-5', used)).toBeUndefined()
})
