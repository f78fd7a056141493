// The points of the turns add up to what `halting why` says about the run.
import { describe, expect, test } from 'vitest'
import { viewOf } from '../../src/view/view.ts'
import type { RunView } from '../../src/view/types.ts'
import { timesBetween } from '../../src/view/points.ts'
import { isDeep } from '../../../core/test/support/deep.ts'
import { calls, largeSession, says, scriptedSession, scriptedWorld } from '../support/sessions.ts'

const phasesOf = ({ account }: RunView) =>
  Object.fromEntries(account.phases.map(({ phase, ms }) => [phase, Math.round(ms)]))

const timesOf = ({ points }: RunView) => {
  const sums = { model: 0, tools: 0, hooks: 0, compaction: 0, checks: 0, waiting: 0, other: 0 }
  for (const { ms } of points) for (const phase of Object.keys(sums) as (keyof typeof sums)[]) sums[phase] += ms[phase]
  return Object.fromEntries(Object.entries(sums).map(([phase, ms]) => [phase, Math.round(ms)]))
}

const only = (runs: readonly RunView[]): RunView => {
  const [run] = runs
  if (run === undefined) throw new Error('The session has no run.')
  return run
}

describe('points of turns', () => {
  test('count a step over several iterations in each of them, with what lies inside it', () => {
    const step = (phase: 'model' | 'tools', at: number, durationMs: number) =>
      ({ phase, scope: '', name: '', request: 1, at, durationMs, isOpen: false }) as const
    const steps = [step('model', 1_000, 50), step('tools', 1_050, 200), step('model', 1_120, 30)]
    const none = { hooks: 0, compaction: 0, checks: 0, waiting: 0 }
    expect(timesBetween([0, 100, 200], steps, { beganAt: 1_000, activeMs: 300 })).toEqual([
      { ...none, model: 50, tools: 50, other: 0 },
      { ...none, model: 30, tools: 70, other: 0 },
      { ...none, model: 0, tools: 50, other: 50 },
    ])
  })

  test('have sums up to the end of the iteration, with subagents; the last ones equal those of the run', async () => {
    const world = scriptedWorld()
    const script = [
      calls(world, 'Look', 'Find', 'Write'),
      calls(world, 'Agent'),
      calls(world, 'Look'),
      says(world, 'from within'),
      says(world, 'done'),
    ]
    const run = only(viewOf(await scriptedSession(world, [script])).runs)
    expect(run.points.map(({ turn, settledUsd, tokens, atMs }) => [turn, settledUsd, tokens, atMs])).toEqual([
      [1, 1.1, 1_100, 100],
      [2, 4.4, 4_400, 250],
      [3, 5.5, 5_500, 550],
    ])
    expect(run.points.at(-1)).toMatchObject({
      settledUsd: run.account.totals.costUsd,
      tokens: run.account.totals.tokens,
    })
    expect(timesOf(run)).toEqual(phasesOf(run))
  })

  test('add up for a killed run too, wherever it was cut off', async () => {
    for (let killedAfter = 3; killedAfter < 24; killedAfter++) {
      const world = scriptedWorld()
      const script = [calls(world, 'Look', 'Write'), calls(world, 'Agent'), says(world, 'within'), says(world, 'done')]
      const run = only(viewOf(await scriptedSession(world, [script], { killedAfter })).runs)
      const last = run.points.at(-1)
      expect([killedAfter, last?.settledUsd ?? 0]).toEqual([killedAfter, run.account.totals.costUsd])
      expect(last?.tokens ?? 0).toBe(run.account.totals.tokens)
      expect(timesOf(run)).toEqual(last === undefined ? timesOf(run) : phasesOf(run))
    }
  })

  test('have the kinds of context before the reply, which add up to what the service counted', async () => {
    const world = scriptedWorld()
    const script = [calls(world, 'Look'), calls(world, 'Find'), says(world, 'done')]
    const { points } = only(viewOf(await scriptedSession(world, [script], { prompt: 'x'.repeat(400) })).runs)
    const sums = points.map(({ context }) => Object.values(context).reduce((sum, tokens) => sum + tokens, 0))
    expect(sums).toEqual([1_000, 1_000, 1_000])
    expect(points[0]?.context).toMatchObject({ fixed: 900, person: 100, calls: 0, results: 0 })
    expect(points[1]?.context.results).toBeGreaterThan(0)
  })

  test('have the windows of the models that the loop asked, where their names are known', async () => {
    const world = scriptedWorld()
    const session = await scriptedSession(world, [[calls(world, 'Agent'), says(world, 'within'), says(world, 'done')]])
    const windowsOf = (windowOf: (model: string) => number | undefined): unknown =>
      only(viewOf({ ...session, windowOf }).runs).windows
    const { model = '' } = only(viewOf(session).runs).points[0] ?? {}
    expect(windowsOf((name) => (name === model ? 200_000 : undefined))).toEqual([{ model, tokens: 200_000 }])
    expect(windowsOf(() => undefined)).toEqual([])
  })

  test('have a remaining turn count that falls by one', async () => {
    const world = scriptedWorld()
    const script = [calls(world, 'Look'), calls(world, 'Look'), 'never']
    const { points } = only(viewOf(await scriptedSession(world, [script], { maxTurns: 2 })).runs)
    expect(points.map(({ turnsLeft }) => turnsLeft)).toEqual([1, 0])
  })

  // A hundred thousand where the test may take its time.
  const records = isDeep ? 100_000 : 10_000
  test(`exist for ${records} records and end where the run does`, () => {
    const session = largeSession(records)
    expect(session.runs[0]?.length).toBeGreaterThan(0.95 * records)
    const run = only(viewOf(session).runs)
    expect(run.points).toHaveLength(run.account.totals.turns)
    expect(run.points.at(-1)?.tokens).toBe(run.account.totals.tokens)
    expect(timesOf(run)).toEqual(phasesOf(run))
    // Each step is an item, and so is each turn.
    expect(run.items.length).toBeGreaterThan(0.6 * records)
    // In seconds; a busy machine takes longer.
  }, 120_000)
})
