// Tests R-END-1 to R-END-5, R-BUD-3.
import { describe, expect, test } from 'vitest'
import { noProgress } from '../../src/index.ts'
import { StepsLimitHook, TokenUsageLimitHook } from '../../src/compat/index.ts'
import { plainContext } from '../../src/entries/adapters.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { ask } from '../support/engine.ts'
import { calls, dollarATokenPrices, hanging, reader, tool } from '../support/harness.ts'
import { expectEnding } from './ending.ts'
import { noProgressNudge } from '../../src/limits/guard-texts.ts'

const forever = () => calls('Look')
const tools = [reader('Look')]

describe('limits', () => {
  test('terminal: max_turns', async () => {
    const outcome = await ask(forever, { tools, maxTurns: 2 })
    expectEnding(outcome, 'max_turns', {
      message: 'Reached maximum number of turns (2)',
      source: 'max_turns',
      context: { used: 2, limit: 2, turnCount: 3 },
      attachments: [{ type: 'max_turns_reached', maxTurns: 2, turnCount: 3 }],
      results: ['read', 'read'],
    })
    expect(outcome.model.requests).toHaveLength(2)
  })

  test('terminal: max_turns, also by a guard: the same attachment and the same text', async () => {
    const outcome = await ask(forever, { tools, stopWhen: new StepsLimitHook(2) })
    expectEnding(outcome, 'max_turns', {
      message: 'Step limit reached: 2/2',
      source: 'StepsLimitHook',
      context: { currentSteps: 2, maxSteps: 2, used: 2, limit: 2 },
      attachments: [{ type: 'max_turns_reached', maxTurns: 2, turnCount: 3 }],
      results: ['read', 'read'],
      errors: ['Reached maximum number of turns (2)'],
    })
    expect(outcome.model.requests).toHaveLength(2)
  })

  test('terminal: max_budget_usd', async () => {
    const script = [{ ...calls('Look'), usage: { input_tokens: 1_100, output_tokens: 10 } }]
    const outcome = await ask(script, {
      model: scriptedModel(script, { maxOutputTokens: 10 }),
      tools,
      prices: dollarATokenPrices,
      maxBudgetUsd: 2_000,
    })
    expectEnding(outcome, 'max_budget_usd', {
      message: 'Reached maximum budget ($2000): $1110 is used, and the next request may cost up to $1220',
      source: 'ledger',
      results: ['read'],
    })
    expect(outcome.model.requests).toHaveLength(1)
    expect({
      cost: outcome.result.total_cost_usd,
      usage: outcome.result.usage,
      turns: outcome.result.num_turns,
    }).toEqual({
      cost: 1_110,
      usage: { input_tokens: 1_100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      turns: 1,
    })
  })

  test('terminal: token_limit', async () => {
    const outcome = await ask(() => ({ ...calls('Look'), usage: { input_tokens: 20_000, output_tokens: 20_000 } }), {
      tools,
      stopWhen: {
        name: 'tokens',
        evaluate: (view) => new TokenUsageLimitHook(40_000).evaluate(view),
        bounds: {},
      },
    })
    expectEnding(outcome, 'token_limit', {
      message: 'Token limit reached: 40000/40000',
      source: 'TokenUsageLimitHook',
      context: { totalTokens: 40_000, maxTokens: 40_000, used: 40_000, limit: 40_000 },
      results: ['read'],
    })
  })

  test('terminal: max_output_tokens, which keeps the text so far', async () => {
    const script = () => ({ text: 'part', stopReason: 'max_tokens', usage: { output_tokens: 100 } })
    const outcome = await ask(script, {
      model: scriptedModel(script, { maxOutputTokens: 100, defaultOutputTokens: 50 }),
    })
    const resume =
      'Your reply was cut off at the output limit. Continue exactly where it stopped, without an apology or a recap. Split what remains into smaller parts.'
    expectEnding(outcome, 'max_output_tokens', {
      message: 'The reply was cut at 100 output tokens repeatedly',
      source: 'model',
      context: { used: 100, limit: 100 },
      loopMessages: [
        ['loop', resume],
        ['loop', resume],
        ['loop', resume],
      ],
      failures: [['max_output_tokens', "The reply is longer than the model's output limit of 100 tokens."]],
    })
    expect(outcome.transitions).toEqual([
      'max_output_tokens_escalate',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
    ])
    expect(outcome.terminal.summary.assistantMessages).toBe(4)
  })

  test('terminal: time_limit, which aborts what is in flight', async () => {
    const outcome = await ask([calls('Look', 'Hang', 'Write')], {
      tools: [...tools, hanging('Hang'), tool('Write')],
      maxDurationMs: 1_000,
    })
    expectEnding(outcome, 'time_limit', {
      message: 'Time limit reached: 1.0/1.0 s',
      source: 'abort',
      context: { usedMs: 1_000, limitMs: 1_000, used: 1_000, limit: 1_000 },
      results: ['read', '!Interrupted by user', '!Interrupted by user'],
    })
    expect(outcome.terminal.durationMs).toBe(1_000)
  })

  test('terminal: no_progress', async () => {
    const outcome = await ask(forever, { tools, stopWhen: noProgress() })
    expectEnding(outcome, 'no_progress', {
      message: 'No progress: The same tool calls with the same results 5 times in a row',
      source: 'noProgress',
      context: { cycleLength: 1, repeats: 5, used: 5, limit: 5 },
      loopMessages: [['loop', noProgressNudge]],
      results: Array.from({ length: 5 }, () => 'read'),
    })
  })

  test('terminal: structured_output_retry_exhausted', async () => {
    const outcome = await ask(() => 'no JSON', {
      output: { check: () => ({ fits: false, message: 'it is not JSON' }) },
    })
    const again =
      'Your answer does not match the required schema: it is not JSON. Answer again with only JSON that matches it.'
    expectEnding(outcome, 'structured_output_retry_exhausted', {
      message: 'The answer does not match the output schema: it is not JSON',
      source: 'structured_output',
      context: { problem: 'it is not JSON' },
      loopMessages: Array.from({ length: 5 }, () => ['loop', again] as const),
    })
    expect(outcome.model.requests).toHaveLength(6)
  })
})

describe('preemptive endings: no request is made', () => {
  test('terminal: compaction_thrash', async () => {
    const outcome = await ask(['never'], { context: { ...plainContext, beforeRequest: () => 'thrash' } })
    expectEnding(outcome, 'compaction_thrash', {
      message: 'Compacting the conversation again would not make room: the context filled up again at once.',
      source: 'context',
      context: { estimatedTokens: 5 },
    })
    expect(outcome.model.requests).toEqual([])
  })

  test('terminal: blocking_limit', async () => {
    const model = scriptedModel(['never'], { contextWindow: 3_005 })
    const outcome = await ask(['never'], { model, context: plainContext })
    const message = 'Prompt is too long: about 5 tokens, and 5 fit. Compact the conversation or start a new one.'
    expectEnding(outcome, 'blocking_limit', {
      message,
      source: 'context',
      context: { used: 5, limit: 5 },
      failures: [['invalid_request', message]],
    })
    expect(outcome.model.requests).toEqual([])
  })
})
