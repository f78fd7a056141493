// Tests R-GOAL-80: rounds of checks come from the record. A replay needs no goal, even for a run that was killed and resumed.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  replay,
  resume,
  type Goal,
  type GoalVerdict,
  type RunEvent,
  type RunOptions,
  type StepRecord,
} from '../../src/index.ts'
import { validateRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, json, run, tool } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** A goal that passes after this many failures. The number of checks does not depend on the process. */
function goalThatFails(times: number, checks: { count: number }): Goal {
  return {
    name: 'npm test',
    check: (): GoalVerdict => {
      const failed = checks.count++ < times
      return failed
        ? { met: false, exitCode: 1, report: `failed ${'x'.repeat(checks.count)}` }
        : { met: true, exitCode: 0 }
    },
  }
}

/** A model that alternates edits and answers, so that every answer follows a change. It depends only on the conversation. */
function options(): RunOptions {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)?.content
    return typeof last !== 'string' && last?.some(({ type }) => type === 'tool_result') === true
      ? 'Done.'
      : calls('Edit')
  })
  const edit = tool('Edit', 'edited', { onUnknownOutcome: 'rerun' })
  return { model, tools: [edit], maxGoalTries: 3, maxTurns: 12, clock: createFakeClock({ autoAdvance: true }) }
}

const roundsIn = (events: readonly RunEvent[]): unknown => json(events.filter(({ type }) => type === 'goal_end'))

test('replays the rounds and the ending of the run without goals', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(6), async (times) => {
      const { terminal, events, steps } = await run([], {
        ...options(),
        until: [goalThatFails(times, { count: 0 })],
      } as never)
      expect(terminal.reason).toBe(times > 4 ? 'goal_unmet' : 'completed')
      // A file contains JSON.
      const again = await replay(json(steps.records) as readonly StepRecord[], options())
      expect(roundsIn(again.events)).toEqual(roundsIn(events))
      expect(json(again.terminal)).toEqual(json(terminal))
    }),
    { numRuns: 10 },
  )
})

test('continues a run that was killed after any record with its tries, and replays it without goals', async () => {
  const completeRun = await run([], { ...options(), until: [goalThatFails(3, { count: 0 })] } as never)
  expect(completeRun.terminal.goal).toMatchObject({ met: true, tries: 2 })
  for (let count = 1; count < completeRun.steps.records.length; count++) {
    const checks = { count: 0 }
    const records = await killedAfter(count, { ...options(), until: [goalThatFails(3, checks)] })
    expect(records.map(validateRecord)).toEqual(records.map(() => undefined))
    // A check in flight is run again, with the same result.
    const recorded = records.filter((record) => record.type === 'result' && record.key.includes('/goal:')).length
    checks.count = recorded
    const resumed = resume(records, { ...options(), until: [goalThatFails(3, checks)] })
    const { terminal } = await resumed.loop.ended
    expect([count, terminal.reason, terminal.goal?.met, terminal.goal?.tries]).toEqual([count, 'completed', true, 2])
    // A recorded round is not repeated.
    expect(checks.count).toBe(4)
    const again = await replay(json(resumed.steps.records) as readonly StepRecord[], options())
    expect(json(again.terminal)).toEqual(json(terminal))
  }
})

test('needs no goal that a person set during the run either', async () => {
  const set: Goal = goalThatFails(1, { count: 0 })
  const runOptions = { ...options(), goalNamed: () => set }
  const going = begin([], runOptions as never)
  going.loop.set({ until: [{ name: 'npm test' }] })
  const { terminal, steps } = await going.end()
  expect(terminal.goal?.met).toBe(true)
  const again = await replay(json(steps.records) as readonly StepRecord[], options())
  expect(json(again.terminal)).toEqual(json(terminal))
})
