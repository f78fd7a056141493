// Tests R-GOAL-61: goals in the SDK message format.
import { expect, test } from 'vitest'
import type { Goal } from '../../src/index.ts'
import { ask } from '../support/engine.ts'
import { calls, subagent, tool } from '../support/harness.ts'

/** Fails this many times, and passes from then on. */
function failing(times: number, name = 'npm test'): Goal {
  let checks = 0
  return {
    name,
    check: () => (checks++ < times ? { met: false, exitCode: 1, report: '3 failed' } : { met: true, exitCode: 0 }),
  }
}

const failed = { name: 'npm test', met: false, exitCode: 1, durationMs: 0, tail: '3 failed' }
const passed = { ...failed, met: true, exitCode: 0, tail: '' }
const rest = { tampered: [], changed_by_checks: [], changed_tests: [], flaky: false, duration_ms: 0, max_tries: 10 }

test('emits each round of checks as a message, and the result has the state of the goal', async () => {
  const script = [calls('Edit'), 'Done.', calls('Edit'), 'Now it is done.']
  const { messages, result, terminal } = await ask(script, { until: [failing(2)], tools: [tool('Edit')] })
  const checkMessages = messages.filter((message) => message.type === 'system' && message.subtype === 'goal_check')
  expect(checkMessages).toEqual(
    [
      { place: 'baseline', met: false, checks: [failed], tries: 0 },
      { place: 'answer', met: false, checks: [failed], tries: 0 },
      { place: 'answer', met: true, checks: [passed], tries: 1 },
    ].map((round) => ({
      type: 'system',
      subtype: 'goal_check',
      ...rest,
      ...round,
      parent_tool_use_id: null,
      uuid: expect.any(String),
      session_id: 'session',
    })),
  )
  expect(result).toMatchObject({ subtype: 'success', result: 'Now it is done.', terminal_reason: 'completed' })
  expect(result.goal).toEqual(terminal.goal)
  expect(result.goal).toMatchObject({ met: true, tries: 1, baseline: false, checks: [passed] })
})

test('a run that ends unmet is an error, and a run without goals mentions none', async () => {
  const unmet = await ask(['Done.', 'Done.'], { until: [failing(9)], maxGoalTries: 1 })
  expect(unmet.result).toMatchObject({
    subtype: 'error_during_execution',
    is_error: true,
    terminal_reason: 'goal_unmet',
    last_answer: 'Done.',
    goal: { met: false, tries: 1, checks: [failed] },
  })
  const { messages, result } = await ask(['Done.'])
  expect(Object.keys(result)).not.toContain('goal')
  expect(messages.some((message) => message.type === 'system' && message.subtype === 'goal_check')).toBe(false)
})

test('rounds of a subagent carry its call', async () => {
  const spawn = () => ({ prompt: 'sub', until: [failing(0, 'npm run lint')] })
  const { messages, result } = await ask([calls('Agent'), 'Sub done.', 'Done.'], { tools: [{ ...subagent, spawn }] })
  const checkMessages = messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'goal_check'
      ? [[message.parent_tool_use_id, message.checks[0]?.name, message.met]]
      : [],
  )
  expect(checkMessages).toEqual([[expect.stringMatching(/./), 'npm run lint', true]])
  expect(Object.keys(result)).not.toContain('goal')
})
