// Tests R-BUD-10 and R-BUD-10a: what a session spent before counts against its budget, and against nothing else.
import { describe, expect, test } from 'vitest'
import { ConfigurationError, streamRun, resume, startRun } from '../../src/index.ts'
import { CostLimitHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import { begin, calls, dollarATokenPrices, reader, resultTexts, run, tool, until } from '../support/harness.ts'

const prices = dollarATokenPrices
/** The maximum input of the first request: 1,000 around it, 16 and 2 bytes for the prompt. */
const input = 1_000 + 16 + 2 + 2
const long: ScriptedReply = { text: 'long', usage: { input_tokens: 100, output_tokens: 1_900 } }
const modelOf = (script: readonly ScriptedReply[] = [long]) => scriptedModel(script, { maxOutputTokens: 4_000 })
const runOptions = { prices, maxBudgetUsd: 10_000 }

describe('the amount spent before a run', () => {
  test('is on its ledger: the reply is capped to what is left', async () => {
    const { model } = await run([], { ...runOptions, model: modelOf(), spentBeforeUsd: 7_000 })
    expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([3_000 - input])
  })

  test('may have used up the budget, or more: then no request is made', async () => {
    for (const spentBeforeUsd of [9_000, 10_000, 12_345]) {
      const { terminal, model } = await run([], { ...runOptions, model: modelOf(), spentBeforeUsd })
      expect([terminal.reason, terminal.costUsd, model.requests]).toEqual(['max_budget_usd', 0, []])
      expect(terminal.signal).toMatchObject({
        message: `Reached maximum budget ($10000): $${spentBeforeUsd} is used, and the next request may cost up to $${input + 1_024}`,
        context: {
          usedUsd: spentBeforeUsd,
          limitUsd: 10_000,
          neededUsd: input + 1_024,
          limitNeededUsd: spentBeforeUsd + input + 1_024,
        },
      })
    }
  })

  test('counts in addition to what a run carries from the previous one', async () => {
    const first = await run([], { ...runOptions, model: modelOf() })
    expect(first.terminal.costUsd).toBe(2_000)
    const options = { ...runOptions, model: modelOf(), spentBeforeUsd: 5_500 }
    const carrying = await run([], options, { prompt: 'go', carry: first.state.spent })
    expect(carrying.model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([
      10_000 - 5_500 - 2_000 - input,
    ])
  })

  test('counts against no limit of the run alone: neither its tokens nor a cost guard', async () => {
    const limits = { prices, maxTotalTokens: 3_000, stopWhen: new CostLimitHook(2_500) }
    const { model } = await run([], { ...limits, model: modelOf(), spentBeforeUsd: 1_000_000 })
    expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([2_500 - input])
    const both = await run([], { ...limits, ...runOptions, model: modelOf(), spentBeforeUsd: 8_000 })
    expect(both.model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([])
    expect(both.terminal.signal.message).toMatch(/^Reached maximum budget \(\$10000\): \$8000 is used/)
  })

  test('counts after a resume too', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const options = { ...runOptions, clock, tools: [reader('Look')], spentBeforeUsd: 4_000 }
    const model = modelOf([{ ...long, ...calls('Look') }, { hang: true }])
    const going = begin([], { ...options, model })
    await until(() => model.requests.length === 2)
    const after = modelOf()
    // The process died here. The open attempt is charged at its reservation, which took everything that was left.
    expect((await resume([...going.steps.records], { ...options, model: after }).loop.result).reason).toBe(
      'max_budget_usd',
    )
    expect(after.requests).toEqual([])
    going.loop.abort()
    await going.end()
  })

  test('counts once a reply was billed above its reservation: its calls are not run', async () => {
    const model = modelOf([{ ...calls('Write'), usage: { input_tokens: 100, output_tokens: 8_000 } }])
    const { terminal, state } = await run([], { ...runOptions, model, tools: [tool('Write')], spentBeforeUsd: 3_000 })
    expect([terminal.reason, terminal.costUsd, resultTexts({ state })]).toEqual([
      'max_budget_usd',
      8_100,
      [expect.stringContaining('Not run: the run stopped (')],
    ])
  })

  test('is rejected below zero and as text', () => {
    for (const spentBeforeUsd of [-1, Number.NaN])
      expect(() => streamRun(startRun({ prompt: 'go' }), { model: modelOf(), spentBeforeUsd })).toThrow(
        ConfigurationError,
      )
  })
})

describe('a session with earlier spending', () => {
  test('adds its runs to it, in the budget and in the reported cost', async () => {
    const model = modelOf([long, long, long])
    const { engine } = engineOf([], { ...runOptions, model, spentBeforeUsd: 3_000.5 })
    const reported = []
    expect(engine.totalCostUsd).toBe(3_000.5)
    for (let runs = 0; runs < 3; runs++) {
      const messages = []
      for await (const message of engine.submit('go')) messages.push(message)
      const { terminal_reason, total_cost_usd } = resultOf(messages)
      reported.push([terminal_reason, total_cost_usd])
    }
    expect(reported).toEqual([
      ['completed', 5_000.5],
      ['completed', 7_000.5],
      ['completed', 9_000.5],
    ])
    for await (const message of engine.submit('go'))
      if (message.type === 'result') reported.push([message.terminal_reason, message.total_cost_usd])
    expect([reported.at(-1), model.requests.length, engine.totalCostUsd]).toEqual([
      ['budget_exhausted', 9_000.5],
      3,
      9_000.5,
    ])
    expect(model.requests.every(({ maxOutputTokens }) => maxOutputTokens <= 10_000 - 3_000.5)).toBe(true)
  })
})

describe('a limit that is set during a run', () => {
  const usage = { input_tokens: 100, output_tokens: 1_900 }
  const working = (count = 20) =>
    scriptedModel(
      Array.from({ length: count }, () => ({ ...calls('Look'), usage })),
      { maxOutputTokens: 2_000 },
    )

  test.each([
    ['lowers the budget of the session', { maxBudgetUsd: 100_000 }, { maxBudgetUsd: 13_000 }, 13_000],
    ['raises the budget of the session', { maxBudgetUsd: 14_000 }, { maxBudgetUsd: 30_000 }, 30_000],
    ['removes the budget of the session', { maxBudgetUsd: 14_000, maxRunUsd: 14_000 }, { maxBudgetUsd: null }, 22_000],
    ['lowers that of the run', { maxBudgetUsd: 30_000 }, { maxRunUsd: 9_000 }, 17_000],
    ['raises that of the run', { maxBudgetUsd: 30_000, maxRunUsd: 6_000 }, { maxRunUsd: 12_000 }, 20_000],
  ])('%s, with earlier spending', async (_, limits, change, most) => {
    let isSet = false
    const model = working()
    const options = { prices, ...limits, spentBeforeUsd: 8_000, model }
    const look = reader('Look', () => {
      if (!isSet) going.loop.set({ limits: change })
      isSet = true
      return 'seen'
    })
    const going = begin([], { ...options, tools: [look] })
    const { terminal } = await going.end()
    expect(terminal.reason).toBe('max_budget_usd')
    const spentUsd = 8_000 + terminal.costUsd
    expect(spentUsd).toBeLessThanOrEqual(most)
    // Another request might have been too much.
    expect(spentUsd).toBeGreaterThan(most - 4_000)

    // The process died, and another one continues.
    const records = going.steps.records.slice(
      0,
      going.steps.records.findLastIndex(({ type }) => type === 'lap'),
    )
    const again = await resume(records, { ...options, tools: [reader('Look')], model: working() }).loop.result
    expect([again.reason, again.costUsd]).toEqual(['max_budget_usd', terminal.costUsd])
  })
})
