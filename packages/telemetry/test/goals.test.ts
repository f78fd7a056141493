// Tests R-GOAL-88 of docs/spec: a round of checks is a span with an event for each check. The output of a check is
// exported only on request.
import type { Goal, GoalVerdict, RunOptions } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { calls, done, tools } from './runs.ts'
import { collector, linesOf, listenerOf, prices, runToEnd, treeOf, type Collector } from './support.ts'

const failed: GoalVerdict = { met: false, exitCode: 1, report: 'canary of a report' }

function goalOf(name: string, ...verdicts: readonly GoalVerdict[]): Goal {
  let checks = 0
  return { name, check: () => verdicts[Math.min(checks++, verdicts.length - 1)] ?? failed }
}

const options = (until: readonly Goal[], more: Partial<RunOptions> = {}) =>
  ({ model: scriptedModel([calls('Look'), done, done, done]), tools, prices, until, ...more }) as const

const pointsOf = async (to: Collector, name: string): Promise<readonly unknown[]> =>
  (await to.points(name)).map(({ attributes, value }) => [attributes, value])

test('creates a span for a round inside its turn, with an event for each check', async () => {
  const to = collector()
  const passed = { met: true, exitCode: 0 }
  const until = [goalOf('npm run lint', passed), goalOf('npm test', failed, passed)]
  const { terminal } = await runToEnd(options(until), (await listenerOf(to)).onEvent)
  expect(terminal.reason).toBe('completed')
  expect(linesOf(treeOf(to.spans()))).toEqual([
    'invoke_agent halting',
    '  halting.turn',
    '    halting.goal',
    '    chat scripted',
    '    execute_tool Look',
    '  halting.turn',
    '    chat scripted',
    '    halting.goal',
  ])
  const [baseline, answer] = to.spans().filter(({ name }) => name === 'halting.goal')
  expect(baseline?.attributes).toEqual({
    'halting.goal.place': 'baseline',
    'halting.goal.tries': 0,
    'halting.goal.max_tries': 10,
    'halting.goal.verdict': 'unmet',
    'halting.goal.changed_definitions': 0,
    'halting.goal.changed_tests': 0,
    'halting.goal.flaky': false,
    'halting.duration_ms': 0,
  })
  expect(baseline?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
    [
      'halting.goal.check',
      {
        'halting.goal.name': 'npm run lint',
        'halting.goal.verdict': 'met',
        'halting.goal.exit_code': 0,
        'halting.duration_ms': 0,
      },
    ],
    [
      'halting.goal.check',
      {
        'halting.goal.name': 'npm test',
        'halting.goal.verdict': 'unmet',
        'halting.goal.exit_code': 1,
        'halting.duration_ms': 0,
      },
    ],
  ])
  expect(answer?.attributes).toMatchObject({ 'halting.goal.place': 'answer', 'halting.goal.verdict': 'met' })
  const root = to.spans().find(({ name }) => name === 'invoke_agent halting')
  expect(root?.attributes).toMatchObject({ 'halting.goal.verdict': 'met', 'halting.goal.tries': 0 })
})

test('counts rounds and tries by verdict, and the use of their limit', async () => {
  const to = collector()
  const until = [goalOf('npm test', failed, { ...failed, report: 'a' }, { ...failed, report: 'b' })]
  const { terminal } = await runToEnd(options(until, { maxGoalTries: 1 }), (await listenerOf(to)).onEvent)
  expect(terminal.reason).toBe('goal_unmet')
  expect(await pointsOf(to, 'halting.goal.rounds')).toEqual([
    [{ 'halting.goal.place': 'baseline', 'halting.goal.verdict': 'unmet' }, 1],
    [{ 'halting.goal.place': 'answer', 'halting.goal.verdict': 'unmet' }, 2],
  ])
  expect(await pointsOf(to, 'halting.run.goal_tries')).toEqual([
    [{ 'halting.goal.verdict': 'unmet', 'gen_ai.agent.name': 'halting' }, 1],
  ])
  const used = await to.points('halting.limit.used')
  expect(used.map(({ attributes, value }) => [Object.values(attributes)[0], value])).toContainEqual(['maxGoalTries', 1])
})

const everything = (to: Collector): string =>
  JSON.stringify(to.spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]))

test('exports output of checks and criteria of judges only on request, and no secret of a command', async () => {
  const secret = `sk-ant-api03-${'a'.repeat(90)}`
  const given = () =>
    options(
      [goalOf(`KEY=${secret} npm test`, { met: true }), { ...goalOf('canary of a wish', failed), judged: true }],
      {
        maxGoalTries: 1,
      },
    )
  const silent = collector()
  const { terminal } = await runToEnd(given(), (await listenerOf(silent)).onEvent)
  expect(terminal.reason).toBe('goal_unmet')
  expect(everything(silent)).not.toContain('canary')
  expect(everything(silent)).toContain('npm test')
  expect(everything(silent)).not.toContain(secret)
  const open = collector()
  await runToEnd(given(), (await listenerOf(open, { content: true })).onEvent)
  expect(everything(open)).toContain('canary of a report')
  expect(everything(open)).toContain('canary of a wish')
  expect(everything(open)).not.toContain(secret)
})

test('ends an unfinished round with its run', async () => {
  const to = collector()
  const { onEvent, close } = await listenerOf(to)
  onEvent({ type: 'run_start', run: { sessionId: 's', runId: 'run1', agentPath: '', depth: 0 }, model: 'm' })
  onEvent({ type: 'goal_start', place: 'baseline', goals: ['npm test'], tries: 0, maxTries: 10 })
  close()
  const [round] = to.spans().filter(({ name }) => name === 'halting.goal')
  expect(round?.attributes).toMatchObject({ 'halting.unfinished': true })
})
