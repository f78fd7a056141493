// Tests R-SUB-3e, R-SUB-3f.
import { describe, expect, test } from 'vitest'
import {
  resume,
  type AgentTool,
  type AnyTool,
  type ChildRun,
  type ModelRequest,
  type StepRecord,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, reader, results, resultTexts, run, until } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const agent = (limits: Partial<ChildRun>): AgentTool => ({
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'sub', ...limits }),
})

const isOfAgent = ({ messages }: ModelRequest): boolean => messages[0]?.content === 'sub'

/** The main loop asks for one agent, which writes some text and looks, repeatedly. */
const looking =
  (used: Partial<{ readonly input_tokens: number; readonly output_tokens: number }>) =>
  (request: ModelRequest): ScriptedReply => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length
    if (isOfAgent(request)) return { ...calls('Look'), text: `seen ${turn}`, usage: used }
    return turn === 0 ? calls('Agent') : 'done'
  }

const tokensOfAgents = (records: readonly StepRecord[]): number =>
  records.reduce((sum, record) => {
    if (record.type !== 'result' || !record.key.includes('agent:')) return sum
    return sum + ((record.value as { readonly charge?: { readonly tokens: number } }).charge?.tokens ?? 0)
  }, 0)

const tools = (limits: Partial<ChildRun>) => [agent(limits), reader('Look')]

describe('a limit of one agent', () => {
  test('on dollars stops it and not its parent, and its result names the limit and its findings', async () => {
    const ended = await run(looking({ input_tokens: 3_000, output_tokens: 100 }), {
      tools: tools({ maxBudgetUsd: 20_000 }),
      prices: dollarATokenPrices,
    })
    expect(ended.terminal.reason).toBe('completed')
    expect(results(ended)).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'call_0_0',
        is_error: true,
        content: expect.stringMatching(
          /^The agent was stopped before it was done \(cost_limit: Reached maximum budget \(\$20000\).*Its last output:\n\nseen 0\n\nseen 1/s,
        ),
      },
    ])
    const requests = ended.model.requests.filter(isOfAgent).length
    expect(requests).toBeGreaterThan(1)
    expect(requests * 3_100).toBeLessThanOrEqual(20_000)
  })

  test('on tokens stops it in the same way', async () => {
    const ended = await run(looking({ input_tokens: 3_000, output_tokens: 100 }), {
      tools: tools({ maxTotalTokens: 20_000 }),
    })
    expect(ended.terminal.reason).toBe('completed')
    expect(resultTexts(ended)).toEqual([
      expect.stringMatching(/token_limit: Token limit reached: \d+\/20000 used.*Its last output:/s),
    ])
    const used = ended.model.requests.filter(isOfAgent).length * 3_100
    expect(used).toBeLessThanOrEqual(20_000)
    expect(ended.state.spent.totalTokens).toBe(used + 30)
  })

  test('on time ends what it waits for, and its parent continues', async () => {
    const clock = createFakeClock()
    const going = run(
      (request) => {
        if (isOfAgent(request)) return { hang: true, text: 'looking' }
        return request.messages.length === 1 ? calls('Agent') : 'done'
      },
      { tools: tools({ maxDurationMs: 5_000 }), clock },
    )
    await until(() => clock.pending > 0)
    await clock.advance(5_000)
    const ended = await going
    expect(ended.terminal.reason).toBe('completed')
    expect(resultTexts(ended)).toEqual([expect.stringContaining('time_limit: Time limit reached: 5.0/5.0 s')])
  })

  test('is within those of the run', async () => {
    const ended = await run(looking({ input_tokens: 3_000, output_tokens: 100 }), {
      tools: tools({ maxTotalTokens: 900_000, maxBudgetUsd: 900_000 }),
      prices: dollarATokenPrices,
      maxTotalTokens: 20_000,
    })
    expect(resultTexts(ended)).toEqual([expect.stringMatching(/token_limit: Token limit reached: \d+\/20000/)])
    expect(ended.state.spent.totalTokens).toBeLessThanOrEqual(20_000)
  })

  test('applies after a kill, with what it had spent before', async () => {
    const options = () => ({
      tools: tools({ maxTotalTokens: 20_000 }),
      model: scriptedModel(looking({ input_tokens: 3_000, output_tokens: 100 })),
    })
    const completeRun = await run(looking({ input_tokens: 3_000, output_tokens: 100 }), options())
    const kills = completeRun.steps.records.length
    const ends = new Set<string>()
    for (let count = 1; count < kills; count++) {
      const records = await killedAfter(count, { ...options(), clock: createFakeClock({ autoAdvance: true }) })
      const { loop, steps } = resume(records, { ...options(), clock: createFakeClock({ autoAdvance: true }) })
      const { state, terminal } = await loop.ended
      expect(terminal.reason).toBe('completed')
      ends.add(String(resultTexts({ state: { ...state, startLength: 1 } })[0]).slice(0, 60))
      // Requests in flight at a kill are charged at their reservations, within the limit.
      expect(tokensOfAgents(steps.records)).toBeLessThanOrEqual(20_000)
    }
    expect([...ends]).toEqual(['The agent was stopped before it was done (token_limit: Token'])
  })

  test('applies after a kill also to the questions of its tools', async () => {
    const asking: AnyTool = {
      ...reader('Look', async (_input, { ask, callId }) => {
        const reply = await ask?.({
          system: 'Tell.',
          messages: [{ role: 'user', content: `about ${callId}: ${'x'.repeat(12_000)}` }],
          maxOutputTokens: 100,
        })
        return reply?.kind ?? 'nobody'
      }),
      asksModel: true,
    }
    const script = (request: ModelRequest): ScriptedReply => {
      if (request.system === 'Tell.') return { text: 'reported', usage: { input_tokens: 3_000, output_tokens: 100 } }
      return looking({ input_tokens: 1_000, output_tokens: 50 })(request)
    }
    const options = () => ({
      tools: [agent({ maxTotalTokens: 20_000 }), asking],
      model: scriptedModel(script),
      clock: createFakeClock({ autoAdvance: true }),
    })
    const completeRun = await run(script, options())
    const most = new Map<number, number>([[-1, tokensOfAgents(completeRun.steps.records)]])
    for (let count = 1; count < completeRun.steps.records.length; count++) {
      const { loop, steps } = resume(await killedAfter(count, options()), options())
      expect((await loop.ended).terminal.reason).toBe('completed')
      most.set(count, tokensOfAgents(steps.records))
    }
    expect([...most].filter(([, tokens]) => tokens > 20_000)).toEqual([])
  })

  test.each([
    ['maxBudgetUsd', 0],
    ['maxTotalTokens', -1],
    ['maxDurationMs', Number.NaN],
  ])('%s with an invalid value starts nothing', async (name, value) => {
    const ended = await run(looking({}), { tools: tools({ [name]: value }) })
    expect(resultTexts(ended)).toEqual([expect.stringContaining(`${name} of a subagent must be above 0`)])
    expect(ended.model.requests.filter(isOfAgent)).toEqual([])
  })
})
