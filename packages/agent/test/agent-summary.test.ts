// Spec R-HOST-16: what a subagent does is summed up while it works: now and then, in the budget, and on record.
import { agentSummaryHook, agentSummaryIn } from '@halting/agent/after'
import { createAgentTool, generalAgent } from '@halting/agent'
import { streamRun, startRun, type RunEvent, type RunOptions, type Tool } from '@halting/core'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'

const agent = () => createAgentTool({ definitions: [generalAgent], mode: () => 'default' })
const call = (name: string, input: object): ScriptedReply => ({ toolCalls: [{ name, input }] })
const start = call('Agent', { prompt: 'Look.', description: 'looks' })

/** An agent that works for a number of turns of this many milliseconds each. */
async function working(turns: number, ms: number, more: Partial<RunOptions> = {}) {
  const clock = createFakeClock({ autoAdvance: true })
  const summed: string[] = []
  const model = scriptedModel(({ messages, system }) => {
    const said = JSON.stringify(messages)
    if (system.includes('in a few words')) {
      summed.push(said)
      return `Looking for the ${summed.length}. time`
    }
    if (!said.startsWith('[{"role":"user","content":"Look.')) return said.includes('tool_result') ? 'Done.' : start
    const done = messages.filter(({ role }) => role === 'assistant').length
    return done < turns ? call('Wait', { turn: done }) : 'Looked.'
  })
  const wait: Tool = {
    name: 'Wait',
    description: 'waits',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => new Promise((resolve) => clock.after(ms, () => resolve('waited'))),
  }
  const events: RunEvent[] = []
  const options = { model, clock, tools: [agent(), wait], hooks: [agentSummaryHook()], ...more }
  const running = streamRun(startRun({ prompt: 'go' }), options)
  for await (const event of running) events.push(event)
  const summaries = events.flatMap((event) => (event.type === 'agent' ? (agentSummaryIn(event.event) ?? []) : []))
  const { terminal } = await running.ended
  return { summaries, summed, terminal }
}

test('summarizes the progress about once in 30 s of work', async () => {
  const { summaries, summed, terminal } = await working(8, 10_000)
  expect([summaries, terminal.reason]).toEqual([['Looking for the 1. time', 'Looking for the 2. time'], 'completed'])
  expect(summed[0]).toContain('Wait')
})

test('summarizes neither a quick agent nor the main conversation', async () => {
  expect((await working(2, 10_000)).summed).toEqual([])
})

test('lets the agent continue without a summary when the budget has no room for it', async () => {
  const prices: NonNullable<RunOptions['prices']> = {
    cost: () => 0,
    worstCase: (_model, { outputTokens }) => (outputTokens === 256 ? 100 : 0),
  }
  const { summaries, summed, terminal } = await working(8, 10_000, { prices, maxBudgetUsd: 1 })
  expect([summaries, summed, terminal.reason]).toEqual([[], [], 'completed'])
})

test('includes the cost of a summary in the figures of the run', async () => {
  const prices: NonNullable<RunOptions['prices']> = { cost: () => 0.01, worstCase: () => 0.01 }
  const without = (await working(8, 10_000, { prices, hooks: [] })).terminal.costUsd
  expect((await working(8, 10_000, { prices })).terminal.costUsd - without).toBeCloseTo(0.02)
})
