// Holds R-VERI-24: how a run would have gone with other limits when its model was asked to verify its last change.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Verification } from '@halting/core'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { verdictText } from '../../src/words/what-if-words.ts'
import { change, checkedRun, failing, passing, type Work } from '../support/checked-runs.ts'

const asking: Verification = { mode: 'ask', checks: () => ['npm test'] }

test('fewer turns and fewer calls equal a live run with them', async () => {
  const first = fc.array(fc.constantFrom<Work>(change, passing, failing), { minLength: 1, maxLength: 4 })
  const then = fc.array(fc.constantFrom<Work>(change, passing, failing), { maxLength: 3 })
  const limit = fc.oneof(
    fc.record({ maxTurns: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ maxToolCalls: fc.integer({ min: 1, max: 7 }) }),
  )
  await fc.assert(
    fc.asyncProperty(first, then, limit, async (before, after, limits) => {
      const works = [...before, 'Done.', ...after, 'Really done.', 'And done.']
      const whole = await checkedRun(works, asking)
      const answer = whatIf(trajectoryOf(whole.records), limits)
      const { terminal } = await checkedRun(works, asking, limits)
      const isShorter = terminal.summary.turns < whole.terminal.summary.turns
      expect([answer.verdict, answer.reason, answer.kept.turns]).toEqual([
        isShorter ? 'stops' : 'same',
        terminal.reason,
        terminal.summary.turns,
      ])
      expect(answer.keepsAnswer === true).toBe(isShorter && terminal.reason === 'completed')
      expect(answer.keepsAnswer === true && answer.lost.answer).toBe(false)
    }),
    { numRuns: 80 },
  )
})

test('less time leaves the earlier answer, until a call after it was made', async () => {
  const { records } = await checkedRun([change, 'Done.', passing, 'Checked.'], asking)
  const whole = trajectoryOf(records)
  expect(whole.turns.map(({ verifies }) => verifies ?? false)).toEqual([false, false, true, false])
  const turns = whole.turns.map((turn, index) => ({
    ...turn,
    endMs: 100 * index + 100,
    calls: turn.calls.map((call) => ({ ...call, endMs: 100 * index + 80 })),
  }))
  const within = (maxDurationMs: number) => whatIf({ ...whole, turns }, { maxDurationMs })
  expect(within(150)).toMatchObject({ verdict: 'stops', reason: 'time_limit', lost: { answer: true } })
  expect(within(250)).toMatchObject({ reason: 'completed', keepsAnswer: true, lost: { answer: false } })
  expect(verdictText(within(250), [])).toBe(
    'Would have stopped in turn 3: completed (250 ms of 250 ms), with the answer before it was asked to verify it.',
  )
  expect(within(290)).toMatchObject({ verdict: 'stops', reason: 'time_limit', lost: { answer: true } })
})

test('a run that ended with its earlier answer is unknown under a wider limit, and the same under any other', async () => {
  const { terminal, records } = await checkedRun([change, 'Done.'], asking, { maxTotalTokens: 1e6 })
  expect(terminal).toMatchObject({ reason: 'completed', signal: { source: 'verification' } })
  const trajectory = trajectoryOf(records)
  expect(whatIf(trajectory, { maxTotalTokens: 1e7 }).verdict).toBe('unknown')
  expect(whatIf(trajectory, { maxTotalTokens: null }).verdict).toBe('unknown')
  expect(whatIf(trajectory, { maxTurns: 500 })).toMatchObject({ verdict: 'same', reason: 'completed' })
})
