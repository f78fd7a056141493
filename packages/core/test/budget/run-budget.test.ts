// Tests R-BUD-20: one budget for several runs of a program.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  certificate,
  ConfigurationError,
  query,
  QueryEngine,
  sharedBudget,
  startRun,
  streamRun,
  type RunOptions,
  type RunOutcome,
  type SharedRunBudget,
} from '../../src/index.ts'
import { limitOfResult, sharedBudgetOf } from '../../src/entries/adapters.ts'
import { afterRun } from '../../src/after/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { drawn } from '../support/deep.ts'
import { calls, dollarATokenPrices as prices, reader } from '../support/harness.ts'

/** The maximum input of a first request: 1,000 around it, 16 and 2 bytes for the prompt. */
const input = 1_000 + 16 + 2 + 2
const cap = 2_000
const usage = { input_tokens: 500, output_tokens: 500 }

const models = (script: readonly ScriptedReply[] = [{ text: 'answer', usage }]) =>
  scriptedModel(script, { maxOutputTokens: cap })

function runWith(budget: SharedRunBudget, options: Partial<RunOptions> = {}): Promise<RunOutcome> {
  return streamRun(startRun({ prompt: 'go' }), { model: models(), prices, budget, ...options }).result
}

/** A model whose reply arrives when it is released. */
function heldModel(): {
  readonly model: RunOptions['model']
  readonly reply: () => void
  readonly asked: Promise<void>
} {
  let reply = (): void => {}
  let tell = (): void => {}
  const asked = new Promise<void>((resolve) => (tell = resolve))
  const released = new Promise<void>((resolve) => (reply = resolve))
  const model = models([
    {
      text: 'answer',
      usage,
      async before() {
        tell()
        await released
      },
    },
  ])
  return { model, reply, asked }
}

describe('a shared budget', () => {
  test('is spent by all runs that share it, and reports its figures', async () => {
    const budget = sharedBudget({ usd: 10_000, tokens: 50_000 })
    expect(budget).toMatchObject({ usd: 10_000, spentUsd: 0, reservedUsd: 0, leftUsd: 10_000, leftTokens: 50_000 })
    await Promise.all([runWith(budget), runWith(budget), runWith(budget)])
    expect(budget).toMatchObject({ spentUsd: 3_000, reservedUsd: 0, leftUsd: 7_000, spentTokens: 3_000 })
    expect(budget).toMatchObject({ leftTokens: 47_000, name: 'the shared budget' })
  })

  test('reserves what requests in flight may cost', async () => {
    const budget = sharedBudget({ usd: 10_000 })
    const { model, reply, asked } = heldModel()
    const running = runWith(budget, { model })
    await asked
    expect([budget.reservedUsd, budget.spentUsd, budget.leftUsd]).toEqual([input + cap, 0, 10_000 - input - cap])
    reply()
    await running
    expect([budget.reservedUsd, budget.spentUsd]).toEqual([0, 1_000])
  })

  test('ends a run before a request that no longer fits, and names the owner of the budget', async () => {
    const budget = sharedBudget({ usd: 3_000, name: 'the budget of the crawl' })
    expect((await runWith(budget)).reason).toBe('completed')
    const model = models()
    const result = await runWith(budget, { model })
    expect([result.reason, model.requests.length, result.costUsd]).toEqual(['max_budget_usd', 0, 0])
    expect(result.signal.toJSON()).toEqual({
      reason: 'cost_limit',
      message:
        'Too little is left of the budget of the crawl: $1000 of $3000 is used by all runs that share it, and the next request may cost up to $2044',
      context: {
        used: 1_000,
        usedUsd: 1_000,
        limit: 3_000,
        limitUsd: 3_000,
        budget: 'the budget of the crawl',
        neededUsd: input + 1_024,
        availableUsd: 2_000,
      },
      source: 'shared_budget',
    })
    expect(sharedBudgetOf(result.signal)).toMatchObject({ kind: 'lease', usedUsd: 1_000, limitUsd: 3_000 })
    expect(limitOfResult(result)).toBeNull()
  })

  test('bounds tokens in the same way, without prices', async () => {
    const budget = sharedBudget({ tokens: 3_000 })
    const options = { prices: { cost: () => undefined, worstCase: () => undefined } }
    expect((await runWith(budget, options)).reason).toBe('completed')
    const result = await runWith(budget, options)
    expect([result.reason, limitOfResult(result)]).toEqual(['token_limit', null])
    expect(result.signal.message).toBe(
      'Too little is left of the shared budget: 1000 of 3000 tokens is used by all runs that share it, and the next request may need 2044',
    )
  })

  test('makes a run wait for what another one has reserved, instead of a shorter reply or an ending', async () => {
    const budget = sharedBudget({ usd: 4_000 })
    const { model, reply, asked } = heldModel()
    const first = runWith(budget, { model })
    await asked
    const second = models([{ text: 'answer', usage }])
    const running = streamRun(startRun({ prompt: 'go' }), { model: second, prices, budget })
    const outcomes: string[] = []
    const waits: unknown[] = []
    for await (const event of running) {
      if (event.type === 'budget_wait' && event.isWaiting) {
        waits.push([event.holders, event.reservedUsd, second.requests.length])
        reply()
      }
      if (event.type === 'budget_waited') outcomes.push(event.outcome)
    }
    expect([(await first).reason, (await running.result).reason, outcomes]).toEqual([
      'completed',
      'completed',
      ['granted'],
    ])
    expect(waits).toEqual([[1, input + cap, 0]])
    // The first one spent 1,000 of 4,000: the second one gets all that is left.
    expect(second.requests[0]?.maxOutputTokens).toBe(3_000 - input)
  })

  test('reserves nothing for a run that is aborted while it waits, and removes it from the queue', async () => {
    const budget = sharedBudget({ usd: 4_000 })
    const { model, reply, asked } = heldModel()
    const first = runWith(budget, { model })
    await asked
    const waiting = streamRun(startRun({ prompt: 'go' }), { model: models(), prices, budget })
    for await (const event of waiting) if (event.type === 'budget_wait' && event.isWaiting) waiting.abort('user')
    expect((await waiting.result).reason).toBe('aborted_streaming')
    reply()
    await first
    expect([budget.spentUsd, budget.reservedUsd, (await runWith(budget)).reason]).toEqual([1_000, 0, 'completed'])
  })

  test('ends the run at the shared budget when a reply was truncated to the remaining amount', async () => {
    const budget = sharedBudget({ usd: input + 1_500 })
    const model = models([
      { text: 'half', stopReason: 'max_tokens', usage: { input_tokens: 10, output_tokens: 1_500 } },
    ])
    const { reason, signal } = await runWith(budget, { model })
    expect([reason, signal.context['budget']]).toEqual(['max_budget_usd', 'the shared budget'])
    expect(signal.message).toContain('The reply was cut to what was left of the shared budget')
  })

  test('applies in addition to the limits of a run, which are named themselves', async () => {
    const budget = sharedBudget({ usd: 100_000 })
    const { reason, signal } = await runWith(budget, { maxBudgetUsd: 1_000 })
    expect([reason, signal.context['budget'], signal.source]).toEqual(['max_budget_usd', undefined, 'ledger'])
  })

  test('is spent by queries, engines and the stages after their runs', async () => {
    const budget = sharedBudget({ usd: 100_000 })
    for await (const _ of query({ prompt: 'go', options: { model: models(), prices, budget } })) void _
    expect(budget.spentUsd).toBe(1_000)
    const model = models([
      { text: 'one', usage },
      { text: 'two', usage },
      { text: 'three', usage },
    ])
    const engine = new QueryEngine({ model, prices, budget, spentBeforeUsd: 7 })
    for await (const _ of engine.submit('go')) void _
    for await (const _ of engine.submit('on')) void _
    expect(budget.spentUsd).toBe(3_000)
    const stage = {
      name: 'look',
      limits: { maxBudgetUsd: 50_000 },
      run: async ({ ask }: { ask: (question: { prompt: string }) => Promise<unknown> }) => {
        await ask({ prompt: 'go' })
        return { kind: 'done' as const }
      },
    }
    await afterRun(engine, [stage]).ended
    expect(budget.spentUsd).toBe(4_000)
  })

  test('appears in the certificate with its remaining amount', async () => {
    const budget = sharedBudget({ usd: 5_000, tokens: 9_000, name: 'ours' })
    await runWith(budget)
    const { usd, tokens } = certificate({ model: models(), prices, budget })
    expect([usd, tokens]).toMatchObject([
      { value: 4_000, because: 'ours, reserved before each request' },
      { value: 8_000, because: 'ours, reserved before each request' },
    ])
  })

  test('needs a price only in dollars', () => {
    const start = (budget: SharedRunBudget) => () => streamRun(startRun({ prompt: 'go' }), { model: models(), budget })
    expect(start(sharedBudget({ usd: 1 }))).toThrow('There is no price for scripted')
    expect(start(sharedBudget({ tokens: 1 }))).not.toThrow()
  })

  test.each<[unknown, string]>([
    [undefined, 'sharedBudget'],
    [{}, 'A shared budget needs a limit'],
    [{ usd: 0 }, 'usd of a shared budget must be above 0'],
    [{ usd: Number.NaN }, 'usd'],
    [{ tokens: -1 }, 'tokens of a shared budget must be above 0'],
    [{ usd: '5' }, 'usd'],
    [{ dollars: 5 }, 'sharedBudget has no limit dollars. Use usd, tokens and name.'],
    [{ usd: 5, name: '' }, 'name'],
  ])('rejects %j', (limits, message) => {
    const make = (): unknown => Reflect.apply(sharedBudget, undefined, [limits])
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(message)
  })

  test('rejects an option that only looks like a shared budget', () => {
    const copy = { ...sharedBudget({ usd: 5 }) }
    expect(() => streamRun(startRun({ prompt: 'go' }), { model: models(), prices, budget: copy })).toThrow(
      /budget must be one that sharedBudget/,
    )
  })
})

/** One run of the property: the usage of its replies, and after how many events it is aborted. */
interface DrawnRun {
  readonly replies: readonly { readonly input: number; readonly output: number; readonly calls: boolean }[]
  readonly abortAfter: number | null
  readonly wrapUp: boolean
}

const drawnRuns = fc.array(
  fc.record<DrawnRun>({
    replies: fc.array(
      fc.record({
        input: fc.integer({ min: 0, max: 900 }),
        output: fc.integer({ min: 0, max: 1_000 }),
        calls: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    abortAfter: fc.option(fc.integer({ min: 1, max: 25 }), { nil: null }),
    wrapUp: fc.boolean(),
  }),
  { minLength: 2, maxLength: 8 },
)

test('is never exceeded and adds up, whatever runs in parallel and whatever is aborted', async () => {
  await fc.assert(
    fc.asyncProperty(drawnRuns, fc.integer({ min: 1_500, max: 20_000 }), async (runs, limit) => {
      const budget = sharedBudget({ usd: limit, tokens: limit })
      const results = await Promise.all(
        runs.map(async ({ replies, abortAfter, wrapUp }) => {
          const script = replies.map(({ input: read, output, calls: hasCalls }): ScriptedReply => ({
            ...(hasCalls ? calls('Look') : { text: 'answer' }),
            usage: { input_tokens: read, output_tokens: output },
            before: () => new Promise((resolve) => setImmediate(resolve)),
          }))
          const options = { model: models(script), prices, budget, wrapUp, tools: [reader('Look')] }
          const running = streamRun(startRun({ prompt: 'go' }), options)
          let seen = 0
          for await (const _ of running) {
            expect(budget.spentUsd + budget.reservedUsd).toBeLessThanOrEqual(limit)
            expect(budget.spentTokens + budget.reservedTokens).toBeLessThanOrEqual(limit)
            if (++seen === abortAfter) running.abort('user')
          }
          return running.result
        }),
      )
      expect([budget.reservedUsd, budget.reservedTokens]).toEqual([0, 0])
      expect(budget.spentUsd).toBe(results.reduce((sum, { committedUsd }) => sum + committedUsd, 0))
      expect(budget.spentUsd).toBeLessThanOrEqual(limit)
      // Only settled money refuses: when a run ended at the budget, less than a useful request was left for good.
      const refused = results.filter(
        ({ reason, signal }) => reason === 'max_budget_usd' && signal.source === 'shared_budget',
      )
      for (const { signal } of refused)
        expect(budget.usd - budget.spentUsd).toBeLessThan(Number(signal.context['neededUsd'] ?? Infinity))
    }),
    { numRuns: drawn(800) },
  )
})
