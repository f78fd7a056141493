import type { Usage } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPrices, snapshotSource } from '../src/index.ts'
import type { ModelPrice } from '../src/index.ts'
import { snapshotTable } from '../src/prices/snapshot.ts'

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

test('a model without a price is unknown, and never the nearest one', () => {
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

test('a tier holds for the whole request, by the size of its whole prompt', () => {
  const prices = createPrices()
  const cost = (read: number, input: number) =>
    prices.cost('claude-haiku-5-5', usage({ input_tokens: input, cache_read_input_tokens: read, output_tokens: 1000 }))
  expect(cost(90_000, 10_000)).toBeCloseTo((90_000 * 0.01 + 10_000 * 0.1 + 1000 * 0.5) / million, 12)
  expect(cost(90_000, 10_001)).toBeCloseTo((90_000 * 0.05 + 10_001 * 0.5 + 1000 * 2.5) / million, 12)
})

test('where reading or writing the cache has no rate of its own, it is billed as input', () => {
  const prices = createPrices()
  expect(prices.cost('openai/gpt-4', usage({ cache_read_input_tokens: million }))).toBe(30)
  expect(prices.cost('openai/gpt-4', usage({ cache_creation_input_tokens: million }))).toBe(30)
  expect(prices.cost('openai/gpt-4', usage(hour(million)))).toBe(30)
})

describe('overrides', () => {
  test('go before the snapshot, and give a price to what had none', () => {
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

  test.each([{ input: -1, output: 1 }, { input: 1, output: Number.NaN }, { input: 1, output: '2' }, { input: 1 }])(
    '%j is refused',
    (price) => {
      const prices = createPrices({ own: price as ModelPrice })
      expect(() => prices.cost('own', usage({}))).toThrow(/price of own is not usable/)
    },
  )
})

test('no usage costs more than the worst case of its tokens', () => {
  const tokens = fc.nat(2 * million)
  const rate = fc.double({ min: 0, max: 200, noNaN: true })
  const tier = fc.record(
    { input: rate, output: rate, cacheRead: rate, cacheWrite: rate, cacheWrite1h: rate },
    { requiredKeys: ['input', 'output'] },
  )
  // All rates alike, so that the cost is the worst case and nothing may be lost in adding up.
  const flat = rate.map((all): ModelPrice => ({ input: all, output: all, cacheWrite1h: all }))
  const price = fc
    .tuple(tier, fc.array(fc.tuple(fc.nat(million), tier), { maxLength: 3 }))
    .map(([base, tiers]): ModelPrice => ({
      ...base,
      tiers: tiers.map(([inputTokensAbove, rest]) => ({ inputTokensAbove, ...rest })),
    }))
  const some = fc.record({
    input: tokens,
    read: tokens,
    written: tokens,
    forAnHour: tokens,
    output: tokens,
    more: fc.constantFrom(0, 1, 1000),
  })
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...ids), price, flat),
      some,
      (model, { input, read, written, forAnHour, output, more }) => {
        const prices = createPrices(typeof model === 'string' ? {} : { own: model })
        const id = typeof model === 'string' ? model : 'own'
        const used = usage({
          input_tokens: input,
          cache_read_input_tokens: read,
          cache_creation_input_tokens: written,
          cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: forAnHour },
          output_tokens: output,
        })
        const worst = prices.worstCase(id, { inputTokens: input + read + written + more, outputTokens: output + more })
        expect(worst).toBeGreaterThanOrEqual(prices.cost(id, used)!)
      },
    ),
    { numRuns: 5000 },
  )
})

test('the snapshot says where it comes from, and every line of it is a price', () => {
  expect(snapshotSource).toMatch(/MIT.*2026-11-10/)
  const prices = createPrices()
  expect(new Set(ids).size).toBe(138)
  for (const id of ids) expect(prices.cost(id, usage({ input_tokens: 1, output_tokens: 1 }))).toBeGreaterThanOrEqual(0)
})
