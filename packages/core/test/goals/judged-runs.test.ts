// Tests runs with a judged goal: spec R-GOAL-50, R-GOAL-51 and R-GOAL-56.
import { expect, test } from 'vitest'
import { certificate, judgedGoal, replay, resume } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { json, run, tool, type RunTestOptions } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const output = 'Test Files  2 passed (2) in 3.4 s'
const shell = tool('Bash', output, { onUnknownOutcome: 'rerun' })
const tests = { toolCalls: [{ name: 'Bash', input: { command: 'npm test' } }] }

/** A run whose judge first accepts a bare claim, and after a correction quotes a result. */
function world(changes: Pick<RunTestOptions, 'maxTotalTokens'> = {}) {
  const judge = scriptedModel(
    (_request, index) =>
      index % 2 === 0
        ? '{"met": true, "evidence": ["All tests pass now, I am sure"], "missing": ""}'
        : JSON.stringify({ met: true, evidence: [output], missing: '' }),
    { id: 'judge', maxOutputTokens: 1_000 },
  )
  const model = scriptedModel(['All tests pass now, I am sure.', tests, 'Done.'])
  const options = {
    model,
    models: [judge],
    tools: [shell],
    until: [judgedGoal('all tests pass', judge)],
    clock: createFakeClock(),
    ...changes,
  }
  return { options, judge, model }
}

test('sends an answer without work back before the judge sees it, and is done with a result that proves it', async () => {
  const { options, judge, model } = world()
  const { terminal, transitions, state } = await run([], options)
  expect([terminal.reason, transitions]).toEqual(['completed', ['goal_unmet', 'next_turn']])
  expect(terminal.goal).toMatchObject({ met: true, judged: true, tries: 1, baseline: false })
  expect(terminal.goal?.checks).toEqual([
    expect.objectContaining({
      judged: true,
      met: true,
      tail: expect.stringContaining('- "Test Files 2 passed (2) in 3.4 s"'),
    }),
  ])
  expect([model.requests.length, judge.requests.length]).toEqual([3, 2])
  expect(state.spent.modelUsage['judge']).toBeDefined()
  const sentBack = JSON.stringify([...state.transcript])
  expect(sentBack).toContain('there is no tool result since the prompt')
})

test('has the same result when killed after every record, and repeats no answered question', async () => {
  const { terminal, steps } = await run([], world().options)
  expect(json((await replay(steps.records, world().options)).terminal)).toEqual(json(terminal))
  for (let count = 1; count < steps.records.length; count++) {
    const before = world()
    const records = await killedAfter(count, before.options)
    const after = world()
    // Replies are numbered, so both models continue where they were.
    const answeredKeys = records.filter(
      (record) => record.type === 'result' && /asked\/\w+\.\d/.test(record.key),
    ).length
    const judge = scriptedModel(
      (_request, index) =>
        (index + answeredKeys) % 2 === 0
          ? '{"met": true, "evidence": ["All tests pass now, I am sure"], "missing": ""}'
          : JSON.stringify({ met: true, evidence: [output], missing: '' }),
      { id: 'judge', maxOutputTokens: 1_000 },
    )
    const answers = records.filter(
      (record) => record.type === 'result' && /(^|\/)model:\d+\.\d+$/.test(record.key),
    ).length
    const script = ['All tests pass now, I am sure.', tests, 'Done.'].slice(answers)
    const { terminal: end } = await resume(records, {
      ...after.options,
      model: scriptedModel(script),
      models: [judge],
      until: [judgedGoal('all tests pass', judge)],
    }).loop.ended
    expect([count, end.reason, end.goal?.met, end.goal?.tries]).toEqual([count, 'completed', true, 1])
    expect([count, answeredKeys + judge.requests.length]).toEqual([count, 2])
  }
})

test('does not meet the goal when the judge cannot be paid, and exceeds no limit', async () => {
  const { options, judge } = world({ maxTotalTokens: 3_000 })
  const { terminal } = await run([], options)
  expect(terminal.totalTokens).toBeLessThanOrEqual(3_000)
  expect([terminal.goal?.met === true, judge.requests.length]).toEqual([false, 0])
})

test("names the judge's requests in the certificate", () => {
  const { options } = world()
  expect(certificate(options).notes).toEqual([expect.stringContaining('at most 2 requests for each pass')])
  expect(certificate({ ...options, until: [{ name: 'npm test', check: () => ({ met: true }) }] }).notes).toEqual([])
})
