// Tests a model with its own prices: a dollar budget needs no others, and prices in the options take precedence.
import { describe, expect, test } from 'vitest'
import {
  agentTool,
  certificate,
  ConfigurationError,
  ModelError,
  streamRun,
  startRun,
  type Model,
  type Prices,
  type RunOptions,
} from '../../src/index.ts'
import { contextLayers } from '../../src/entries/adapters.ts'
import { runStages, type Stage } from '../../src/after/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'

/** Prices each token of a model at this many dollars. */
function tokenFor(usd: number): Prices {
  return {
    cost: (_model, { input_tokens: input, output_tokens: output }) => usd * (input + output),
    worstCase: (_model, { inputTokens, outputTokens }) => usd * (inputTokens + outputTokens),
    leastPerToken: () => usd,
  }
}

const usage = { input_tokens: 40, output_tokens: 10 }
const reply: ScriptedReply = { text: 'done', usage }

function priced(
  usd: number,
  script: readonly ScriptedReply[] = [reply],
  id = 'own',
): Model & { requests: readonly unknown[] } {
  return { ...scriptedModel(script, { id, maxOutputTokens: 2_000 }), prices: tokenFor(usd) }
}

async function costOf(options: RunOptions): Promise<number> {
  return (await streamRun(startRun({ prompt: 'go' }), options).result).costUsd
}

test('enforces a dollar budget without prices in the options', async () => {
  expect(await costOf({ model: priced(0.01), maxBudgetUsd: 100 })).toBe(0.5)
  const poor = priced(1)
  const { reason } = await streamRun(startRun({ prompt: 'go' }), { model: poor, maxBudgetUsd: 0.5 }).result
  expect([reason, poor.requests.length]).toEqual(['max_budget_usd', 0])
})

test('reports the cost without a budget', async () => {
  expect(await costOf({ model: priced(2) })).toBe(100)
})

test('prefers prices of the options to those of the model, for each model', async () => {
  const onlyOthers: Prices = {
    cost: (model) => (model === 'other' ? 7 : undefined),
    worstCase: (model) => (model === 'other' ? 7 : undefined),
  }
  expect(await costOf({ model: priced(2), prices: tokenFor(1) })).toBe(50)
  expect(await costOf({ model: priced(2), prices: onlyOthers })).toBe(100)
  expect(await costOf({ model: priced(2, [reply], 'other'), prices: onlyOthers })).toBe(7)
})

test('takes all prices of a model from one source', async () => {
  // These prices have a worst case only. The prices of the model are ignored, so that the sources are not mixed.
  const half: Prices = { cost: () => undefined, worstCase: () => 1_000 }
  const { costUsd, committedUsd } = await streamRun(startRun({ prompt: 'go' }), {
    model: priced(2),
    prices: half,
    maxBudgetUsd: 5_000,
  }).result
  expect([costUsd, committedUsd]).toEqual([0, 1_000])
})

test('charges each model at its own price: fallback, subagents and compaction', async () => {
  const busy = new ModelError({ kind: 'overloaded', message: 'busy', retryable: true, billed: 'nothing' })
  const overloaded = priced(100, [], 'first')
  const failing: Model = { ...overloaded, call: () => Promise.reject(busy) }
  expect(await costOf({ model: failing, fallbackModel: priced(3), maxBudgetUsd: 1e6, maxRetries: 3 })).toBe(150)
  const helper = priced(5, [{ text: 'found', usage }], 'helper')
  const agent = agentTool({
    name: 'Ask',
    description: 'asks',
    inputSchema: { type: 'object', properties: {} },
    models: [helper],
    spawn: () => ({ prompt: 'look', model: 'helper' }),
  })
  const main = priced(1, [{ toolCalls: [{ name: 'Ask', input: {} }], usage }, reply])
  expect(await costOf({ model: main, tools: [agent], maxBudgetUsd: 1e6 })).toBe(50 + 250 + 50)
})

describe('uses the highest price when models share an id', () => {
  const dearer = priced(1, [reply], 'own')
  const busy = new ModelError({ kind: 'overloaded', message: 'busy', retryable: true, billed: 'nothing' })
  const overloaded: Model = { ...priced(1e-6), call: () => Promise.reject(busy) }
  const call: ScriptedReply = { toolCalls: [{ name: 'Ask', input: { prompt: 'look' } }], usage }

  test.each<[string, Omit<RunOptions, 'maxBudgetUsd'>]>([
    ['a fallback', { model: overloaded, fallbackModel: dearer, maxRetries: 2 }],
    [
      'a fallback that the service of the other model may ask itself',
      {
        model: {
          ...overloaded,
          id: 'first',
          extraPasses: [{ model: 'own', uses: 1, inputTokens: 9, outputTokens: 9 }],
        },
        fallbackModel: dearer,
        maxRetries: 2,
      },
    ],
    [
      'the model of an agent',
      {
        model: priced(1e-6, [call, reply]),
        tools: [agentTool({ name: 'Ask', description: 'asks', model: dearer })],
      },
    ],
  ])('%s is not asked at the price of another', async (_what, options) => {
    const requestCount = dearer.requests.length
    const { reason } = await streamRun(startRun({ prompt: 'go' }), { ...options, maxBudgetUsd: 10 }).result
    expect([reason, dearer.requests.length - requestCount]).toEqual(['max_budget_usd', 0])
  })

  test('and the lowest price bounds the tokens that dollars buy', () => {
    const options = { model: priced(2), fallbackModel: priced(4), maxBudgetUsd: 10 }
    expect(certificate(options).tokens).toMatchObject({ bounded: true, value: 5 })
  })

  test('a price that is not an amount of money stays invalid', async () => {
    const wrong: Model = { ...priced(1), prices: { ...tokenFor(1), worstCase: () => Number.NaN } }
    const { reason } = await streamRun(startRun({ prompt: 'go' }), {
      model: priced(1),
      fallbackModel: wrong,
    }).result
    expect(reason).toBe('completed')
    expect(() =>
      streamRun(startRun({ prompt: 'go' }), { model: priced(1), fallbackModel: wrong, maxBudgetUsd: 1 }),
    ).toThrow(ConfigurationError)
  })
})

test('a model that only compacts needs its own price too', () => {
  const model = priced(1)
  const bare = scriptedModel([], { id: 'bare' })
  const options = { model, maxBudgetUsd: 1, context: contextLayers({ compactModel: bare }) }
  expect(() => streamRun(startRun({ prompt: 'go' }), options)).toThrow('There is no price for bare')
  const context = contextLayers({ compactModel: { ...bare, prices: tokenFor(1) } })
  expect(() => streamRun(startRun({ prompt: 'go' }), { ...options, context })).not.toThrow()
})

test('a model created by name during the run brings its price', async () => {
  const named = priced(4, [reply], 'named')
  const model = priced(1, [{ toolCalls: [{ name: 'None', input: {} }], usage }])
  const running = streamRun(startRun({ prompt: 'go' }), {
    model,
    modelNamed: (name) => (name === 'named' ? named : undefined),
    maxBudgetUsd: 1e6,
    onResult: () => undefined,
  })
  for await (const event of running) if (event.type === 'model_end') running.set({ model: 'named' })
  expect((await running.result).costUsd).toBe(50 + 200)
})

test('the error for a missing price names the option and shows the call', () => {
  const start = (): unknown => streamRun(startRun({ prompt: 'go' }), { model: scriptedModel([]), maxBudgetUsd: 1 })
  expect(start).toThrow(ConfigurationError)
  expect(start).toThrow('prices: createPrices({ "scripted": { input: 3, output: 15 } })')
})

test('the certificate bounds dollars, and tokens by dollars, with the prices of the model', () => {
  const model = priced(2)
  expect(certificate({ model, maxTurns: 3 }).usd).toEqual(
    certificate({ model: scriptedModel([], { id: 'own', maxOutputTokens: 2_000 }), maxTurns: 3, prices: tokenFor(2) })
      .usd,
  )
  expect(certificate({ model, maxBudgetUsd: 10 }).tokens).toMatchObject({ bounded: true, value: 5 })
})

test('stages after a run are bounded in dollars by the prices of their model', async () => {
  const model = priced(1)
  const stage: Stage = {
    name: 'look',
    limits: { maxBudgetUsd: 20 },
    async run({ ask }) {
      await ask({ prompt: 'go' })
      return { kind: 'skipped', message: 'nothing to do' }
    },
  }
  const [report] = await runStages([stage], { model, sessionId: 's' }).ended
  expect([report?.reason, model.requests.length]).toEqual(['max_budget_usd', 0])
  const unpriced = scriptedModel([reply])
  await runStages([stage], { model: unpriced, sessionId: 's' }).ended
  expect(unpriced.requests.length).toBe(1)
})
