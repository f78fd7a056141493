// Tests R-TOOL-19 to R-TOOL-19c: the questions of a tool to a model are paid, counted and recorded like any other request.
import { describe, expect, test } from 'vitest'
import { textOf, type CompactionReply } from '../../src/entries/adapters.ts'
import { accountOf, recordedWork, trajectoryOf, whatIf } from '@halting/analysis'
import {
  replay,
  resume,
  tool as makeTool,
  type RunOptions,
  type StepRecord,
  type Tool,
  type ToolContext,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices as prices,
  json,
  reader,
  results,
  resultTexts,
  run,
  tick,
} from '../support/harness.ts'
import { killedAfter, killedBefore } from '../support/kill-process.ts'

const cap = 2_000
const question = (text: string) =>
  ({ system: 'Tell.', messages: [{ role: 'user', content: text }], maxOutputTokens: 500 }) as const

type Ask = NonNullable<ToolContext['ask']>
type Work = (ask: Ask, input: Record<string, unknown>) => Promise<string>

const replyText = (reply: CompactionReply): string =>
  reply.kind === 'answered' ? textOf(reply.message.content) : reply.kind

/** The model that is asked replies with its question. The model of the run looks as often as configured, and answers. */
function world(work: Work, names: readonly string[] = ['Look'], overrides: Partial<Tool> = {}) {
  const helper = scriptedModel(
    ({ messages }) => ({
      text: `on ${textOf(messages[0]?.content ?? '')}`,
      usage: { input_tokens: 300, output_tokens: 40 },
    }),
    { id: 'helper', maxOutputTokens: cap },
  )
  const model = scriptedModel(
    ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'answer' : calls(...names)),
    { maxOutputTokens: cap },
  )
  const asking = (name: string): Tool => ({
    ...reader(name, async (input, { ask }) => (ask === undefined ? 'nobody to ask' : work(ask, { ...input, name }))),
    asksModel: true,
    ...overrides,
  })
  const options: RunOptions = {
    model,
    models: [helper],
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [...new Set(names)].map(asking),
  }
  return { helper, model, options }
}

const once =
  (helper: () => RunOptions['model']): Work =>
  async (ask, { name }) =>
    replyText(await ask({ ...question(String(name)), model: helper() }))

/** A world whose tools each ask one question, by their names. */
function simple(names?: readonly string[], overrides?: Partial<Tool>) {
  const setup: ReturnType<typeof world> = world(
    once(() => setup.helper),
    names,
    overrides,
  )
  return setup
}

describe('a tool that asks a model', () => {
  test('counts in cost, tokens and the figures by model, and not in the usage of the run', async () => {
    const { options, helper } = simple()
    const { terminal, state, steps } = await run([], options as never)
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 370, 370])
    expect(terminal.summary).toMatchObject({ requests: 2, turns: 2, usage: { input_tokens: 20 } })
    expect(terminal.summary.modelUsage['helper']).toMatchObject({ costUsd: 340 })
    expect(state.spent.totalTokens).toBe(370)
    expect(resultTexts({ state })).toEqual(['on Look'])
    expect(helper.requests.map(({ system, maxOutputTokens, tools }) => [system, maxOutputTokens, tools])).toEqual([
      ['Tell.', 500, []],
    ])
    const keys = steps.records.flatMap((record) => ('key' in record && record.key.includes('tool:') ? [record] : []))
    expect(keys.map(({ type, key }) => `${type} ${key.replace(/^.*tool:/, '').replace(/asked\/\w+\./, 'asked/Q.')}`)).toEqual([
      'intent 1:0:call_0_0',
      'result 1:0:call_0_0',
      'intent 1:0:call_0_0/asked/Q.1',
      'result 1:0:call_0_0/asked/Q.1',
      'result 1:0:call_0_0/asked',
    ]) // prettier-ignore
    const records = json(steps.records) as never
    const account = accountOf(records)
    expect(account.phases.find(({ phase }) => phase === 'tools')).toMatchObject({ requests: 1, tokens: 340 })
    expect(account.tools[0]).toMatchObject({ tool: 'Look', calls: 1, failed: 0, open: 0, resultCharacters: 7 })
    const payments = trajectoryOf(records).turns.flatMap((turn) => turn.payments)
    expect(payments.reduce((sum, { nanos }) => sum + nanos, 0)).toBe(370e9)
    expect((await replay(records, options)).terminal).toEqual(terminal)
  })

  test('asks in parallel: the bills are entered in call order, and a replay has the same events', async () => {
    const { options, helper } = simple(['A', 'B', 'C'])
    const { terminal, state, steps } = await run([], options as never)
    expect([terminal.reason, terminal.costUsd, helper.requests.length]).toEqual(['completed', 30 + 3 * 340, 3])
    expect(resultTexts({ state })).toEqual(['on A', 'on B', 'on C'])
    expect((await replay(json(steps.records) as never, options)).terminal).toEqual(terminal)
  })

  test('gets an error when the budget has no room for it, and nothing is asked', async () => {
    const setup: ReturnType<typeof world> = world(async (ask) =>
      replyText(await ask({ ...question('x'.repeat(50_000)), model: setup.helper })),
    )
    const { terminal, state } = await run([], { ...setup.options, maxBudgetUsd: 20_000 } as never)
    expect(resultTexts({ state })).toEqual(['over_budget'])
    expect([setup.helper.requests.length, terminal.reason, terminal.costUsd]).toEqual([0, 'completed', 30])
  })

  test('never overshoots in parallel with others that ask', async () => {
    for (const maxBudgetUsd of [3_000, 6_000, 9_000, 12_000, 40_000]) {
      const { options } = simple(['A', 'B', 'C'])
      const { terminal, state } = await run([], { ...options, maxBudgetUsd } as never)
      expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
      expect(terminal.committedUsd).toBe((state.spent.nanos + state.spent.unknownNanos) / 1e9)
    }
  })

  test('pays recorded questions once when killed after any record and resumed', async () => {
    const completeRun = await run([], simple(['A', 'B']).options as never)
    const { length } = completeRun.steps.records
    const ends: unknown[] = []
    for (let count = 1; count < length; count++) {
      const before = simple(['A', 'B'])
      const records = await killedAfter(count, { ...before.options, maxBudgetUsd: 100_000 })
      const after = simple(['A', 'B'])
      const { loop } = resume(records, { ...after.options, maxBudgetUsd: 100_000 })
      const { terminal, state } = await loop.ended
      const answered = records.filter(
        (record) => record.type === 'result' && record.key.includes('/asked/') && !record.key.includes('retry'),
      ).length
      expect([count, after.helper.requests.length]).toEqual([count, 2 - answered])
      expect(resultTexts({ state })).toEqual(['on A', 'on B'])
      expect(terminal.committedUsd).toBe((state.spent.nanos + state.spent.unknownNanos) / 1e9)
      // An unfinished question may have been billed: it is charged at its reservation, and asked again.
      expect(state.spent.nanos / 1e9).toBeGreaterThan(30)
      ends.push(terminal.reason)
    }
    expect(new Set(ends)).toEqual(new Set(['completed']))
  })

  test('is charged once when the resuming program has a tool that asks no more', async () => {
    // Its answer is on record in the second case; in the first its cost is unknown. Both are paid.
    const cases = [
      [/\/asked$/, [true, expect.any(String)]],
      [/save:|lap/, [undefined, 'on Look']],
    ] as const
    for (const [isFatal, expected] of cases) {
      const before = simple()
      const records = await killedBefore(
        (record) => ('key' in record ? isFatal.test(record.key) : isFatal.test(record.type) && before.helper.requests.length > 0),
        before.options,
      ) // prettier-ignore
      const { loop } = resume(records, { ...simple().options, tools: [reader('Look', 'something else')] })
      const { terminal, state } = await loop.ended
      const [result] = results({ state })
      expect(terminal.reason).toBe('completed')
      expect([result?.is_error, result?.content]).toEqual(expected)
      expect(terminal.costUsd).toBe(370)
    }
  })

  test('is charged for its earlier question when it asks something else after a crash', async () => {
    const before = simple()
    const records = await killedBefore((record) => 'key' in record && record.key.endsWith('/asked'), before.options)
    const after: ReturnType<typeof world> = world(async (ask) =>
      replyText(await ask({ ...question('another'), model: after.helper })),
    )
    const { terminal, state } = await resume(records, after.options).loop.ended
    expect(resultTexts({ state })).toEqual(['on another'])
    expect([terminal.costUsd, terminal.committedUsd, state.spent.totalTokens]).toEqual([710, 710, 710])
    expect(terminal.summary.modelUsage['helper']).toMatchObject({ costUsd: 680 })
  })

  test('is charged for a request without a reply when it asks something else after a crash, also by its record', async () => {
    const before = simple()
    const isReply = (record: StepRecord): boolean => record.type === 'result' && record.key.includes('/asked/')
    const records = await killedBefore(isReply, before.options)
    const after: ReturnType<typeof world> = world(async (ask) =>
      replyText(await ask({ ...question('another'), model: after.helper })),
    )
    const { loop, steps } = resume(records, after.options)
    const { terminal, state } = await loop.ended
    expect(terminal.costUsd).toBeLessThan(terminal.committedUsd)
    // It was asked, and its cost was never reported.
    const { requests } = recordedWork(steps.records)
    expect(requests.map(({ outcome: came }) => came).toSorted()).toEqual([
      'answered',
      'answered',
      'answered',
      'unknown',
    ])
    expect(accountOf(steps.records).totals.requests).toBe(4)
    const { verdict, kept } = whatIf(trajectoryOf(steps.records), {})
    expect({ verdict, ...kept }).toEqual({
      verdict: 'same',
      turns: terminal.summary.turns,
      tokens: state.spent.totalTokens,
      costUsd: terminal.costUsd,
      unknownUsd: terminal.committedUsd - terminal.costUsd,
      activeMs: terminal.durationMs,
    })
  })

  test('is interrupted by an abort', async () => {
    const hanging = scriptedModel([{ hang: true }], { id: 'helper', maxOutputTokens: cap })
    const setup = world(async (ask) => replyText(await ask({ ...question('x'), model: hanging })))
    const going = begin([], { ...setup.options, models: [hanging] } as never)
    while (hanging.requests.length === 0) await tick()
    going.loop.abort('user')
    const { terminal, state } = await going.end()
    expect(terminal.reason).toBe('aborted_tools')
    expect(results({ state })[0]?.content).toBe('Interrupted by user')
  })

  test('has no model to ask without the option, or when its call may not run again', async () => {
    for (const overrides of [{ asksModel: false }, { readOnly: false }]) {
      const { state } = await run([], simple(['Look'], overrides).options as never)
      expect(results({ state })[0]?.content).toBe('nobody to ask')
    }
    const written = simple(['Look'], { readOnly: false, onUnknownOutcome: 'rerun' })
    expect(results(await run([], written.options as never))[0]?.content).toBe('on Look')
  })

  test('does not start while its message streams', async () => {
    let started = 0
    const setup = world(async () => `${++started}`)
    const going = begin([], setup.options as never)
    const { events } = await going.end()
    const reply = events.findIndex((event) => event.type === 'message' && event.entry.kind === 'assistant')
    expect(events.findIndex(({ type }) => type === 'tool_start')).toBeGreaterThan(reply)
    expect(started).toBe(1)
  })

  test('can be made by tool() too', () => {
    const askingTool = makeTool({ name: 'T', description: 'd', asksModel: true, execute: () => 'x' })
    expect(askingTool.asksModel).toBe(true)
    expect(() => makeTool({ name: 'T', description: 'd', asksModel: 'yes' as never, execute: () => 'x' })).toThrow(/asksModel/)
  }) // prettier-ignore
})
