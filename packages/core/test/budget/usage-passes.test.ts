// Tests R-BUD-2, R-BUD-2a, R-BUD-14 to R-BUD-15: charges of a service in addition to the reply are counted, and reserved.
import { describe, expect, test } from 'vitest'
import { isJsonObject, noUsage, type UsageIteration } from '../../src/entries/adapters.ts'
import {
  certificate,
  ConfigurationError,
  QueryEngine,
  replay,
  type Model,
  type Prices,
  type Usage,
} from '../../src/index.ts'
import { billedParts, lastPassOf } from '../../src/model/billed-parts.ts'
import { scriptedModel, type ScriptedModel } from '../../src/testing/index.ts'
import { dollarATokenPrices, json, reader, run, type RunTestOptions, type Run } from '../support/harness.ts'

const pass = (type: string, input_tokens: number, output_tokens: number, more: object = {}): UsageIteration => ({
  type,
  input_tokens,
  output_tokens,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  ...more,
})

const usageOf = (input_tokens: number, output_tokens: number, iterations: readonly UsageIteration[]): Usage => ({
  ...noUsage,
  input_tokens,
  output_tokens,
  iterations,
})

const compacted = usageOf(612, 2_819, [pass('compaction', 60_385, 522), pass('message', 612, 2_819)])
const advised = usageOf(1_000, 300, [
  pass('message', 400, 100),
  pass('advisor_message', 2_728, 3_880, { model: 'adviser' }),
  pass('message', 600, 200),
])

/** A token of the adviser costs ten dollars, a token of other models one. Unknown models have no price. */
const prices: Prices = {
  cost: (model, usage) =>
    model === 'stranger' ? undefined : (dollarATokenPrices.cost(model, usage) ?? 0) * (model === 'adviser' ? 10 : 1),
  worstCase: (model, bound) =>
    model === 'stranger'
      ? undefined
      : (dollarATokenPrices.worstCase(model, bound) ?? 0) * (model === 'adviser' ? 10 : 1),
}

const cap = 4_000
const modelReporting = (usage: Usage, more: Partial<Model> = {}): ScriptedModel => ({
  ...scriptedModel([{ text: 'answer', usage }, 'more'], { maxOutputTokens: cap }),
  ...more,
})

const notices = ({ events }: Pick<Run, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'notice' ? [event.message] : []))

const reserved = ({ steps }: Run): readonly unknown[] =>
  steps.records.flatMap((record) =>
    record.type === 'intent' && isJsonObject(record.intent) && record.intent['granted'] === true
      ? [[record.intent['nanos'], record.intent['tokens']]]
      : [],
  )

describe('bills the sum over the passes, each at the price of its model', () => {
  test('with a compaction by the service', async () => {
    const { terminal, state } = await run([], { model: modelReporting(compacted), prices })
    const billed = 612 + 2_819 + 60_385 + 522
    expect([terminal.costUsd, terminal.committedUsd, state.spent.totalTokens]).toEqual([billed, billed, billed])
    expect(terminal.summary.usage).toEqual({ ...noUsage, input_tokens: 612 + 60_385, output_tokens: 2_819 + 522 })
  })

  test('with an adviser', async () => {
    const completeRun = await run([], { model: modelReporting(advised), prices })
    const { terminal, state } = completeRun
    expect(terminal.costUsd).toBe(1_300 + 10 * 6_608)
    expect(state.spent.totalTokens).toBe(1_300 + 6_608)
    expect(terminal.summary.usage).toEqual({ ...noUsage, input_tokens: 1_000, output_tokens: 300 })
    expect(terminal.summary.modelUsage).toEqual({
      scripted: { usage: { ...noUsage, input_tokens: 1_000, output_tokens: 300 }, costUsd: 1_300 },
      adviser: { usage: { ...noUsage, input_tokens: 2_728, output_tokens: 3_880 }, costUsd: 66_080 },
    })
    expect(json(state.spent)).toEqual(state.spent)
  })

  test.each(['__proto__', 'constructor', 'toString'])('with an adviser that is called %s', async (adviser) => {
    const usage = usageOf(1, 2, [pass('message', 1, 2), pass('advisor_message', 3, 4, { model: adviser })])
    const options = { model: modelReporting(usage), prices }
    const completeRun = await run([], options)
    expect([completeRun.terminal.reason, completeRun.terminal.costUsd]).toEqual(['completed', 10])
    expect(Object.entries(completeRun.terminal.summary.modelUsage)).toEqual([
      [adviser, { usage: { ...noUsage, input_tokens: 3, output_tokens: 4 }, costUsd: 7 }],
      ['scripted', { usage: { ...noUsage, input_tokens: 1, output_tokens: 2 }, costUsd: 3 }],
    ])
    expect(json((await replay(completeRun.steps.records, options)).terminal)).toEqual(json(completeRun.terminal))

    const engine = new QueryEngine({ ...options, model: modelReporting(usage) })
    for (const _ of ['first', 'second']) {
      for await (const message of engine.submit('hi')) {
        if (message.type !== 'result') continue
        expect([message.subtype, Object.keys(message.modelUsage)]).toEqual(['success', [adviser, 'scripted']])
      }
    }
  })

  test('and a replay has the same result', async () => {
    const options = { model: modelReporting(advised), prices }
    const completeRun = await run([], options)
    expect(json((await replay(completeRun.steps.records, options)).terminal)).toEqual(json(completeRun.terminal))
  })

  test('and the message stores the usage as received', async () => {
    const { state } = await run([], { model: modelReporting(compacted), prices })
    expect(state.transcript.lastReply()).toMatchObject({ usage: compacted })
  })
})

describe('calls prices once for each pass, without the other passes', () => {
  const hour = (tokens: number) => ({ ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: tokens })
  const counted = (input_tokens: number, output_tokens: number): Usage => ({ ...noUsage, input_tokens, output_tokens })
  test.each<[string, Usage, readonly (readonly [string, Usage])[]]>([
    [
      'a compaction',
      compacted,
      [
        ['asked', counted(60_385, 522)],
        ['asked', counted(612, 2_819)],
      ],
    ],
    [
      'another model',
      advised,
      [
        ['asked', counted(400, 100)],
        ['adviser', counted(2_728, 3_880)],
        ['asked', counted(600, 200)],
      ],
    ],
    [
      'a kind that is not known',
      usageOf(5, 6, [pass('message', 5, 6), pass('dream', 7, 8)]),
      [
        ['asked', counted(5, 6)],
        ['asked', counted(7, 8)],
      ],
    ],
    [
      'counts above the sum of the passes',
      usageOf(100, 60, [pass('message', 90, 50)]),
      [
        ['asked', counted(90, 50)],
        ['asked', counted(10, 10)],
      ],
    ],
    [
      'counts that are already the sum of all passes, as some routers report them',
      usageOf(110, 70, [pass('compaction', 20, 20), pass('message', 90, 50)]),
      [
        ['asked', counted(20, 20)],
        ['asked', counted(90, 50)],
      ],
    ],
    ['passes above the counts', usageOf(1, 1, [pass('message', 90, 50)]), [['asked', counted(90, 50)]]],
    [
      'no pass of the reply',
      usageOf(9, 5, [pass('advisor_message', 1, 2, { model: 'adviser' })]),
      [
        ['adviser', counted(1, 2)],
        ['asked', counted(9, 5)],
      ],
    ],
    [
      'a full name of the model that was asked',
      usageOf(9, 5, [
        pass('message', 9, 5, { model: 'asked-20260101' }),
        pass('compaction', 1, 2, { model: 'asked-20260101' }),
      ]),
      [
        ['asked', counted(9, 5)],
        ['asked', counted(1, 2)],
      ],
    ],
    [
      'a fallback model',
      usageOf(30, 40, [
        pass('message', 10, 1, { model: 'asked' }),
        pass('fallback_message', 20, 39, { model: 'other' }),
      ]),
      [
        ['asked', counted(10, 1)],
        ['other', counted(20, 39)],
      ],
    ],
    [
      'a one-hour cache write, reported only in total',
      {
        ...usageOf(1, 2, [pass('message', 1, 2, { cache_creation_input_tokens: 50 })]),
        cache_creation_input_tokens: 80,
        cache_creation: hour(80),
      },
      [
        ['asked', { ...counted(1, 2), cache_creation_input_tokens: 50, cache_creation: hour(50) }],
        ['asked', { ...noUsage, cache_creation_input_tokens: 30, cache_creation: hour(30) }],
      ],
    ],
    [
      'fees, which are reported only in total',
      { ...usageOf(1, 2, [pass('message', 1, 2)]), server_tool_use: { web_search_requests: 3 } },
      [
        ['asked', counted(1, 2)],
        ['asked', { ...noUsage, server_tool_use: { web_search_requests: 3 } }],
      ],
    ],
  ])('with %s', (_what, usage, expected) => {
    expect(billedParts(usage, 'asked', 'asked-20260101').map((part) => [part.model, part.usage])).toEqual(expected)
  })
})

describe('the conversation is as long as its last pass', () => {
  test('and the next request is reserved with that length', async () => {
    const usage = usageOf(1_000, 300, [
      pass('message', 400, 100),
      pass('compaction', 9_000, 50),
      pass('message', 600, 200),
    ])
    const model = scriptedModel([{ toolCalls: [{ name: 'Look' }], usage }, 'answer'], { maxOutputTokens: cap })
    const completeRun = await run([], { model, tools: [reader('Look')], maxTotalTokens: 1_000_000 })
    const bytes = 16 + 16 + 64 + 'what Look gives'.length
    const [, second] = reserved(completeRun)
    expect(second).toEqual([0, expect.closeTo(600 + 200 + bytes + cap, -2)])
  })

  test.each<[string, readonly UsageIteration[]]>([
    ['a compaction', [pass('message', 400, 100), pass('compaction', 9_000, 50)]],
    ['a fallback model', [pass('message', 400, 100), pass('fallback_message', 9_000, 50, { model: 'other' })]],
  ])('and unknown when the last one was %s', (_what, iterations) => {
    expect(lastPassOf(usageOf(9_400, 150, iterations))).toBeUndefined()
  })
})

describe('a pass of a model without a price', () => {
  const strange = usageOf(10, 5, [pass('message', 10, 5), pass('advisor_message', 7, 8, { model: 'stranger' })])

  test('is charged at the worst case under a dollar budget, with a notice', async () => {
    const completeRun = await run([], { model: modelReporting(strange), prices, maxBudgetUsd: 100_000 })
    const { terminal } = completeRun
    const [[nanos] = []] = reserved(completeRun) as readonly (readonly number[])[]
    expect([terminal.costUsd, terminal.committedUsd]).toEqual([0, (nanos ?? 0) / 1e9])
    expect(notices(completeRun)).toEqual([expect.stringMatching(/no cost for stranger .*worst case/)])
  })

  test('costs nothing without one', async () => {
    const completeRun = await run([], { model: modelReporting(strange), prices })
    expect([completeRun.terminal.costUsd, completeRun.terminal.committedUsd, notices(completeRun)]).toEqual([
      15,
      15,
      [],
    ])
  })
})

describe('a bill above the reservation', () => {
  test('is settled as billed, ends the run, and reports the figures', async () => {
    const model = modelReporting(compacted)
    const completeRun = await run([], { model, prices, maxBudgetUsd: 10_000 })
    expect(completeRun.terminal.costUsd).toBe(612 + 2_819 + 60_385 + 522)
    expect(completeRun.terminal.reason).toBe('max_budget_usd')
    expect(notices(completeRun)).toEqual([
      'scripted billed more for one request ($64338.0000, 64338 tokens) than it can come to by all that is declared ($5020.0000, 5020 tokens).',
    ])
  })

  test('reports tokens when these are limited', async () => {
    const completeRun = await run([], { model: modelReporting(compacted), maxTotalTokens: 10_000 })
    expect(completeRun.terminal.reason).toBe('token_limit')
    expect(notices(completeRun)).toEqual([expect.stringContaining('(64338 tokens) than')])
  })
})

describe('reserves what a service may add to a request', () => {
  const input = 1_000 + 16 + 2 + 2
  const compaction = { model: 'scripted', uses: 1, inputTokens: Infinity, outputTokens: 500, fromInputTokens: 1_000 }
  const adviser = { model: 'adviser', uses: 2, inputTokens: 100_000, outputTokens: 700 }
  const limits: RunTestOptions = { prices, maxBudgetUsd: 1_000_000 }

  test('a compaction: everything is read once more, and so is its summary', async () => {
    const model = modelReporting(compacted, { extraPasses: [compaction], contextWindow: 100_000 })
    const readAgain = input + cap + 500
    const sum = input + cap + 2 * readAgain + 500
    expect(reserved(await run([], { ...limits, model }))).toEqual([[sum * 1e9, sum]])
  })

  test('nothing when the request cannot be long enough for a compaction', async () => {
    const model = modelReporting(usageOf(10, 5, []), { extraPasses: [{ ...compaction, fromInputTokens: 50_000 }] })
    expect(reserved(await run([], { ...limits, model }))).toEqual([[(input + cap) * 1e9, input + cap]])
  })

  test('an adviser: at its own price, whatever its tokens are', async () => {
    const model = modelReporting(usageOf(10, 5, []), { extraPasses: [adviser], contextWindow: 100_000 })
    const readAgain = 2 * (input + cap + 1_400)
    const byBytes = 2 * (2 * input + cap + 1_400)
    const own = input + cap + readAgain
    const other = byBytes + 2 * 700
    expect(reserved(await run([], { ...limits, model }))).toEqual([[(own + 10 * other) * 1e9, own + other]])
  })

  test('includes it in the certificate', () => {
    const plain = { ...modelReporting(compacted), contextWindow: 10_000 }
    const bounded = { prices, maxTurns: 1, maxRetries: 0, context: undefined }
    const of = (model: Model): readonly unknown[] => {
      const { tokens, usd, requests } = certificate({ ...bounded, model })
      if (!tokens.bounded || !usd.bounded || !requests.bounded) throw new Error('bounded')
      return [tokens.value / requests.value, usd.value / requests.value]
    }
    expect(of(plain)).toEqual([14_000, 14_000])
    expect(of({ ...plain, extraPasses: [adviser] })).toEqual([
      14_000 + 2 * 10_000 + 2 * 100_700,
      14_000 + 2 * 10_000 + 10 * 2 * 100_700,
    ])
  })

  test('rejects a budget without a maximum number of uses', async () => {
    const endless = modelReporting(compacted, { extraPasses: [{ ...adviser, uses: Infinity }] })
    for (const limit of [{ maxBudgetUsd: 1 }, { maxTotalTokens: 1_000 }])
      expect(() => run([], { model: endless, prices, ...limit })).toThrow(ConfigurationError)
    expect(certificate({ model: endless, prices }).usd).toMatchObject({ bounded: false })
    expect((await run([], { model: endless, prices })).terminal.reason).toBe('completed')
  })

  test('rejects a budget without a price for each model that may be asked', () => {
    const model = modelReporting(compacted, { extraPasses: [{ ...adviser, model: 'stranger' }] })
    expect(() => run([], { model, prices, maxBudgetUsd: 1 })).toThrow('There is no price for stranger')
  })
})

test('runs the calls of a reply with reported passes like any other', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'Look' }], usage: compacted }, 'answer'], { maxOutputTokens: cap })
  const { terminal } = await run([], { model, tools: [reader('Look')], prices })
  expect(terminal.reason).toBe('completed')
})
