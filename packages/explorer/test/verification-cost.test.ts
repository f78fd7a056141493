// Holds rules of docs/spec: R-VERI-3, R-VERI-4: the cost of the question to verify a change, on every path of a scenario.
import { expect, test } from 'vitest'
import { streamRun, startRun, createMemorySteps, type TranscriptEntry } from '@halting/core'
import { explorePaths } from '../src/choices.ts'
import { scenarios } from '../src/scenarios.ts'
import { noSnapshots } from '../src/snapshots.ts'
import { createWorld } from '../src/world.ts'

/** Requests and tokens of a run, and the part of them between the question and the next tool call or the end. */
interface Cost {
  readonly requests: number
  readonly tokens: number
  readonly called: boolean
}

test('the verification question adds at most one request if the model calls no tool', async () => {
  const scenario = scenarios.find(({ name }) => name === 'a change that nobody checked, on a small budget')
  expect(scenario).toBeDefined()
  if (scenario === undefined) return
  const costs: Cost[] = []
  let [paths, tokens] = [0, 0]
  await explorePaths(scenario.deviations, async (path) => {
    paths += 1
    const world = createWorld(scenario, path, noSnapshots)
    const steps = createMemorySteps({ clock: world.clock })
    const { state } = await streamRun(
      startRun({ prompt: 'do it' }),
      { ...world.options, steps },
      { inbox: world.inbox },
    ).ended
    tokens += state.spent.totalTokens
    const cost = costOf([...state.transcript])
    if (cost !== undefined) costs.push(cost)
  })
  const uncalled = costs.filter(({ called }) => !called)
  const added = uncalled.reduce((sum, each) => sum + each.tokens, 0)
  const requests = uncalled.reduce((sum, each) => sum + each.requests, 0)
  console.log(
    `the question to verify: asked on ${costs.length} of ${paths} paths; ${uncalled.length} times the model called no tool, which added ${requests} requests and ${added} of ${tokens} tokens`,
  )
  expect(costs.length).toBeGreaterThan(0)
  expect(uncalled.length).toBeGreaterThan(0)
  // No request if the budget has no room for it: then the run is completed anyway.
  expect(uncalled.filter(({ requests }) => requests > 1)).toEqual([])
  expect(requests).toBeGreaterThan(0)
})

/** Undefined if the model was not asked. */
function costOf(entries: readonly TranscriptEntry[]): Cost | undefined {
  const question = entries.findIndex((entry) => entry.kind === 'user' && entry.keepsAnswer === true)
  if (question < 0) return undefined
  const behind = entries.slice(question + 1)
  const replies = behind.flatMap((entry) =>
    entry.kind === 'assistant' && entry.error === undefined ? [entry.message] : [],
  )
  const called = replies.some(({ content }) => content.some(({ type }) => type === 'tool_use'))
  const [first] = replies
  return {
    requests: replies.length,
    tokens: first === undefined ? 0 : first.usage.input_tokens + first.usage.output_tokens,
    called,
  }
}
