// Tests R-BUD-17, R-BUD-17a: a lease of a budget that other sessions also spend.
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  streamRun,
  ModelError,
  QueryEngine,
  resume,
  startRun,
  Transcript,
  type AgentTool,
  type BudgetLease,
  type RunOptions,
  type SdkMessage,
} from '../../src/index.ts'
import type { StepStore } from '../../src/entries/steps.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices as prices, reader, run, until } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** The maximum input of the first request: 1,000 around it, 16 and 2 bytes for the prompt. */
const input = 1_000 + 16 + 2 + 2
const cap = 2_000

/** A lease of the remaining part of a budget; `asked` lists the requested amounts. */
function leaseOf(totalUsd: number, usd = 0): BudgetLease & { readonly asked: number[]; usd: number } {
  const lease = {
    name: 'the budget of acme',
    usd,
    asked: [] as number[],
    async growTo(wanted: number) {
      lease.asked.push(wanted)
      lease.usd = Math.min(Math.max(wanted, lease.usd), totalUsd)
    },
  }
  return lease
}

const models = (script: ScriptedReply[]) => scriptedModel(script, { maxOutputTokens: cap })
const small = { input_tokens: 10, output_tokens: 10 }

describe('a lease', () => {
  test('grows by what the next request may cost, and by nothing while it has room', async () => {
    const lease = leaseOf(100_000)
    const model = models([{ text: 'answer', usage: small }])
    expect((await run([], { model, prices, lease })).terminal.reason).toBe('completed')
    expect([model.requests[0]?.maxOutputTokens, lease.asked]).toEqual([cap, [input + cap]])
    const roomy = leaseOf(100_000, 50_000)
    const script = [
      { ...calls('Look'), usage: small },
      { text: 'answer', usage: small },
    ]
    expect(
      (await run([], { model: models(script), prices, lease: roomy, tools: [reader('Look')] })).terminal.reason,
    ).toBe('completed')
    expect(roomy.asked).toEqual([])
  })

  test('shortens a reply only when it grants no more', async () => {
    const lease = leaseOf(input + 1_500)
    const cut: ScriptedReply = {
      text: 'half',
      stopReason: 'max_tokens',
      usage: { input_tokens: 10, output_tokens: 1_500 },
    }
    const model = models([cut])
    const { terminal } = await run([], { model, prices, lease })
    expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([1_500])
    expect([terminal.reason, terminal.signal.message]).toEqual([
      'max_budget_usd',
      'Nothing is left of the budget of acme: this session has used $1510',
    ])
  })

  test('ends the run before the request when it is used up, and names its owner', async () => {
    const lease = leaseOf(input + 1_000)
    const model = models(['answer'])
    const { terminal } = await run([], { model, prices, lease })
    expect([terminal.reason, terminal.costUsd, model.requests]).toEqual(['max_budget_usd', 0, []])
    expect(terminal.signal.toJSON()).toEqual({
      reason: 'cost_limit',
      message: `Nothing is left of the budget of acme: this session has used $0, and the next request may cost up to $${input + 1_024}`,
      context: {
        usedUsd: 0,
        budget: 'the budget of acme',
        neededUsd: input + 1_024,
        availableUsd: input + 1_000,
      },
      source: 'lease',
    })
  })

  test("is asked for no more than the run's own limit allows, and that limit ends the run under its own name", async () => {
    const lease = leaseOf(100_000)
    const model = models(['answer'])
    const lowered = await run([], { model, prices, lease, maxBudgetUsd: input + 1_100 })
    expect([lowered.terminal.reason, lease.asked, model.requests[0]?.maxOutputTokens]).toEqual([
      'completed',
      [input + 1_100],
      1_100,
    ])
    const none = await run([], { model: models([]), prices, lease: leaseOf(100_000), maxBudgetUsd: input })
    expect(none.terminal.signal.message).toContain(`No request fits a budget of $${input}`)
  })

  test('is enough for agents that ask at the same time', async () => {
    const lease = leaseOf(1_000_000)
    const child: AgentTool = {
      name: 'Agent',
      description: 'an agent',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'go' }),
    }
    const model = scriptedModel(
      ({ messages }) =>
        messages[0]?.content === 'start' && messages.length === 1 ? calls('Agent', 'Agent', 'Agent') : 'done',
      { maxOutputTokens: cap },
    )
    const { terminal } = await run([], { model, prices, lease, tools: [child] }, { prompt: 'start' })
    expect(terminal.reason).toBe('completed')
    expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([cap, cap, cap, cap, cap])
  })

  test('covers all runs of a session that continues, with what it has spent', async () => {
    const lease = leaseOf(input + cap + 400)
    const model = models([
      { text: 'answer', usage: { input_tokens: 300, output_tokens: 100 } },
      { text: 'more', usage: small },
    ])
    const log: StepStore = { keeps: 'all', append() {}, flush: () => undefined }
    const session = { transcript: Transcript.empty(), open: undefined, ended: [], log, lease }
    const engine = new QueryEngine({ model, prices, session })
    const results: SdkMessage[] = []
    for (const prompt of ['go', 'on'])
      for await (const message of engine.submit(prompt)) if (message.type === 'result') results.push(message)
    expect(results.map((result) => 'subtype' in result && result.subtype)).toEqual(['success', 'success'])
    expect([engine.totalCostUsd, lease.usd]).toEqual([400 + 20, input + cap + 400])
  })

  test('charges nothing for a request that is aborted before it was sent', async () => {
    const going = begin([], {
      prices,
      lease: leaseOf(100_000),
      model: {
        ...scriptedModel([]),
        call: (_request, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () =>
              reject(
                new ModelError({ kind: 'connection', message: 'not sent', neverConnected: true, billed: 'nothing' }),
              ),
            ),
          ),
      },
    })
    await until(() => going.events.some(({ type }) => type === 'figures'))
    going.loop.abort('user')
    const { terminal } = await going.loop.ended
    expect([terminal.reason, terminal.committedUsd]).toEqual(['aborted_streaming', 0])
  })

  test('is awaited until the run is aborted when it does not answer', async () => {
    const lease: BudgetLease = {
      name: 'a budget',
      usd: 0,
      growTo: (_usd, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    }
    const going = begin(['answer'], { prices, lease })
    await until(() => going.events.some(({ type }) => type === 'model_start'))
    going.loop.abort('user')
    const { terminal, model } = await going.end()
    expect([terminal.reason, terminal.costUsd, model.requests]).toEqual(['aborted_streaming', 0, []])
  })

  test('requires a price for every model', () => {
    const model = models(['answer'])
    expect(() => streamRun(startRun({ prompt: 'go' }), { model, lease: leaseOf(1) })).toThrow(ConfigurationError)
    const bad = { model, prices, lease: { name: 'x' } as unknown as BudgetLease }
    expect(() => streamRun(startRun({ prompt: 'go' }), bad)).toThrow(/lease/)
  })

  test('is never exceeded after a kill at every record', async () => {
    const usage = { input_tokens: 100, output_tokens: 400 }
    const options = (lease: BudgetLease): RunOptions => ({
      model: scriptedModel(
        ({ messages }) => ({ ...(messages.length < 6 ? calls('Look') : { text: 'answer' }), usage }),
        {
          maxOutputTokens: cap,
        },
      ),
      tools: [reader('Look')],
      prices,
      lease,
    })
    for (const [total, reason] of [
      [2_300, 'max_budget_usd'],
      [100_000, 'completed'],
    ] as const)
      for (let count = 1; ; count++) {
        const before = leaseOf(total)
        const records = await killedAfter(count, options(before))
        if (records.some(({ type }) => type === 'end')) break
        // The lease outlives the process.
        const lease = leaseOf(total, before.usd)
        const { terminal } = await resume(records, options(lease)).loop.ended
        expect(terminal.committedUsd).toBeLessThanOrEqual(lease.usd)
        expect(terminal.reason).toBe(reason)
      }
  })
})
