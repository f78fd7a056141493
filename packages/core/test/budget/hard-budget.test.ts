// Tests R-BUD-1 to R-BUD-6.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConfigurationError, streamRun, startRun, type AgentTool, type Prices } from '../../src/index.ts'
import { plainContext } from '../../src/entries/adapters.ts'
import { Ledger } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, hook, reader, run, tool, until } from '../support/harness.ts'
import { drawn } from '../support/deep.ts'

const prices = dollarATokenPrices
/** The maximum input of the first request: 1,000 around it, 16 and 2 bytes for the prompt. */
const input = 1_000 + 16 + 2 + 2
const asked = (maxBudgetUsd: number, script: ScriptedReply[] = ['answer'], maxOutputTokens = 4_000) => {
  const model = scriptedModel(script, { maxOutputTokens })
  return run([], { model, prices, maxBudgetUsd })
}

describe('a hard budget', () => {
  test('clamps max_tokens to what fits', async () => {
    expect((await asked(10_000)).model.requests[0]?.maxOutputTokens).toBe(4_000)
    expect((await asked(3_000)).model.requests[0]?.maxOutputTokens).toBe(3_000 - input)
  })

  test('stops before the call when less than a useful answer fits', async () => {
    const { terminal, model } = await asked(input + 1_023)
    expect([terminal.reason, terminal.costUsd, model.requests]).toEqual(['max_budget_usd', 0, []])
    expect(terminal.signal.toJSON()).toEqual({
      reason: 'cost_limit',
      message: `No request fits a budget of $${input + 1_023}: the first one may cost up to $${input + 1_024}`,
      context: {
        used: 0,
        usedUsd: 0,
        limit: input + 1_023,
        limitUsd: input + 1_023,
        neededUsd: input + 1_024,
        availableUsd: input + 1_023,
        limitNeededUsd: input + 1_024,
      },
      source: 'ledger',
    })
    expect((await asked(input + 1_024)).model.requests[0]?.maxOutputTokens).toBe(1_024)
  })

  test('a reply that is truncated by the lowered cap ends as max_budget_usd and does not escalate', async () => {
    const model = scriptedModel(
      [{ text: 'half', stopReason: 'max_tokens', usage: { input_tokens: 10, output_tokens: 1_500 } }],
      { maxOutputTokens: 8_000, defaultOutputTokens: 4_000 },
    )
    const { terminal, transitions, messages } = await run([], { model, prices, maxBudgetUsd: 3_000 })
    expect([terminal.reason, transitions, messages.length]).toEqual(['max_budget_usd', [], 2])
  })

  test('a reply that is truncated by the lowered cap of a token budget does not escalate either', async () => {
    const cut: ScriptedReply = {
      text: 'half',
      stopReason: 'max_tokens',
      usage: { input_tokens: 10, output_tokens: 1_500 },
    }
    const lowered = await run([], { model: scriptedModel([cut]), maxTotalTokens: 3_000 })
    expect([lowered.terminal.reason, lowered.model.requests[0]?.maxOutputTokens]).toEqual([
      'token_limit',
      3_000 - input,
    ])
    expect((await run(['answer'], { maxTotalTokens: 100 })).terminal.reason).toBe('token_limit')
  })

  test('charges an aborted attempt at the worst case, apart from what was settled', async () => {
    const model = scriptedModel([{ hang: true, text: 'half' }], { maxOutputTokens: 4_000 })
    const going = begin([], { model, prices, maxBudgetUsd: 10_000 })
    await until(() => model.requests.length === 1)
    going.loop.abort()
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['aborted_streaming', 0, input + 4_000])
  })

  test('charges a dropped connection at the worst case, an HTTP refusal at nothing, and a reported usage as reported', async () => {
    const failing = async (error: object) => {
      const { terminal } = await asked(100_000, [
        { error: { kind: 'server_error', message: 'x', retryable: false, ...error } },
      ])
      return [terminal.costUsd, terminal.committedUsd]
    }
    const usage = { input_tokens: 7, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    expect(await failing({ kind: 'connection' })).toEqual([0, input + 4_000])
    expect(await failing({ status: 500 })).toEqual([0, 0])
    expect(await failing({ status: 500, usage })).toEqual([10, 10])
  })

  test('charges a stream that broke at the worst case', async () => {
    const { terminal } = await asked(100_000, [{ ...calls('Look'), streamError: { kind: 'connection', message: 'x' } }])
    expect([terminal.costUsd, terminal.committedUsd]).toEqual([0, input + 4_000])
  })

  test('reserves a retry anew, and skips it when it does not fit', async () => {
    const { terminal, model } = await asked(input + 4_000 + 500, [
      { error: { kind: 'connection', message: 'x' } },
      'answer',
    ])
    expect([terminal.reason, model.requests.length, terminal.committedUsd]).toEqual([
      'max_budget_usd',
      1,
      input + 4_000,
    ])
  })

  test('reserves the cost of the last answer with wrapUp', async () => {
    const script = ({ maxOutputTokens }: { readonly maxOutputTokens: number }, index: number): ScriptedReply =>
      index === 0
        ? { ...calls('Look'), usage: { input_tokens: 1_000, output_tokens: maxOutputTokens } }
        : 'what is done'
    const runOptions = { tools: [reader('Look')], prices, maxBudgetUsd: 9_000 }
    const withReserve = await run([], {
      ...runOptions,
      model: scriptedModel(script, { maxOutputTokens: 100_000 }),
      wrapUp: true,
    })
    const free = await run([], { ...runOptions, model: scriptedModel(script, { maxOutputTokens: 100_000 }) })
    expect(withReserve.model.requests[0]!.maxOutputTokens).toBeLessThan(free.model.requests[0]!.maxOutputTokens - 1_024)
    expect([
      withReserve.terminal.reason,
      withReserve.transitions,
      withReserve.model.requests.at(-1)?.toolChoice,
    ]).toEqual(['max_budget_usd', ['next_turn', 'wrap_up'], 'none'])
    expect(withReserve.terminal.committedUsd).toBeLessThanOrEqual(9_000)
  })

  test('rejects a dollar budget for a model without a price', () => {
    const model = scriptedModel([])
    expect(() => streamRun(startRun({ prompt: 'go' }), { model, maxBudgetUsd: 1 })).toThrow(ConfigurationError)
    expect(() =>
      streamRun(startRun({ prompt: 'go' }), {
        model,
        maxBudgetUsd: 1,
        prices,
        fallbackModel: scriptedModel([], { id: 'other' }),
      }),
    ).not.toThrow()
  })

  test('counts what the previous run spent when a run continues it', async () => {
    const first = await asked(5_000, [{ text: 'answer', usage: { input_tokens: 1_000, output_tokens: 3_000 } }])
    const second = await run(
      ['never'],
      { prices, maxBudgetUsd: 5_500 },
      { prompt: 'more', runId: 'run2', transcript: first.state.transcript, carry: first.state.spent },
    )
    expect([second.terminal.reason, second.model.requests]).toEqual(['max_budget_usd', []])
    const tokens = await run(
      ['never'],
      { maxTotalTokens: 5_500 },
      { prompt: 'more', runId: 'run2', transcript: first.state.transcript, carry: first.state.spent },
    )
    expect([tokens.terminal.reason, tokens.model.requests]).toEqual(['token_limit', []])
  })
})

describe('subagents', () => {
  const agent: AgentTool = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    concurrencySafe: true,
    spawn: ({ prompt }: { readonly prompt: string }) => ({ prompt }),
  }

  test("draw on the parent's ledger, and are in its figures", async () => {
    const script = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }): ScriptedReply =>
      messages[0]?.content === 'go'
        ? messages.length === 1
          ? calls({ name: 'Agent', input: { prompt: 'sub' } })
          : 'done'
        : { text: 'found', usage: { input_tokens: 100, output_tokens: 50 } }
    const { terminal, state } = await run([], {
      model: scriptedModel(script, { maxOutputTokens: 2_000 }),
      tools: [agent],
      prices,
      maxBudgetUsd: 50_000,
    })
    expect([terminal.reason, terminal.costUsd, state.spent.totalTokens]).toEqual(['completed', 15 + 150 + 15, 180])
    expect(terminal.summary.usage).toMatchObject({ input_tokens: 20, output_tokens: 10 })
    expect(terminal.summary.modelUsage).toEqual({
      scripted: { usage: expect.objectContaining({ input_tokens: 120, output_tokens: 60 }), costUsd: 180 },
    })
  })

  test('do not start with too little left: the parent gets an error, and the budget stays whole', async () => {
    const script = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }): ScriptedReply =>
      messages[0]?.content === 'go' ? calls({ name: 'Agent', input: { prompt: 'sub' } }) : 'found'
    const { terminal } = await run([], {
      model: scriptedModel(script, { maxOutputTokens: 1_500 }),
      tools: [agent],
      prices,
      maxBudgetUsd: 2_600,
    })
    expect([terminal.reason, terminal.committedUsd <= 2_600]).toEqual(['max_budget_usd', true])
  })
})

test('never overshoots a budget, whatever the model, the tools and the network do', async () => {
  const honest: Prices = {
    cost: (_model, usage) => (usage.input_tokens + 5 * usage.output_tokens) / 1_000,
    worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + 5 * outputTokens) / 1_000,
  }
  const behaviour = fc.constantFrom('text', 'tool', 'cut', 'drop', 'refused', 'broken')
  await fc.assert(
    fc.asyncProperty(
      fc.array(behaviour, { minLength: 1, maxLength: 12 }),
      fc.double({ min: 0.5, max: 60, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.boolean(),
      async (script, maxBudgetUsd, share, wrapUp) => {
        const model = scriptedModel(
          ({ maxOutputTokens, messages }, index) => {
            // A service may bill at most the bytes of the input, and at most the cap.
            const bytes = JSON.stringify(messages).length
            const usage = {
              input_tokens: Math.floor((900 + bytes / 4) * share),
              output_tokens: Math.floor(maxOutputTokens * share),
            }
            switch (script[index] ?? 'text') {
              case 'tool':
                return { ...calls('Write'), usage }
              case 'cut':
                return { text: 'part', stopReason: 'max_tokens', usage: { ...usage, output_tokens: maxOutputTokens } }
              case 'drop':
                return { error: { kind: 'connection', message: 'dropped' } }
              case 'refused':
                return { error: { kind: 'server_error', message: 'busy', status: 500 } }
              case 'broken':
                return { ...calls('Write'), streamError: { kind: 'connection', message: 'x' }, usage }
              case 'text':
              default:
                return { text: 'answer', usage }
            }
          },
          { maxOutputTokens: 6_000, defaultOutputTokens: 3_000 },
        )
        const clock = createFakeClock({ autoAdvance: true })
        const hooks = [hook('onStop', (context) => context.withState(context.state().withExecutionContinued('more')))]
        const { terminal } = await run([], {
          model,
          clock,
          prices: honest,
          maxBudgetUsd,
          wrapUp,
          hooks,
          tools: [tool('Write', 'x'.repeat(200))],
        })
        expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd + 1e-9)
        expect(terminal.costUsd).toBeLessThanOrEqual(terminal.committedUsd)
      },
    ),
    { numRuns: drawn(300) },
  )
})

test('enforces a ledger that several runs share for all of them together', async () => {
  const ledger = Ledger.create({ nanos: 9_000e9 })
  const one = () => {
    const model = scriptedModel([{ text: 'x', usage: { input_tokens: 1_000, output_tokens: 1_500 } }], {
      maxOutputTokens: 2_000,
    })
    return streamRun(
      startRun({ prompt: 'go' }),
      { model, prices, maxBudgetUsd: 9_000, clock: createFakeClock() },
      { ledger },
    ).result
  }
  const terminals = await Promise.all([one(), one(), one(), one()])
  expect(terminals.map(({ reason }) => reason)).toEqual(['completed', 'completed', 'completed', 'max_budget_usd'])
  expect(ledger.figures().settled.nanos).toBe(7_500e9)
})

test('separates worst-case charges from reported usage in the ledger', async () => {
  const ledger = Ledger.create({ nanos: 20_000e9 })
  const model = scriptedModel([{ error: { kind: 'connection', message: 'gone' } }, 'answer'], {
    maxOutputTokens: 2_000,
  })
  const clock = createFakeClock({ autoAdvance: true })
  await streamRun(startRun({ prompt: 'go' }), { model, prices, maxBudgetUsd: 20_000, clock }, { ledger }).result
  const unknown = input + 2_000
  expect(ledger.figures()).toEqual({
    settled: { nanos: (unknown + 15) * 1e9, tokens: unknown + 15 },
    reserved: { nanos: 0, tokens: 0 },
    unknown: { nanos: unknown * 1e9, tokens: unknown },
    available: { nanos: (20_000 - unknown - 15) * 1e9, tokens: Infinity },
  })
})

test('reserves another full read, or a full window, for each use of a server-side tool', async () => {
  const reserved = async (contextWindow: number) => {
    const model = { ...scriptedModel(['answer'], { maxOutputTokens: 2_000, contextWindow }), maxServerToolUses: 3 }
    const { steps } = await run([], {
      model,
      maxTotalTokens: 1_000_000,
      context: { ...plainContext, autoCompact: true },
    })
    return steps.records.flatMap((record) => (record.type === 'intent' ? [record.intent] : []))
  }
  const grant = (inAll: number) => {
    const [least, most] = [1_024, 2_000].map((output) => ({ nanos: 0, tokens: inAll + output }))
    return { granted: true, model: 'scripted', ...most, least, most, maxTokens: 2_000, lowered: null }
  }
  expect(await reserved(50_000)).toEqual([grant(input + 3 * 50_000)])
  expect(await reserved(500)).toEqual([grant(input + 3 * input)])
})
