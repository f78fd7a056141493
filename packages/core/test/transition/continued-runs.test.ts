// Tests R-LAP-8, R-LAP-8a: iterations that a continued run may not repeat.
import { describe, expect, test } from 'vitest'
import { noProgress } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  reader,
  run,
  until,
  type RunTestOptions,
  type Run,
  type Script,
} from '../support/harness.ts'

const tools = [reader('Look')]
const overloaded: ScriptedReply = { error: { kind: 'overloaded', message: 'Overloaded', status: 529 } }
const cut: ScriptedReply = { text: 'part', stopReason: 'max_tokens' }
const look = () => calls('Look')

/** Another run over the transcript of one that ended, with its counters. */
function continueRun(first: Run, script: Script, overrides: RunTestOptions): Promise<Run> {
  return run(script, overrides, countersOf(first))
}

const countersOf = ({ state }: Run) => ({
  prompt: 'go on',
  runId: 'run2',
  transcript: state.transcript,
  carry: state.spent,
})

describe('a continued run does not repeat its once-per-run iterations', () => {
  test('wrap_up', async () => {
    const first = await run(look, { tools, maxTurns: 2, wrapUp: true })
    const second = await continueRun(first, look, { tools, maxTurns: 4, wrapUp: true })
    expect([first.transitions, second.transitions, second.terminal.reason]).toEqual([
      ['next_turn', 'wrap_up'],
      ['next_turn'],
      'max_turns',
    ])
  })

  test('no_progress_nudge', async () => {
    const runOptions = { tools, stopWhen: noProgress({ repeats: 2 }) }
    const first = await run(look, runOptions)
    const second = await continueRun(first, look, runOptions)
    expect([first.transitions, second.transitions, second.terminal.reason]).toEqual([
      ['next_turn', 'no_progress_nudge'],
      ['next_turn', 'next_turn'],
      'no_progress',
    ])
  })

  test('model_fallback: it continues with the fallback model', async () => {
    const first = await run(() => overloaded, {
      tools,
      fallbackModel: scriptedModel(['answer'], { id: 'fallback' }),
    })
    const fallbackModel = scriptedModel(() => overloaded, { id: 'fallback' })
    const second = await continueRun(first, [], { tools, fallbackModel, maxRetries: 3 })
    expect([first.transitions, second.transitions, second.terminal.reason]).toEqual([
      ['model_fallback'],
      [],
      'model_error',
    ])
    expect([second.model.requests.length, fallbackModel.requests.length]).toEqual([0, 4])
  })

  test('max_output_tokens_escalate: it asks at the highest cap', async () => {
    const sizes = { maxOutputTokens: 100, defaultOutputTokens: 50 }
    const first = await run([], { model: scriptedModel([cut, 'whole'], sizes) })
    const second = await continueRun(first, [], { model: scriptedModel([cut, 'whole'], sizes) })
    expect([first.transitions, second.transitions]).toEqual([
      ['max_output_tokens_escalate'],
      ['max_output_tokens_recovery'],
    ])
    expect(second.model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([100, 100])
  })
})

describe('a continued run', () => {
  test('has the turns that were left, and its refilled retry limits in full', async () => {
    const first = await run((_request, index) => (index < 2 ? look() : cut), { tools, maxTurns: 3 })
    const second = await continueRun(first, (_request, index) => (index < 3 ? cut : look()), { tools, maxTurns: 4 })
    const recovered = ['max_output_tokens_recovery', 'max_output_tokens_recovery', 'max_output_tokens_recovery']
    expect([first.transitions, first.terminal.reason]).toEqual([
      ['next_turn', 'next_turn', ...recovered],
      'max_output_tokens',
    ])
    expect([second.transitions, second.terminal.reason]).toEqual([recovered, 'max_turns'])
  })

  test('makes no more turns in all than its limit: none at the limit that ended the first one', async () => {
    const first = await run(look, { tools, maxTurns: 3 })
    const second = await continueRun(first, look, { tools, maxTurns: 6 })
    const third = await continueRun(second, look, { tools, maxTurns: 6 })
    const lower = await continueRun(second, look, { tools, maxTurns: 2 })
    expect(
      [second, third, lower].map(({ model, terminal }) => [model.requests.length, terminal.summary.turns]),
    ).toEqual([
      [3, 6],
      [0, 6],
      [0, 6],
    ])
    expect([second, third, lower].map(({ terminal }) => [terminal.reason, terminal.signal.context])).toEqual([
      ['max_turns', { used: 6, limit: 6, turnCount: 7 }],
      ['max_turns', { used: 6, limit: 6, turnCount: 7 }],
      ['max_turns', { used: 6, limit: 2, turnCount: 7 }],
    ])
  })

  test('makes the turn that was granted and never requested, at the same limit', async () => {
    const runOptions = { tools, prices: dollarATokenPrices, maxTurns: 3 }
    const dear = () => scriptedModel(() => ({ ...look(), usage: { output_tokens: 1_500 } }), { maxOutputTokens: 2_000 })
    const first = await run([], { ...runOptions, model: dear(), maxBudgetUsd: 3_500 })
    const second = await continueRun(first, [], { ...runOptions, model: dear() })
    expect([first, second].map(({ terminal }) => [terminal.reason, terminal.summary.turns])).toEqual([
      ['max_budget_usd', 1],
      ['max_turns', 3],
    ])
  })

  test('continues with the figures of the first: turns, usage, tokens and cost, known and unknown', async () => {
    const lost: ScriptedReply = { error: { kind: 'connection', message: 'gone' } }
    const sized = (script: readonly ScriptedReply[]) => scriptedModel(script, { maxOutputTokens: 2_000 })
    const first = await run([], { model: sized([lost, look(), 'answer']), tools, prices: dollarATokenPrices })
    const worst = first.terminal.committedUsd - first.terminal.costUsd
    const second = await continueRun(first, [], { model: sized(['answer']), tools, prices: dollarATokenPrices })
    const usage = { input_tokens: 30, output_tokens: 15, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const { costUsd, committedUsd, summary } = second.terminal
    expect([costUsd, committedUsd, second.state.spent.totalTokens]).toEqual([45, 45 + worst, 45 + worst])
    expect([worst > 2_000, summary.turns, summary.usage, summary.modelUsage]).toEqual([
      true,
      3,
      usage,
      { scripted: { usage, costUsd: 45 } },
    ])
  })

  test('asks its token target no more often than one run would', async () => {
    const runOptions = { tokenBudget: 5_000 }
    const idle: ScriptedReply = { text: 'answer', usage: { output_tokens: 0 } }
    const first = await run(() => idle, runOptions)
    const second = await continueRun(first, () => idle, runOptions)
    const nudges = ['token_budget_continuation', 'token_budget_continuation', 'token_budget_continuation']
    expect([first.transitions, second.transitions, second.terminal.reason]).toEqual([nudges, [], 'completed'])
  })

  test('has what is left of the budget: unreported costs count as spent', async () => {
    const lost: ScriptedReply = { error: { kind: 'connection', message: 'gone' } }
    const sized = (script: readonly ScriptedReply[]) => scriptedModel(script, { maxOutputTokens: 2_000 })
    const runOptions = { prices: dollarATokenPrices, maxBudgetUsd: 8_000 }
    const first = await run([], { ...runOptions, model: sized([lost, 'answer']) })
    const second = await continueRun(first, [], { ...runOptions, model: sized(['answer']) })
    const third = await continueRun(first, [], { ...runOptions, maxBudgetUsd: 4_000, model: sized(['never']) })
    expect([first, second, third].map(({ terminal, model }) => [terminal.reason, model.requests.length])).toEqual([
      ['completed', 2],
      ['completed', 1],
      ['max_budget_usd', 0],
    ])
  })

  test('has the time that was left', async () => {
    const clock = createFakeClock()
    const runOptions = { clock, maxDurationMs: 10_000 }
    const first = await run([{ text: 'answer', before: () => clock.advance(3_000) }], runOptions)
    await clock.advance(60_000)
    const going = begin([{ hang: true }], runOptions, countersOf(first))
    await until(() => going.model.requests.length === 1)
    await clock.advance(6_999)
    expect(going.events.at(-1)?.type).not.toBe('run_end')
    await clock.advance(1)
    const { terminal } = await going.end()
    expect([first.terminal.durationMs, terminal.reason, terminal.durationMs]).toEqual([3_000, 'time_limit', 10_000])
  })
})
