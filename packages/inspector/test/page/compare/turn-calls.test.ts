// The calls of a turn, as runs are compared by them.
import type { RunOptions } from '@halting/core'
import { expect, test } from 'vitest'
import { viewOf } from '@halting/analysis/view'
import { alignTurns } from '../../../src/page/compare/align.ts'
import { divergenceText } from '../../../src/page/compare/differences.ts'
import { turnsOf } from '../../../src/page/compare/turns.ts'
import { calls, says, scriptedSession, scriptedWorld } from '../../../../analysis/test/support/sessions.ts'

test('a turn has each of its calls once with its outcome, also subagent calls and failed calls', async () => {
  const world = scriptedWorld()
  const script = [
    calls(world, 'Look', 'Fail', 'Write'),
    calls(world, 'Agent'),
    calls(world, 'Look'),
    says(world, 'within'),
    says(world, 'done'),
  ]
  const [run] = viewOf(await scriptedSession(world, [script])).runs
  expect(run?.points.map((point) => point.calls.map(({ label, status }) => `${label}: ${status}`))).toEqual([
    ['Look look-0.ts: done', 'Fail fail-1.ts: failed', 'Write write-2.ts: done'],
    ['Agent agent-0.ts: done'],
    [],
  ])
})

test('a denied call is part of its turn, and a call that a kill interrupted is open', async () => {
  const world = scriptedWorld()
  const permissions: RunOptions['permissions'] = { denies: () => 'no', decide: () => ({ behavior: 'allow' }) }
  const script = [calls(world, 'Write'), says(world, 'done')]
  const [denied] = viewOf(await scriptedSession(world, [script], { permissions })).runs
  expect(denied?.points[0]?.calls.map(({ tool, status }) => [tool, status])).toEqual([['Write', 'denied']])
  const [cut] = viewOf(await scriptedSession(scriptedWorld(), [script], { killedAfter: 3 })).runs
  expect(cut?.points[0]?.calls.map(({ status }) => status)).toEqual(['open'])
})

test('calls with the same input have the same digest, and others do not', async () => {
  const world = scriptedWorld()
  const write = (content: string) => ({ toolCalls: [{ name: 'Write', input: { path: 'a.ts', content } }] })
  const sessions = [write('one'), write('one'), write('two')].map((reply) =>
    scriptedSession(world, [[reply, says(world, 'done')]]),
  )
  const views = (await Promise.all(sessions)).map((session) => turnsOf(viewOf(session), undefined))
  const [one = [], same = [], other = []] = views
  const divergence = (second: typeof one): string => divergenceText(alignTurns(one, second).pairs, one, second)
  expect(divergence(same)).toBe('All turns made the same calls, with the same inputs and the same outcomes: 2 turns.')
  expect(divergence(other)).toContain(
    'turn 1 of the first and turn 1 of the second made the same calls with different inputs',
  )
})

test('the turns of a recorded session add up to its totals', async () => {
  const world = scriptedWorld()
  const script = [calls(world, 'Look'), calls(world, 'Agent'), calls(world, 'Look'), says(world, 'x'), says(world, 'y')]
  const session = viewOf(await scriptedSession(world, [script, [calls(world, 'Find'), says(world, 'z')]]))
  const turns = turnsOf(session, undefined)
  const sum = (figure: 'costUsd' | 'tokens' | 'turns'): number =>
    session.runs.reduce((total, { account }) => total + account.totals[figure] - account.carried[figure], 0)
  expect(turns.at(-1)?.soFar.tokens).toBe(sum('tokens'))
  expect(turns.at(-1)?.soFar.costUsd).toBeCloseTo(sum('costUsd'), 9)
  expect(turns).toHaveLength(sum('turns'))
})
