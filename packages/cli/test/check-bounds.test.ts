// Holds rules of docs/spec: R-LIM-66, R-LIM-66a: which figures help, and what is said in the place of others.
import { certificate, type AgentTool, type Model, type RunOptions } from '@halting/core'
import { forecast } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { createPrices } from '@halting/models'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundsText, helpfulBounds, type HelpfulBound } from '../src/check/bounds-text.ts'
import { styleFor } from '../src/io/style.ts'

const model = (id: string): Model => scriptedModel([], { id, contextWindow: 200_000, maxOutputTokens: 32_000 })
const prices = createPrices({
  dear: { input: 15, output: 75 },
  cheap: { input: 0.1, output: 0.4 },
  free: { input: 0, output: 0 },
})

function checked(options: RunOptions) {
  const likely = forecast(options)
  const bounds = certificate(options)
  const defaults = options.maxTurns === undefined ? (['maxTurns'] as const) : []
  const helpful = helpfulBounds(bounds, { options, forecast: likely, defaults })
  return { helpful, likely, lines: boundsText(helpful, bounds.halts, styleFor(false, {})).slice(2) }
}

const agent: AgentTool = {
  name: 'Agent',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: '' }),
}

const anyOptions = fc
  .record(
    {
      model: fc.constantFrom('dear', 'cheap', 'free', 'unpriced'),
      fallbackModel: fc.constantFrom('dear', 'cheap', 'free'),
      maxTurns: fc.integer({ min: 1, max: 2_000 }),
      maxBudgetUsd: fc.double({ min: 0.001, max: 1_000, noNaN: true }),
      maxRunUsd: fc.oneof(fc.double({ min: 0.001, max: 1_000, noNaN: true }), fc.constant(Infinity)),
      maxTotalTokens: fc.integer({ min: 1, max: 1e12 }),
      maxDurationMs: fc.integer({ min: 1, max: 1e9 }),
      maxToolCalls: fc.integer({ min: 1, max: 1e6 }),
      maxRetries: fc.nat(20),
    },
    { requiredKeys: ['model'] },
  )
  .map(({ model: id, fallbackModel, maxBudgetUsd, maxRunUsd, ...limits }): RunOptions => {
    const isPriced = id !== 'unpriced'
    return {
      ...limits,
      tools: [agent],
      prices,
      model: model(id),
      ...(fallbackModel !== undefined && fallbackModel !== id && { fallbackModel: model(fallbackModel) }),
      ...(isPriced && maxBudgetUsd !== undefined && { maxBudgetUsd }),
      ...(isPriced && maxRunUsd !== undefined && { maxRunUsd }),
    }
  })

describe('the bounds that halting check prints', () => {
  test('are figures for limits and bounds within a thousand times the likely figure, otherwise words', () => {
    fc.assert(
      fc.property(anyOptions, (options) => {
        const { helpful, likely, lines } = checked(options)
        const turns = helpful.turns.bounded && !likely.canBegin ? helpful.turns.value : likely.likely.turns
        const likelyOf: { readonly [name: string]: number } = {
          usd: Math.max(likely.likely.usd ?? 0, likely.first.usd ?? 0),
          tokens: Math.max(likely.likely.tokens, likely.first.tokens),
          requests: turns,
          laps: turns,
        }
        for (const [name, bound] of Object.entries<HelpfulBound | undefined>(helpful)) {
          if (bound?.useful !== false) continue
          expect(bound.bounded && bound.value).toBeGreaterThan(1_000 * (likelyOf[name] ?? Infinity))
        }
        // Limits that were given are figures.
        const { maxBudgetUsd = Infinity, maxRunUsd = Infinity, maxTurns = 1_000, maxToolCalls, maxDurationMs } = options
        const usd = Math.min(maxBudgetUsd, maxRunUsd)
        const figures = Object.entries({ turns: maxTurns, toolCalls: maxToolCalls, seconds: maxDurationMs, usd })
        for (const [name, given] of figures) {
          const isGiven = given !== undefined && given !== Infinity
          const { useful = false } = helpful[name as 'turns' | 'toolCalls' | 'seconds' | 'usd']
          expect(useful || !isGiven).toBe(true)
        }
        for (const line of lines) expect(/ - {2}/.test(line)).toBe(/no limit|far above any real run/.test(line))
      }),
      { numRuns: 60 },
    )
  })

  test('never suggest a flag that would be refused or have no effect', () => {
    const add = (options: Partial<RunOptions>) => {
      const { tokens, usd } = checked({ model: model('cheap'), tools: [agent], prices, ...options }).helpful
      return [usd.add, tokens.add]
    }
    expect([
      add({}),
      add({ model: model('unpriced') }),
      add({ maxBudgetUsd: 5 }),
      add({ maxBudgetUsd: 5, fallbackModel: model('free') }),
      add({ fallbackModel: model('unpriced') }),
    ]).toEqual([
      [['--max-budget-usd'], ['--max-tokens', '--max-budget-usd']],
      [undefined, ['--max-tokens']],
      [undefined, undefined],
      [undefined, ['--max-tokens']],
      [undefined, ['--max-tokens']],
    ])
  })

  test('mark defaults, and say how to remove the dollar limit (spec R-LIM-68)', () => {
    const options = { model: model('cheap'), prices, maxRunUsd: 10 }
    const bounds = certificate(options)
    const helpful = helpfulBounds(bounds, { options, forecast: forecast(options), defaults: ['maxTurns', 'maxRunUsd'] })
    expect([helpful.usd.default, helpful.turns.default, helpful.tokens.default, helpful.laps.default]).toEqual([
      true,
      true,
      true,
      undefined,
    ])
    const lines = boundsText(helpful, bounds.halts, styleFor(false, {})).slice(2, 6)
    expect(lines.map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
      ' | cost | $10.00 | default of --max-run-usd, reserved before each request; --max-run-usd none removes it',
      ' | turns | 1,000 | default of --max-turns',
      ' | tool calls | - | no limit; add --max-tool-calls',
      ' | tokens | 100,000,000 | default of --max-run-usd at $0.1 per million tokens, the lowest price of cheap',
    ])
  })
})
