// Tests R-LIM-75 of docs/spec: which limit or budget ended a run or its tool calls, and waits for reservations of
// others.
import type { RunOptions } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { calls, dayBudget, done, tools } from './runs.ts'
import { collector, listenerOf, prices, runToEnd, type Collector } from './support.ts'

async function ended(script: Parameters<typeof scriptedModel>[0], more: Partial<RunOptions>) {
  const to = collector()
  const model = scriptedModel(script, { maxOutputTokens: 100 })
  const { terminal } = await runToEnd({ model, tools, prices, ...more }, (await listenerOf(to)).onEvent)
  const run = to.spans().findLast(({ name }) => name === 'invoke_agent halting')
  return { to, terminal, run, about: run?.attributes ?? {} }
}

const pointsOf = async (to: Collector, name: string): Promise<readonly unknown[]> =>
  (await to.points(name)).map(({ attributes, value }) => [attributes, value])

test("includes subagents in a run's calls, and names its limit on them", async () => {
  const script = [calls('Agent', 'Look'), calls('Look', 'Breaks'), done, calls('Look', 'Look', 'Look'), done]
  const { to, terminal, about } = await ended(script, { maxToolCalls: 6 })
  expect(terminal.reason).toBe('max_tool_calls')
  expect(about).toMatchObject({ 'halting.tool_calls': 6, 'halting.limit': 'maxToolCalls' })
  expect(terminal.signal.context['used']).toBe(6)
  expect(await pointsOf(to, 'halting.limit.used')).toContainEqual([
    { 'halting.limit': 'maxToolCalls', 'gen_ai.agent.name': 'halting' },
    1,
  ])
})

test('distinguishes the dollar limit of the run from that of the session', async () => {
  const { to, about } = await ended([calls('Look'), calls('Look'), done], { maxRunUsd: 600 })
  expect(about).toMatchObject({ 'halting.limit': 'maxRunUsd' })
  const limits = (await to.points('halting.limit.used')).map(({ attributes }) => attributes)
  expect(limits).toContainEqual({ 'halting.limit': 'maxRunUsd', 'gen_ai.agent.name': 'halting' })
  expect(limits).not.toContainEqual({ 'halting.limit': 'maxBudgetUsd', 'gen_ai.agent.name': 'halting' })
})

test('names a standing budget that ended a run, with its reset time, and one that a request waited for', async () => {
  const { to, run, about } = await ended([calls('Look'), calls('Look'), done], { standing: dayBudget() })
  expect(about).toMatchObject({
    'halting.terminal.reason': 'max_budget_usd',
    'halting.budget': '$20 a day',
    'halting.budget.resets_at': '2026-11-30T00:00:00+01:00',
  })
  expect(about).not.toHaveProperty('halting.limit')
  // The first request took its time, but waited for no reservation.
  expect(run?.events.filter(({ name }) => name === 'halting.budget.wait').map(({ attributes }) => attributes)).toEqual([
    {
      'halting.budget': '$20 a day',
      'halting.budget.outcome': 'granted',
      'halting.budget.waited_ms': 0,
      'halting.budget.reserved_usd': 7,
    },
  ])
  expect(await pointsOf(to, 'halting.budget.wait.duration')).toEqual([
    [
      {
        'halting.budget': '$20 a day',
        'halting.budget.outcome': 'granted',
        'gen_ai.agent.name': 'halting',
      },
      0,
    ],
  ])
})
