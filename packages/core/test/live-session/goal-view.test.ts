// Tests R-GOAL-70, R-GOAL-71.
import { allowAll } from '../../src/tools/permissions.ts'
import { expect, test } from 'vitest'
import type { Goal } from '../../src/goals/goal.ts'
import { GoalView } from '../../src/live-session/goal-view.ts'
import type { SessionSnapshot } from '../../src/live-session/session.ts'
import { tool } from '../../src/tools/define-tool.ts'
import { sessionOf } from './support.ts'

const edit = tool({ name: 'Edit', description: '', execute: () => 'edited' })
const edits = { toolCalls: [{ name: 'Edit', input: {} }] } as const

function goal(name: string, holdsAt: (check: number) => boolean): Goal {
  let checks = 0
  return {
    name,
    check: () => (holdsAt((checks += 1)) ? { met: true } : { met: false, exitCode: 1, report: `${checks} failed` }),
  }
}

const failing = goal('first', (check) => check > 2)

test('the snapshot has the goals, the current check, the last verdict and the tries', async () => {
  const { session } = sessionOf([edits, 'Done.', edits, 'Now.'], { until: [failing], tools: [edit], maxGoalTries: 4 })
  expect(session.snapshot.goal).toEqual({
    goals: [{ name: 'first' }],
    isChecked: true,
    isChecking: false,
    tries: 0,
    maxTries: 4,
    last: null,
  })
  const seen: [string, SessionSnapshot['activity']['type'], string][] = []
  session.listen((event) => {
    if (event.type !== 'loop' || (event.event.type !== 'goal_start' && event.event.type !== 'goal_end')) return
    const { activity, goal: standing } = session.snapshot
    const { isChecking, tries, last } = standing ?? { isChecking: null, tries: null, last: null }
    seen.push([event.event.type, activity.type, `${isChecking} ${tries} ${last?.met ?? null}`])
  })
  session.prompt('go')
  await session.settled()
  expect(seen).toEqual([
    ['goal_start', 'goal_check', 'true 0 null'],
    ['goal_end', 'asking', 'false 0 false'],
    ['goal_start', 'goal_check', 'true 0 false'],
    ['goal_end', 'asking', 'false 0 false'],
    ['goal_start', 'goal_check', 'true 1 false'],
    ['goal_end', 'asking', 'false 1 true'],
  ])
  expect(session.snapshot.goal).toMatchObject({ tries: 1, last: { met: true }, isChecking: false })
  await session.close()
})

test('the snapshot is unchanged by an unfinished round and by a run whose goal state is unknown', () => {
  const view = new GoalView([{ name: 'npm test' }], 10)
  const end = {
    type: 'goal_end',
    place: 'answer',
    checks: [],
    tampered: [],
    changedByChecks: [],
    changedTests: [],
  } as const
  const figures = { tries: 0, maxTries: 10, flaky: false, durationMs: 1 }
  view.onEvent({ ...end, ...figures, met: true })
  expect(view.present(true)?.last?.met).toBe(true)
  view.onEvent({ ...end, ...figures, met: false })
  expect(view.present(true)?.last).toBeNull()
  view.onEvent({ ...end, ...figures, met: false, tampered: ['check.sh'] })
  expect(view.present(true)?.last?.tampered).toEqual(['check.sh'])
  view.end({ goal: { met: 'unknown', tries: 0 } } as unknown as Parameters<GoalView['end']>[0])
  expect(view.present(true)?.last).toBeNull()
})

test('goals that are set replace the earlier ones, and an empty list disables checks', async () => {
  const goalNamed = ({ name }: { readonly name: string }): Goal => goal(name, () => true)
  const { session } = sessionOf(['One.', 'Two.'], { until: [failing], goalNamed })
  session.set({ until: [{ name: 'second', set: 1 }], limits: { maxGoalTries: 3 } })
  expect(session.snapshot.goal).toMatchObject({ goals: [{ name: 'second', set: 1 }], maxTries: 3, last: null })
  session.prompt('go')
  await session.settled()
  expect(session.snapshot.last?.goal?.checks.map(({ name }) => name)).toEqual(['second'])
  session.set({ until: [] })
  expect(session.snapshot.goal).toBeNull()
  session.prompt('go')
  await session.settled()
  expect(session.snapshot.last?.goal).toBeUndefined()
  session.set({ until: null })
  expect(session.snapshot.goal?.goals).toEqual([{ name: 'first' }])
  await session.close()
})

test('shows that nothing is checked in a mode that only plans', async () => {
  const permissions = { ...allowAll, modes: ['default', 'plan'], isPlanning: (mode?: string) => mode === 'plan' }
  const { session } = sessionOf(['The plan.'], { until: [failing], permissions })
  session.set({ permissionMode: 'plan' })
  expect(session.snapshot.goal?.isChecked).toBe(false)
  session.prompt('go')
  await session.settled()
  expect([session.snapshot.last?.reason, session.snapshot.last?.goal?.met]).toEqual(['completed', 'unknown'])
  session.set({ permissionMode: 'default' })
  expect(session.snapshot.goal?.isChecked).toBe(true)
  await session.close()
})

test('shows goals of a run that an earlier process left during that run, and not in the next one', () => {
  const view = new GoalView([], 10)
  const round = { place: 'answer', tries: 2, maxTries: 5 } as const
  expect(view.present(true)).toBeNull()
  view.begin()
  expect(view.onEvent({ type: 'goal_start', goals: ['npm test'], ...round })).toBe(true)
  const files = { tampered: [], changedByChecks: [], changedTests: [] }
  const check = { name: 'npm test', met: true, exitCode: 0, durationMs: 1, tail: '', judged: true } as const
  view.onEvent({ type: 'goal_end', met: true, checks: [check], ...files, flaky: false, durationMs: 1, ...round })
  view.end(undefined)
  expect(view.present(true)).toMatchObject({ goals: [{ name: 'npm test', judged: true }], tries: 2, maxTries: 5 })
  view.begin()
  expect(view.present(true)).toBeNull()
})
