// Tests R-BUD-5, R-BUD-11, R-BUD-12: figures that services and prices report are validated before they count.
import { describe, expect, test } from 'vitest'
import { noUsage } from '../../src/entries/adapters.ts'
import {
  ConfigurationError,
  streamRun,
  replay,
  resume,
  startRun,
  type RunOptions,
  type Model,
  type Prices,
  type Usage,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import {
  calls,
  dollarATokenPrices as prices,
  isLive,
  json,
  reader,
  run,
  type RunTestOptions,
  type Run,
} from '../support/harness.ts'
import { tinyImage } from '../support/images.ts'
import { killedBefore } from '../support/kill-process.ts'

const cap = 4_000
/** The maximum input of the first request: 1,000 around it, 16 and 2 bytes for the prompt, 2 for the tools. */
const firstInput = 1_000 + 16 + 2 + 2
const worstCaseUsd = firstInput + cap

/** A model whose reply has this usage, whatever its type. */
function modelReporting(usage: unknown, text = 'answer'): ReturnType<typeof scriptedModel> {
  const model = scriptedModel(() => text, { maxOutputTokens: cap })
  const call: Model['call'] = async (request, options) => {
    const reply = await model.call(request, options)
    // A service can return a value of any type.
    return { ...reply, message: { ...reply.message, usage: usage as Usage } }
  }
  return { ...model, requests: model.requests, call }
}

const notices = ({ events }: Pick<Run, 'events'>) =>
  events.flatMap((event) => (event.type === 'notice' ? [event.message] : []))

const garbage: readonly (readonly [what: string, usage: unknown, named: string])[] = [
  ['no counts', {}, 'input_tokens'],
  ['a count that is missing', { ...noUsage, input_tokens: 10, output_tokens: undefined }, 'output_tokens'],
  ['a negative count', { ...noUsage, input_tokens: 10, output_tokens: -1_000 }, 'output_tokens'],
  ['a negative prompt', { ...noUsage, input_tokens: -5, output_tokens: 7 }, 'input_tokens'],
  ['NaN', { ...noUsage, input_tokens: Number.NaN, output_tokens: 7 }, 'input_tokens'],
  ['Infinity', { ...noUsage, input_tokens: 10, output_tokens: Infinity }, 'output_tokens'],
  ['a text', { ...noUsage, input_tokens: '10', output_tokens: 7 }, 'input_tokens'],
  ['null', { ...noUsage, input_tokens: 10, output_tokens: null }, 'output_tokens'],
  ['a negative cache', { ...noUsage, input_tokens: 10, cache_read_input_tokens: -3 }, 'cache_read_input_tokens'],
  ['no cache', { input_tokens: 10, output_tokens: 7 }, 'cache_creation_input_tokens'],
  [
    'a part that is not a number',
    { ...noUsage, input_tokens: 10, cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: -1 } },
    'ephemeral_1h_input_tokens',
  ],
  ['a fraction', { ...noUsage, input_tokens: 10.5, output_tokens: 7 }, 'input_tokens is 10.5'],
  ['more than any request can have', { ...noUsage, input_tokens: 100_000_001, output_tokens: 7 }, 'input_tokens'],
  [
    'a total prompt longer than any prompt',
    { ...noUsage, input_tokens: 99_999_999, cache_read_input_tokens: 2 },
    'the prompt is 100000001',
  ],
  ['passes that are not a list', { ...noUsage, input_tokens: 10, iterations: 'two' }, 'iterations is "two"'],
  ['an invalid pass', { ...noUsage, input_tokens: 10, iterations: [7] }, 'iterations[0] is 7'],
  [
    'a pass without a kind',
    { ...noUsage, input_tokens: 10, iterations: [{ input_tokens: 1, output_tokens: 1 }] },
    'iterations[0].type is missing',
  ],
  [
    'a pass with a negative count',
    { ...noUsage, input_tokens: 10, iterations: [{ type: 'message', input_tokens: 1, output_tokens: -1 }] },
    'iterations[0].output_tokens is -1',
  ],
  [
    'a pass without a count',
    { ...noUsage, input_tokens: 10, iterations: [{ type: 'message', input_tokens: 1 }] },
    'iterations[0].output_tokens is missing',
  ],
  [
    'a pass with a cache that is not a number',
    {
      ...noUsage,
      input_tokens: 10,
      iterations: [{ type: 'message', input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 'all' }],
    },
    'iterations[0].cache_read_input_tokens is "all"',
  ],
  [
    'a pass with a negative one-hour cache write',
    {
      ...noUsage,
      input_tokens: 10,
      iterations: [
        { type: 'message', input_tokens: 1, output_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: -4 } },
      ],
    },
    'iterations[0].cache_creation.ephemeral_1h_input_tokens is -4',
  ],
  [
    'a pass whose model is not a name',
    { ...noUsage, input_tokens: 10, iterations: [{ type: 'message', model: 5, input_tokens: 1, output_tokens: 1 }] },
    'iterations[0].model is 5',
  ],
  [
    'more passes than any request can have',
    {
      ...noUsage,
      input_tokens: 10,
      iterations: Array.from({ length: 1_001 }, () => ({ type: 'message', input_tokens: 1, output_tokens: 1 })),
    },
    'iterations is [{',
  ],
  [
    'a negative number of searches',
    { ...noUsage, input_tokens: 10, server_tool_use: { web_search_requests: -1 } },
    'web_search_requests',
  ],
]

describe.each(garbage)('a usage with %s', (_what, usage, named) => {
  test('counts as missing: the reply is charged at its worst case, with a notice', async () => {
    const completeRun = await run([], { model: modelReporting(usage), prices, maxBudgetUsd: 100_000 })
    const { terminal, state } = completeRun
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 0, worstCaseUsd])
    expect(terminal.summary.usage).toEqual(noUsage)
    expect(state.spent.totalTokens).toBe(worstCaseUsd)
    expect(notices(completeRun)).toEqual([expect.stringContaining(named)])
    // Figures are numbers, and the stored reply survives a JSON round trip unchanged.
    expect(json(state.spent)).toEqual(state.spent)
    expect(state.transcript.lastReply()).toMatchObject({ usage: noUsage })
  })

  test('counts as missing without a limit too', async () => {
    const completeRun = await run([], { model: modelReporting(usage), prices })
    expect([completeRun.terminal.costUsd, completeRun.terminal.committedUsd]).toEqual([0, worstCaseUsd])
    expect(notices(completeRun)).toHaveLength(1)
  })

  test('produces the same notice in a replay', async () => {
    const options = { model: modelReporting(usage), prices, maxBudgetUsd: 100_000 }
    const completeRun = await run([], options)
    const again = await replay(completeRun.steps.records, options)
    expect(notices(again)).toEqual(notices(completeRun))
    expect(json(again.terminal)).toEqual(json(completeRun.terminal))
  })

  test('counts as missing for a failed attempt too', async () => {
    const model = scriptedModel(
      // A service can return a value of any type.
      [{ error: { kind: 'invalid_request', message: 'x', status: 400, billed: 'unknown', usage: usage as Usage } }],
      { maxOutputTokens: cap },
    )
    const { terminal } = await run([], { model, prices, maxBudgetUsd: 100_000 })
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['model_error', 0, worstCaseUsd])
  })
})

test('accepts parts of a usage that a service leaves empty', async () => {
  const usage = {
    ...noUsage,
    input_tokens: 10,
    output_tokens: 5,
    cache_creation: null,
    server_tool_use: null,
    iterations: null,
  }
  const completeRun = await run([], { model: modelReporting(usage), prices, maxBudgetUsd: 100_000 })
  expect([completeRun.terminal.costUsd, completeRun.terminal.committedUsd, notices(completeRun)]).toEqual([15, 15, []])
})

test('enforces a budget with a service that reports negative counts', async () => {
  const model = modelReporting({ ...noUsage, input_tokens: 10, output_tokens: -100_000 }, '')
  const tools = [reader('Look')]
  const looking = {
    ...model,
    call: async (...args: Parameters<Model['call']>) => {
      const reply = await model.call(...args)
      const content = [{ type: 'tool_use', id: `c${model.requests.length}`, name: 'Look', input: {} } as const]
      return { ...reply, message: { ...reply.message, content, stop_reason: 'tool_use' } }
    },
  }
  const { terminal } = await run([], { model: looking, tools, prices, maxBudgetUsd: 20_000 })
  expect(terminal.reason).toBe('max_budget_usd')
  expect(terminal.committedUsd).toBeLessThanOrEqual(20_000)
  expect(terminal.costUsd).toBe(0)
})

describe('charges a request whose prices fail after the reply', () => {
  const bad: readonly (readonly [string, Prices['cost']])[] = [
    ['throw', () => { throw new Error('no table') }], // prettier-ignore
    ['return NaN', () => Number.NaN],
    ['return a negative sum', () => -1],
    ['return Infinity', () => Infinity],
    ['return none, although they returned the worst case', () => undefined],
  ]

  test.each(bad)('that %s: charges the worst case, and reports the tokens as received', async (_how, cost) => {
    const completeRun = await run(['answer'], {
      model: scriptedModel(['answer'], { maxOutputTokens: cap }),
      prices: { ...prices, cost },
      maxBudgetUsd: 100_000,
    })
    const { terminal, state } = completeRun
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 0, worstCaseUsd])
    expect([terminal.summary.requests, terminal.summary.turns, state.spent.totalTokens]).toEqual([1, 1, 15])
    expect(terminal.summary.modelUsage).toEqual({
      scripted: { usage: { ...noUsage, input_tokens: 10, output_tokens: 5 }, costUsd: 0 },
    })
    expect(notices(completeRun)).toEqual([expect.stringContaining('scripted')])
  })

  test.each(bad.slice(0, 4))('that %s, without a limit: the run continues', async (_how, cost) => {
    const { terminal } = await run([calls('Look'), 'answer'], { tools: [reader('Look')], prices: { ...prices, cost } })
    expect([terminal.reason, terminal.summary.requests, terminal.costUsd]).toEqual(['completed', 2, 0])
    expect(Number.isFinite(terminal.committedUsd)).toBe(true)
  })

  test.each<[string, Prices['worstCase']]>([
    ['throw', () => { throw new Error('no table') }], // prettier-ignore
    ['return NaN', () => Number.NaN],
    ['return a negative sum', () => -1],
  ])('a worst case that they %s stops the run before its request', async (_how, worstCase) => {
    const model = scriptedModel(['never'])
    // Known when the options are validated, and unknown later.
    let callCount = 0
    const runOptions: RunTestOptions = {
      model,
      prices: {
        ...prices,
        worstCase: (...args) => (callCount++ === 0 ? prices.worstCase(...args) : worstCase(...args)),
      },
      maxBudgetUsd: 100_000,
    }
    const { terminal, steps } = await run([], runOptions)
    expect([terminal.reason, model.requests.length, terminal.committedUsd]).toEqual(['error', 0, 0])
    // A replay does not ask for a price that was never known: the record says how the run broke.
    const replayed = await replay(steps.records, { ...runOptions, model, prices })
    expect(json(replayed.terminal)).toEqual(json(terminal))
  })

  test('prices without a worst case in a later turn break the replay where they broke the run', async () => {
    const model = scriptedModel([calls('Look'), 'never'])
    const runOptions: RunTestOptions = { tools: [reader('Look')], maxBudgetUsd: 100_000 }
    const broken: Prices = {
      ...prices,
      worstCase: (...args) => (model.requests.length < 1 ? prices.worstCase(...args) : -1),
    }
    const { terminal, events, steps } = await run([], { ...runOptions, model, prices: broken })
    expect([terminal.reason, terminal.error?.code]).toEqual(['error', 'callback'])
    const replayed = await replay(steps.records, { ...runOptions, model, prices })
    expect(json(replayed)).toEqual(json({ events: events.filter((event) => !isLive(event)), terminal }))
  })
})

describe('prices that fail when the options are validated', () => {
  // A price function can return a value of any type.
  test.each<[string, () => unknown, string]>([
    ['throw', () => { throw new Error('no table') }, 'they threw: no table'], // prettier-ignore
    ['throw a value that is not an error', () => { throw Object.create(null) }, 'they threw'], // prettier-ignore
    ['return NaN', () => Number.NaN, 'they returned NaN'],
    ['give null', () => null, 'they returned null'],
    ['return a promise', () => Promise.reject(new Error('no table')), 'they returned'],
  ])('that %s make a dollar budget a configuration error that names the model', (_how, worstCase, problem) => {
    const runOptions = { model: scriptedModel([]), prices: { ...prices, worstCase: worstCase as Prices['worstCase'] } }
    const start = () => streamRun(startRun({ prompt: 'go' }), { ...runOptions, maxBudgetUsd: 1 })
    expect(start).toThrow(ConfigurationError)
    expect(start).toThrow(`The prices returned no worst case for scripted: ${problem}`)
  })
})

test('reports a promise returned in place of a price, and ignores its rejection', async () => {
  const cost = (() => Promise.reject(new Error('no table'))) as unknown as Prices['cost']
  const completeRun = await run(['answer'], { prices: { ...prices, cost }, maxBudgetUsd: 100_000 })
  expect(completeRun.terminal.reason).toBe('completed')
  expect(notices(completeRun)).toEqual([expect.stringContaining('they returned')])
})

describe('an open request of a run without a limit', () => {
  test('is charged at its worst case when the resume sets a budget', async () => {
    const options = (more: Partial<RunOptions> = {}): RunOptions => ({
      model: scriptedModel(() => 'answer', { maxOutputTokens: cap }),
      clock: createFakeClock({ autoAdvance: true }),
      prices,
      ...more,
    })
    const records = await killedBefore(({ type }) => type === 'result', options())
    expect(records.map(({ type }) => type)).toEqual(['start', 'intent'])
    const unlimited = await resume(records, options()).loop.ended
    expect([unlimited.terminal.costUsd, unlimited.terminal.committedUsd]).toEqual([15, worstCaseUsd + 15])
    const limited = await resume(records, options({ maxBudgetUsd: worstCaseUsd + firstInput })).loop.ended
    expect([limited.terminal.reason, limited.terminal.committedUsd]).toEqual(['max_budget_usd', worstCaseUsd])
  })
})

test('counts a note in the place of an image by its bytes', async () => {
  const image = tinyImage
  const script = (_request: unknown, index: number): ScriptedReply => {
    if (index === 0) return { ...calls('Look'), usage: { input_tokens: 20 } }
    return index === 1 ? { error: { kind: 'image', message: 'x'.repeat(900), status: 400 } } : 'a wall'
  }
  const model = scriptedModel(script, { maxOutputTokens: cap })
  const start = { prompt: Array.from({ length: 5 }, () => image) }
  const { steps } = await run([], { model, prices, maxBudgetUsd: 100_000, tools: [reader('Look')] }, start)
  const tokens = steps.records.flatMap((record) =>
    record.type === 'intent' && record.key.includes('model:3')
      ? [(record.intent as { readonly tokens: number }).tokens]
      : [],
  )
  // Five notes, each with the message of the service: larger than the count of the images that they replace.
  expect(tokens).toEqual([expect.any(Number)])
  expect(tokens[0]).toBeGreaterThan(5 * 900 + cap)
})

test('asks nothing when the reserved price is higher than the price that was checked', async () => {
  let callCount = 0
  const rising: Prices = {
    cost: () => 1,
    // The validation of the options asks for the price of one output token.
    worstCase: (_model, { outputTokens }) => (outputTokens > 1 && ++callCount % 3 === 0 ? 1_000 : 1),
  }
  const { terminal, model } = await run(['answer'], { prices: rising, maxBudgetUsd: 10 })
  expect([terminal.reason, model.requests.length, terminal.committedUsd]).toEqual(['max_budget_usd', 0, 0])
})
