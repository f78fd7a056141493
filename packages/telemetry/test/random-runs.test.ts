// For random runs: the totals of spans and metrics match the record.
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  integer,
  oneof,
  option,
  record,
  type Arbitrary,
} from 'fast-check'
import {
  CallableHook,
  type AgentTool,
  type AnyTool,
  type RunOptions,
  type ModelRequest,
  type Tool,
} from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { accountOf } from '@halting/analysis'
import { expect, test } from 'vitest'
import { collector, listenerOf, prices, runToEnd } from './support.ts'

const tool = (name: string, readOnly: boolean, execute: Tool['execute']): Tool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly,
  execute,
})
const agent = (name: string, isInBackground: boolean): AgentTool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'sub', agentType: 'scout', ...(isInBackground && { background: true }) }),
})
const tools = [
  tool('Look', true, () => 'seen'),
  tool('Write', false, () => 'written'),
  tool('Breaks', true, () => {
    throw new Error('broken')
  }),
  agent('Agent', false),
  agent('Beside', true),
  // Created only for this list.
] as readonly AnyTool[]

const names = ['Look', 'Write', 'Breaks', 'Agent', 'Beside', 'Denied', 'Nothing'] as const
const usage = record({
  input_tokens: integer({ min: 1, max: 500 }),
  output_tokens: integer({ min: 0, max: 50 }),
})
const reply: Arbitrary<ScriptedReply> = oneof(
  {
    weight: 6,
    arbitrary: record({
      toolCalls: array(record({ name: constantFrom(...names), input: constant({}) }), {
        minLength: 1,
        maxLength: 4,
      }),
      usage,
    }),
  },
  { weight: 2, arbitrary: record({ text: constant('done'), usage }) },
  {
    weight: 1,
    arbitrary: record({ text: constant('cut'), stopReason: constant('max_tokens' as const), usage }),
  },
  { weight: 1, arbitrary: constant({ error: { kind: 'overloaded', message: 'busy', status: 529 } } as const) },
  { weight: 1, arbitrary: constant({ error: { kind: 'connection', message: 'gone' } } as const) },
)
const world = record({
  replies: array(reply, { minLength: 1, maxLength: 12 }),
  maxTurns: integer({ min: 1, max: 6 }),
  maxBudgetUsd: option(integer({ min: 500, max: 5_000 })),
  asks: boolean(),
  sendsBack: boolean(),
})

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

test('matches the record in attempts, calls, tokens, dollars, iterations and endings, and every span has an exported parent', async () => {
  const seen = new Set<string>()
  await assert(
    asyncProperty(world, async ({ replies, maxTurns, maxBudgetUsd, asks, sendsBack }) => {
      let next = 0
      const script = (_request: ModelRequest): ScriptedReply =>
        replies[next++] ?? { text: 'end', usage: { input_tokens: 3 } }
      const judge = scriptedModel(() => ({ text: 'fine', usage: { input_tokens: 11, output_tokens: 2 } }), {
        id: 'judge',
        maxOutputTokens: 50,
      })
      const asking = new CallableHook(
        async (context) => {
          await context.ask({ model: judge, system: '', messages: [{ role: 'user', content: 'well?' }] })
        },
        { triggers: ['afterToolUse'], id: 'asking' },
      )
      let isSentBack = false
      const options: Omit<RunOptions, 'steps' | 'clock'> = {
        model: scriptedModel(script, { maxOutputTokens: 50 }),
        models: [judge],
        tools,
        prices,
        maxTurns,
        minUsefulTokens: 1,
        maxRetries: 1,
        permissions: {
          denies: () => undefined,
          decide: ({ call }) => (call.name === 'Denied' ? { behavior: 'deny', message: 'no' } : { behavior: 'allow' }),
        },
        ...(maxBudgetUsd !== null && { maxBudgetUsd }),
        ...(asks && { hooks: [asking] }),
        ...(sendsBack && {
          stopHooks: [
            {
              id: 'insists',
              handle() {
                if (isSentBack) return {}
                isSentBack = true
                return { block: 'go on' }
              },
            },
          ],
        }),
      }
      const to = collector()
      const { onEvent } = await listenerOf(to)
      const { terminal, steps } = await runToEnd(options, onEvent)
      const account = accountOf(steps.records)
      seen.add(terminal.reason)
      const spans = to.spans()
      const ids = new Set(spans.map((span) => span.spanContext().spanId))
      const outer = spans.flatMap(({ parentSpanContext }) => parentSpanContext?.spanId ?? [])
      expect(outer.filter((id) => !ids.has(id))).toEqual([])
      expect(outer).toHaveLength(spans.length - 1)
      expect(spans.filter(({ ended }) => !ended)).toEqual([])
      const of = (operation: string) =>
        spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation)
      const sent = of('chat').filter(({ attributes }) => attributes['halting.outcome'] !== 'over_budget')
      expect(sent).toHaveLength(account.totals.requests)
      expect(sum(sent.map(({ attributes }) => Number(attributes['halting.cost.usd'])))).toBe(terminal.committedUsd)
      const costs = await to.points('halting.cost')
      const settled = costs.filter(
        ({ attributes }) => 'halting.cost.kind' in attributes && attributes['halting.cost.kind'] === 'settled',
      )
      expect(sum(costs.map(({ value }) => value))).toBe(terminal.committedUsd)
      expect(sum(settled.map(({ value }) => value))).toBe(terminal.costUsd)
      expect(sum((await to.points('gen_ai.client.token.usage')).map(({ value }) => value))).toBe(terminal.costUsd)
      const calls = account.tools.flatMap(({ tool: name, calls: count }) =>
        name === null ? [] : [[name, count] as const],
      )
      // Calls that a background agent requests as its run ends are recorded but never start.
      const mayBeCutOff = calls.some(([name]) => name === 'Beside')
      const wrong = calls.filter(([name, count]) => {
        const given = of('execute_tool').filter(({ attributes }) => attributes['gen_ai.tool.name'] === name).length
        return mayBeCutOff ? given > count : given !== count
      })
      expect(wrong).toEqual([])
      const lapPoints = (await to.points('halting.laps')).filter(
        ({ attributes }) => 'gen_ai.agent.name' in attributes && attributes['gen_ai.agent.name'] === 'halting',
      )
      expect(sum(lapPoints.map(({ value }) => value))).toBe(sum(account.laps.map((each) => each.laps)))
      expect(sum((await to.points('halting.endings')).map(({ value }) => value))).toBe(of('invoke_agent').length)
    }),
    { numRuns: 150 },
  )
  // The runs end in several ways.
  expect([...seen].toSorted()).toEqual(expect.arrayContaining(['completed', 'max_budget_usd', 'max_turns']))
})
