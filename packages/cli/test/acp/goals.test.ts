// Holds rules of docs/spec: R-GOAL-73, R-GOAL-77, R-GOAL-78, R-GOAL-79: goals in editors.
import type { Goal, GoalVerdict, QueryOptions } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { fullCapabilities, startAgent, type TestAgent } from '../support/acp-agent.ts'

const unmetVerdict = (report: string): GoalVerdict => ({ met: false, exitCode: 1, report })

/** A goal whose checks return these results; the last one repeats. */
function goal(name: string, ...verdicts: readonly GoalVerdict[]): Goal {
  let checks = 0
  return { name, check: () => verdicts[Math.min(checks++, verdicts.length - 1)] ?? { met: true, exitCode: 0 } }
}

const touch = { toolCalls: [{ name: 'Bash', input: { command: 'touch made' } }] } as const

function start(replies: Parameters<typeof scriptedModel>[0], options: Partial<QueryOptions>): Promise<TestAgent> {
  return startAgent({
    model: scriptedModel(replies),
    allow: ['Bash(touch *)'],
    options: { unmetWithoutWork: 'end', ...options },
  })
}

type Update = ReturnType<TestAgent['updates']>[number]

/** How each check begins and ends in what the client is shown. */
function rounds({ updates }: Pick<TestAgent, 'updates'>): readonly unknown[] {
  return updates()
    .filter(({ toolCallId }: Update) => String(toolCallId).startsWith('halting-goal-'))
    .map(({ toolCallId, status, title }: Update) => [toolCallId, status, title])
}

function plans({ updates }: Pick<TestAgent, 'updates'>): readonly unknown[] {
  return updates('plan').map(({ entries }) =>
    (entries as readonly Update[]).map(({ content, status }) => `${String(content)} ${String(status)}`),
  )
}

test('shows each round as a call, and the goal as a plan entry', async () => {
  const until = goal('npm test', unmetVerdict('3 failed'), unmetVerdict('1 failed'), { met: true, exitCode: 0 })
  const agent = await start([touch, 'Done.', touch, 'Now.'], { until: [until] })
  const { sessionId } = await agent.newSession()
  expect(await agent.prompt(sessionId, 'go')).toMatchObject({ stopReason: 'end_turn' })
  expect(rounds(agent)).toEqual([
    ['halting-goal-1', 'in_progress', 'Check the goal: npm test'],
    ['halting-goal-1', 'completed', 'goal: npm test ✗ (before the run: 3 failed)'],
    ['halting-goal-2', 'in_progress', 'Check the goal: npm test'],
    ['halting-goal-2', 'failed', 'goal: npm test ✗ (try 1 of 10: 1 failed)'],
    ['halting-goal-3', 'in_progress', 'Check the goal: npm test'],
    ['halting-goal-3', 'completed', 'goal: npm test ✓'],
  ])
  const shown = plans(agent)
  expect(shown[0]).toEqual([expect.stringMatching(/^Goal: npm test (pending|in_progress)$/)])
  expect(shown).toContainEqual(['Goal: npm test (1 failed) pending'])
  expect(shown.at(-1)).toEqual(['Goal: npm test completed'])
})

test('shows the todo list and the goals as one plan', async () => {
  const todos = [{ content: 'Look', activeForm: 'Looking', status: 'in_progress' }]
  const write = { toolCalls: [{ name: 'TodoWrite', input: { todos } }] }
  const agent = await start([write, touch, 'Done.'], { until: [goal('npm test', unmetVerdict('x'), { met: true })] })
  const { sessionId } = await agent.newSession()
  await agent.prompt(sessionId, 'go')
  expect(plans(agent).at(-1)).toEqual(['Look in_progress', 'Goal: npm test completed'])
})

test('a question of the model goes to the person, who sends it back with /continue', async () => {
  const until = goal('npm test', unmetVerdict('3 failed'), { met: true, exitCode: 0 })
  const agent = await start(['Which one?', touch, 'Done.'], { until: [until] })
  const { sessionId } = await agent.newSession()
  const asked = await agent.prompt(sessionId, 'go')
  expect(asked).toMatchObject({ stopReason: 'end_turn', _meta: { 'halting/stop': { reason: 'goal_unmet' } } })
  const noticeText = JSON.stringify(agent.updates('notice'))
  expect(noticeText).toContain('/continue sends the answer back')
  const gone = await agent.prompt(sessionId, '/continue')
  expect(gone).toMatchObject({ stopReason: 'end_turn', _meta: { 'halting/stop': { reason: 'completed' } } })
})

test('/until and /goal set and show goals without a run', async () => {
  const goalNamed: QueryOptions['goalNamed'] = ({ name, judged }) => ({
    ...goal(name, unmetVerdict('2 failed')),
    ...(judged === true && { judged }),
  })
  const agent = await start(['Which one?'], { goalNamed })
  const { sessionId } = await agent.newSession()
  expect(await agent.prompt(sessionId, '/until npm test')).toEqual({ stopReason: 'end_turn' })
  expect(agent.text()).toContain('An answer is accepted when this command exits with 0: npm test.')
  await agent.prompt(sessionId, '/until + npm run lint')
  await agent.prompt(sessionId, '/goal it is fast')
  await agent.prompt(sessionId, '/until')
  expect(agent.text()).toContain('npm test\nnpm run lint\njudged: it is fast\nnot checked yet.')
  await expect.poll(() => plans(agent).at(-1)).toHaveLength(3)
  await agent.prompt(sessionId, 'go')
  expect(rounds(agent)).toHaveLength(2)
  await agent.prompt(sessionId, '/until off')
  await agent.prompt(sessionId, '/goal off')
  await expect.poll(() => plans(agent).at(-1)).toEqual([])
})

test('/until off is answered immediately during a run, which ends with its answer', async () => {
  const slow = { toolCalls: [{ name: 'Bash', input: { command: 'touch made && sleep 1' } }] }
  const agent = await startAgent({
    model: scriptedModel([slow, 'Done.']),
    allow: ['Bash(touch *)', 'Bash(sleep *)'],
    options: { until: [goal('npm test', unmetVerdict('x'))], unmetWithoutWork: 'end' },
  })
  const { sessionId } = await agent.newSession()
  const running = agent.prompt(sessionId, 'go')
  await expect.poll(() => agent.updates('tool_call').length).toBe(2)
  expect(await agent.prompt(sessionId, '/until off')).toEqual({ stopReason: 'end_turn' })
  expect(await running).toMatchObject({ stopReason: 'end_turn', _meta: { 'halting/stop': { reason: 'completed' } } })
  expect(plans(agent).at(-1)).toEqual([])
})

test('runs no check in plan mode, and the plan entry says so', async () => {
  const agent = await start(['The plan.'], { until: [goal('npm test', unmetVerdict('x'))] })
  const { sessionId } = await agent.newSession()
  await agent.agent.request('session/set_mode', { sessionId, modeId: 'plan' })
  await agent.prompt(sessionId, 'go')
  expect(rounds(agent)).toEqual([])
  expect(plans(agent)).toEqual([['Goal: npm test (not checked in plan mode) pending']])
})

test('offers the limit of tries as an option of a session with a goal', async () => {
  const agent = await start([], { until: [goal('npm test')], maxGoalTries: 7 })
  const { sessionId, configOptions } = await agent.newSession()
  const readTries = (options: unknown): unknown =>
    (options as readonly Update[]).find(({ id }) => id === '_halting.goal_tries')?.['currentValue']
  expect(readTries(configOptions)).toBe('7')
  const set = (value: string) =>
    agent.agent.request('session/set_config_option', { sessionId, configId: '_halting.goal_tries', value })
  expect(readTries((await set('20')).configOptions)).toBe('20')
  await expect(set('none')).rejects.toThrow(/1 to 1/)
  const without = await start([], {})
  expect(readTries((await without.newSession()).configOptions)).toBeUndefined()
})

test('ends the call of a check that a cancel interrupts', async () => {
  const hangs: Goal = {
    name: 'sleep 100',
    check: ({ signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  }
  const agent = await start(['Done.'], { until: [hangs] })
  const { sessionId } = await agent.newSession()
  const ended = agent.prompt(sessionId, 'go')
  await expect.poll(() => rounds(agent)).toHaveLength(1)
  await agent.agent.notify('session/cancel', { sessionId })
  expect(await ended).toMatchObject({ stopReason: 'cancelled' })
  expect(rounds(agent)).toEqual([
    ['halting-goal-1', 'in_progress', 'Check the goal: sleep 100'],
    ['halting-goal-1', expect.stringMatching(/completed|failed/), 'goal: sleep 100: check not finished'],
  ])
})

test('sends messages to a client without notices', async () => {
  const agent = await startAgent({
    model: scriptedModel(['Which one?']),
    capabilities: { ...fullCapabilities, session: {} },
    options: { until: [goal('npm test', unmetVerdict('x'))], unmetWithoutWork: 'end' },
  })
  const { sessionId } = await agent.newSession()
  await agent.prompt(sessionId, 'go')
  expect(agent.text()).toContain('goal_unmet')
})
