// Tests R-BUD-4, R-BUD-6, for subagents.
import { describe, expect, test } from 'vitest'
import type { AgentTool, RunOptions, ModelRequest } from '../../src/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import {
  calls,
  dollarATokenPrices as prices,
  reader,
  resultTexts,
  run,
  type RunTestOptions,
  subagent as agent,
} from '../support/harness.ts'

/** The main loop starts agents that write as much as they may and never finish. */
const greedyModel =
  (agents: number) =>
  ({ messages, maxOutputTokens, toolChoice }: ModelRequest): ScriptedReply => {
    if (messages[0]?.content !== 'go')
      return { ...calls('Look'), usage: { input_tokens: 100 * messages.length, output_tokens: maxOutputTokens } }
    if (toolChoice === 'none') return 'what is done'
    return calls(...Array.from({ length: agents }, () => 'Agent'))
  }

async function endingOf(
  agents: number,
  overrides: RunTestOptions & Pick<RunOptions, 'maxBudgetUsd' | 'maxTotalTokens'>,
) {
  const model = scriptedModel(greedyModel(agents), { maxOutputTokens: 100_000 })
  const options = { model, prices, tools: [agent, reader('Look')], wrapUp: true, ...overrides }
  const { terminal, transitions } = await run([], options)
  const last = model.requests.at(-1)
  const limit = overrides.maxBudgetUsd ?? overrides.maxTotalTokens ?? 0
  expect(terminal.committedUsd).toBeLessThanOrEqual(limit)
  return [terminal.reason, transitions.at(-1), last?.toolChoice, (last?.maxOutputTokens ?? 0) >= 1_024]
}

describe('a subagent leaves the cost of the last answer of its parent', () => {
  test.each([12_000, 20_000, 60_000, 300_000])('of a budget of $%i', async (maxBudgetUsd) => {
    expect(await endingOf(1, { maxBudgetUsd })).toEqual(['max_budget_usd', 'wrap_up', 'none', true])
  })

  test('of a limit on tokens', async () => {
    expect(await endingOf(1, { maxTotalTokens: 30_000 })).toEqual(['token_limit', 'wrap_up', 'none', true])
  })

  test('also with agents in parallel', async () => {
    expect(await endingOf(3, { maxBudgetUsd: 60_000 })).toEqual(['max_budget_usd', 'wrap_up', 'none', true])
  })

  test('on the ledger of its parent, and not from a limit of its own (spec R-BACK-12a)', async () => {
    const limited: AgentTool = { ...agent, spawn: () => ({ prompt: 'sub', maxTotalTokens: 12_000 }) }
    const reply = ({ messages }: ModelRequest) =>
      messages[0]?.content === 'sub' ? 'found' : messages.length === 1 ? calls('Agent') : 'done'
    const model = scriptedModel(reply, { maxOutputTokens: 10_000 })
    // The input of the last answer alone is more than the agent may use.
    const runOptions = { model, tools: [limited], wrapUp: true, maxTotalTokens: 900_000, system: 'x'.repeat(9_000) }
    expect(resultTexts(await run([], runOptions))).toEqual(['found'])
  })

  test('reserves nothing when no last answer is wanted', async () => {
    const model = scriptedModel(greedyModel(1), { maxOutputTokens: 100_000 })
    const runOptions = { model, prices, tools: [agent, reader('Look')], maxBudgetUsd: 20_000 }
    const { terminal } = await run([], runOptions)
    // The agent uses everything that fits: less than a useful answer is left.
    expect([terminal.reason, terminal.committedUsd > 20_000 - 4_000]).toEqual(['max_budget_usd', true])
  })
})

test('a run that continues after its last answer reserves nothing for another one', async () => {
  const cap = { maxOutputTokens: 100_000 }
  const first = await run([], {
    model: scriptedModel(({ toolChoice }) => (toolChoice === 'none' ? 'the last answer' : calls('Look')), cap),
    tools: [reader('Look')],
    maxTurns: 1,
    wrapUp: true,
  })
  expect(first.transitions).toEqual(['wrap_up'])
  const asked = async (wrapUp: boolean) => {
    const { transcript, spent } = first.state
    const start = { prompt: 'go on', runId: 'run2', transcript, carry: spent }
    const runOptions = { model: scriptedModel(['answer'], cap), prices, maxBudgetUsd: 20_000, maxTurns: 9, wrapUp }
    return (await run([], runOptions, start)).model.requests[0]?.maxOutputTokens
  }
  expect(await asked(true)).toBe(await asked(false))
})
