// Holds R-VERI-24 for runs without the inputs of their calls, as used for suggesting and calibrating limits.
import { expect, test } from 'vitest'
import type { Verification } from '@halting/core'
import { pastSessionOf } from '../../src/sessions/read-session.ts'
import { answerRuns } from '../../src/what-if/answer-runs.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { change, checkedRun } from '../support/checked-runs.ts'

const asking: Verification = { mode: 'ask', checks: () => ['npm test'] }

test('a limit has the same effect on a run without the inputs of its calls', async () => {
  const { records } = await checkedRun([change, 'Done.', 'No test covers it.'], asking)
  const session = pastSessionOf({ sessionId: 's', cwd: '/repo', runs: [records], unpriced: [[]], began: [null] })
  const read = { names: ['a'], read: () => Promise.resolve(session) }
  const { trajectories } = await answerRuns(read, { limits: undefined, suggests: true, copies: 'left out' })
  const [short] = trajectories
  if (short === undefined) throw new Error('no run was read')
  const whole = trajectoryOf(records)
  expect(short.turns.flatMap(({ calls }) => calls.map(({ input }) => input))).toEqual([null])
  for (const maxTurns of [1, 2, 3]) expect(whatIf(short, { maxTurns })).toEqual(whatIf(whole, { maxTurns }))
  expect(whatIf(short, { maxTurns: 2 })).toMatchObject({ reason: 'completed', keepsAnswer: true })
})

test('nothing but inputs is left out', async () => {
  const { records } = await checkedRun([change, 'Done.'], asking)
  const [turn] = trajectoryOf(records).turns
  if (turn === undefined) throw new Error('there is no turn')
  const wait = { model: 'm', ms: 5, reason: 'rate_limit' }
  const full = { ...turn, waits: [wait], tries: 1, agentTries: 2, checked: 'after', verifies: true, isReminded: true }
  const session = pastSessionOf({ sessionId: 's', cwd: '/repo', runs: [records], unpriced: [[]], began: [null] })
  const runs = session.runs.map((run) => ({ ...run, trajectory: { ...run.trajectory, turns: [full] } }))
  const read = { names: ['a'], read: () => Promise.resolve({ ...session, runs } as never) }
  const { trajectories } = await answerRuns(read, { limits: undefined, suggests: true, copies: 'left out' })
  const calls = turn.calls.map((call) => ({ ...call, input: null }))
  expect(trajectories[0]?.turns).toEqual([{ ...full, calls }])
})
