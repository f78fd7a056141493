// Tests R-LIM-60, R-LIM-60a, R-LIM-60b, R-LIM-61: the maximum number of tokens that a dollar limit buys.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { noUsage, plainContext } from '../../src/entries/adapters.ts'
import { maxTokensFor, nanosOf } from '../../src/model/prices.ts'
import {
  certificate,
  createMemorySteps,
  resume,
  startRun,
  streamRun,
  type AgentTool,
  type Model,
  type Prices,
  type RunOptions,
  type Tool,
  type Usage,
} from '../../src/index.ts'
import { CostLimitHook } from '../../src/compat/index.ts'
import type { StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { drawn } from '../support/deep.ts'
import { calls, json, reader, subagent } from '../support/harness.ts'

/** Millionths of a millionth of a dollar a token. */
interface Rates {
  readonly input: number
  readonly read: number
  readonly write: number
  readonly output: number
}

function pricesOf(rates: ReadonlyMap<string, Rates>, least = leastOf): Required<Prices> {
  const dollars = (model: string, picos: (of: Rates) => number): number | undefined => {
    const of = rates.get(model)
    return of === undefined ? undefined : picos(of) / 1e12
  }
  return {
    cost: (model, usage) =>
      dollars(
        model,
        ({ input, read, write, output }) =>
          input * usage.input_tokens +
          read * usage.cache_read_input_tokens +
          write * usage.cache_creation_input_tokens +
          output * usage.output_tokens,
      ),
    worstCase: (model, { inputTokens, outputTokens }) =>
      dollars(
        model,
        ({ input, read, write, output }) => Math.max(input, read, write) * inputTokens + output * outputTokens,
      ),
    leastPerToken: (model) => dollars(model, least),
  }
}

function leastOf({ input, read, write, output }: Rates): number {
  return Math.min(input, read, write, output)
}

const kinds = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const

interface Plan {
  readonly rates: { readonly [model in (typeof ids)[number]]: Rates }
  /** The behaviors in order, whichever model is asked. */
  readonly script: readonly ('tool' | 'ask' | 'agents' | 'drop' | 'busy' | 'broken' | 'text')[]
  readonly kind: (typeof kinds)[number]
  /** The share of the prompt's maximum that is billed, and the share of the reply. */
  readonly inputShare: number
  readonly outputShare: number
  /** The limit, as a multiple of what a first request may cost. */
  readonly budget: number
  readonly maxRetries: number
}

const ids = ['main', 'other', 'small', 'helper'] as const
const rate = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60_000_000 }))
const rates = fc.oneof(
  rate.map((all): Rates => ({ input: all, read: all, write: all, output: all })),
  fc.record<Rates>({ input: rate, read: rate, write: rate, output: rate }),
)
const plans = fc.record<Plan>({
  rates: fc.record({ main: rates, other: rates, small: rates, helper: rates }),
  script: fc.array(fc.constantFrom('tool', 'tool', 'ask', 'agents', 'drop', 'busy', 'broken', 'text'), {
    minLength: 1,
    maxLength: 25,
  }),
  kind: fc.constantFrom(...kinds),
  inputShare: fc.double({ min: 0, max: 1, noNaN: true }),
  outputShare: fc.double({ min: 0, max: 1, noNaN: true }),
  budget: fc.double({ min: 1, max: 12, noNaN: true }),
  maxRetries: fc.nat(2),
})

/** The prompt and the tools of the first request, with what a service adds: the minimum reservation. */
const promptTokens = 1_000

function optionsOf(plan: Plan): RunOptions {
  let callCount = 0
  const models = ids.map((id): Model => {
    const reply = ({ maxOutputTokens }: { readonly maxOutputTokens: number }): ScriptedReply => {
      const usage: Usage = {
        ...noUsage,
        [plan.kind]: Math.floor(promptTokens * plan.inputShare) + 1,
        output_tokens: Math.floor(maxOutputTokens * plan.outputShare),
      }
      switch (plan.script[callCount++ % plan.script.length] ?? 'text') {
        case 'tool':
          return { ...calls('Look'), usage }
        case 'ask':
          return { ...calls('Ask'), usage }
        case 'agents':
          return { ...calls('Agent', 'Agent'), usage }
        case 'drop':
          return { error: { kind: 'connection', message: 'dropped' } }
        case 'busy':
          return { error: { kind: 'overloaded', message: 'busy', status: 529 } }
        case 'broken':
          return { ...calls('Look'), streamError: { kind: 'connection', message: 'x' }, usage }
        case 'text':
          return { text: 'answer', usage }
      }
    }
    return scriptedModel(reply, { id, maxOutputTokens: 1_500 })
  })
  const [model, fallbackModel, small, helper] = models as [Model, Model, Model, Model]
  const agent: AgentTool = {
    ...subagent,
    models: [helper],
    spawn: () => ({ prompt: 'sub', model: 'helper', maxTurns: 3 }),
  }
  const ask: Tool = {
    ...reader('Ask', async (_input, context) => {
      const messages = [{ role: 'user', content: 'a question' }] as const
      return (await context.ask!({ model: small, system: '', messages })).kind
    }),
    asksModel: true,
  }
  const look = reader('Look', 'seen')
  const prices = pricesOf(new Map(Object.entries(plan.rates)))
  const first = prices.worstCase('main', { inputTokens: 2 * promptTokens, outputTokens: 1_500 })
  return {
    model,
    fallbackModel,
    models: [small],
    tools: [agent, ask, look],
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    maxTurns: 30,
    maxRetries: plan.maxRetries,
    minUsefulTokens: 50,
    maxBudgetUsd: plan.budget * (first ?? 0),
  }
}

function tokensBound(options: RunOptions): number {
  const { tokens } = certificate(options)
  return tokens.bounded ? tokens.value : Infinity
}

describe('a run under a dollar limit uses no more tokens than its certificate says', () => {
  test('whichever model is asked, and whatever happens to a request', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const options = optionsOf(plan)
        const bound = tokensBound(options)
        const { state } = await streamRun(startRun({ prompt: 'go' }), options).ended
        expect(bound).toBeLessThan(Infinity)
        expect(state.spent.totalTokens).toBeLessThanOrEqual(bound)
      }),
      { numRuns: drawn(150) },
    )
  })

  test('over a crash at any record', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.double({ min: 0, max: 1, noNaN: true }), async (plan, where) => {
        const options = optionsOf(plan)
        const steps = createMemorySteps({ clock: options.clock! })
        await streamRun(startRun({ prompt: 'go' }), { ...options, steps }).ended
        const records = json(steps.records) as unknown as readonly StepRecord[]
        const cut = records.slice(0, 1 + Math.floor(where * (records.length - 2)))
        const { state } = await resume(cut, optionsOf(plan)).loop.ended
        expect(state.spent.totalTokens).toBeLessThanOrEqual(tokensBound(options))
      }),
      { numRuns: drawn(60) },
    )
  })

  const flat = (all: number): Rates => ({ input: all, read: all, write: all, output: all })
  const long: Plan = {
    rates: { main: flat(1_000), other: flat(1_000), small: flat(1_000), helper: flat(1_000) },
    script: ['tool'],
    kind: 'cache_read_input_tokens',
    inputShare: 1,
    outputShare: 0,
    budget: 200,
    maxRetries: 0,
  }

  test('and comes close to it when billed at the lowest price alone', async () => {
    const options = { ...optionsOf(long), maxTurns: 20_000 }
    const { state, terminal } = await streamRun(startRun({ prompt: 'go' }), options).ended
    expect([terminal.reason, tokensBound(options)]).toEqual(['max_budget_usd', 700_000])
    expect(state.spent.totalTokens).toBeGreaterThan(690_000)
  })

  test('also when a tool asks a cheaper model: the price of the main model alone would bound too few tokens', async () => {
    const rates = { ...long.rates, main: flat(100_000), other: flat(100_000), helper: flat(100_000) }
    const options = optionsOf({ ...long, rates, script: ['ask', 'text'], outputShare: 0.4, budget: 3 })
    const { state } = await streamRun(startRun({ prompt: 'go' }), { ...options, maxTurns: 2_000 }).ended
    expect(tokensBound(options)).toBe(1_050_000)
    expect(state.spent.totalTokens).toBeGreaterThan(1_050_000 / 100)
    expect(state.spent.totalTokens).toBeLessThanOrEqual(1_050_000)
  })
})

describe('the tokens that money buys', () => {
  const model = scriptedModel([], { id: 'main', contextWindow: 1_000, maxOutputTokens: 100 })
  const dear = { input: 2e6, read: 100_000, write: 2_500_000, output: 1e7 }
  const cheap = { input: 1e5, read: 10_000, write: 1e5, output: 5e5 }
  const free = { input: 0, read: 0, write: 0, output: 1e6 }
  const prices = pricesOf(
    new Map([
      ['main', dear],
      ['cheap', cheap],
      ['free', free],
    ]),
  )
  const of = (options: Partial<RunOptions>) => certificate({ model, prices, maxBudgetUsd: 2, ...options }).tokens
  const named = (id: string): Model => ({ ...model, id })
  const agent: AgentTool = {
    name: 'Agent',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    models: [named('cheap')],
    spawn: () => ({ prompt: '' }),
  }
  const ofCheap = {
    bounded: true,
    value: 200_000_000,
    because: 'maxBudgetUsd at $0.01 per million tokens, the lowest price of cheap',
  }
  const ofWindows = { bounded: true, because: expect.stringMatching(/^requests, each within/) }

  test('depend on the cheapest token of all models that the run may ask', () => {
    const pass = { model: 'cheap', uses: 1, inputTokens: 10, outputTokens: 10 }
    expect(of({})).toEqual({
      bounded: true,
      value: 20_000_000,
      because: 'maxBudgetUsd at $0.1 per million tokens, the lowest price of main',
    })
    expect([
      of({ fallbackModel: named('cheap') }),
      of({ models: [named('cheap')] }),
      of({ context: { ...plainContext, models: [named('cheap')] } }),
      of({ tools: [agent] }),
      of({ model: { ...model, extraPasses: [pass] } }),
    ]).toEqual(Array.from({ length: 5 }, () => ofCheap))
    expect(of({ tools: [agent], maxSubagents: 0 })).toMatchObject({ value: 20_000_000 })
  })

  test('are bounded by the lower limit of dollars, and by a lower limit of tokens', () => {
    expect([
      of({ spentBeforeUsd: 1.5 }),
      of({ stopWhen: new CostLimitHook(0.5) }),
      of({ maxTotalTokens: 7_000 }),
      of({ maxTotalTokens: 70_000_000 }),
    ]).toMatchObject([
      { value: 5_000_000, because: expect.stringMatching(/^maxBudgetUsd less spentBeforeUsd at /) },
      { value: 5_000_000, because: expect.stringMatching(/^a guard on cost at /) },
      { value: 7_000, because: 'maxTotalTokens, reserved before each request' },
      { value: 20_000_000 },
    ])
  })

  test('are unbounded when a token is free or its minimum price is unknown', () => {
    const throws = () => {
      throw new Error('no')
    }
    expect([
      of({ fallbackModel: named('free') }),
      of({ prices: { cost: prices.cost, worstCase: prices.worstCase } }),
      ...[undefined, Number.NaN, -1, Infinity].map((least) =>
        of({ prices: { ...prices, leastPerToken: () => least } }),
      ),
      of({ prices: { ...prices, leastPerToken: throws } }),
    ]).toMatchObject(Array.from({ length: 7 }, () => ofWindows))
  })

  test('never lose a token in the rounding to nano-dollars', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-14, max: 1e-4, noNaN: true }),
        fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 }),
        (perToken, requests) => {
          const nanos = requests.reduce((sum, tokens) => sum + nanosOf(tokens * perToken), 0)
          const tokens = requests.reduce((sum, each) => sum + each, 0)
          expect(maxTokensFor(nanos, perToken)).toBeGreaterThanOrEqual(tokens)
        },
      ),
      { numRuns: drawn(3_000) },
    )
  })
})
