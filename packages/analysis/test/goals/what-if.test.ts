// Holds R-GOAL-85 and R-GOAL-86: fewer tries of a goal are answered from the record, more are unknown.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentTool, type RunOptions } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { suggestLimits } from '../../src/what-if/suggest-limits.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { verdictText } from '../../src/words/what-if-words.ts'
import { begin, calls, json, tool } from '../../../core/test/support/harness.ts'
import type { StepRecord } from '@halting/core/steps'
import { failed, goalOf, goalRun, passed, workingOptions } from '../support/goal-runs.ts'

/** A goal that fails this number of times, each time differently. */
const failing = (times: number) =>
  goalOf(...Array.from({ length: times }, (_, index) => failed('x'.repeat(index + 1))), passed)

/** Guards the test itself: at least this share of the runs must come out the same under other limits. */
const runWith = (times: number, given: Partial<RunOptions>) => goalRun({ until: [failing(times)], ...given })

describe('fewer tries', () => {
  test('give what a live run with them gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          times: fc.nat(7),
          had: fc.integer({ min: 1, max: 6 }),
          tries: fc.integer({ min: 1, max: 8 }),
          turns: fc.integer({ min: 1, max: 16 }),
        }),
        async ({ times, had, tries, turns }) => {
          const whole = await runWith(times, { maxGoalTries: had })
          const trajectory = trajectoryOf(whole.records)
          expect(trajectory.turns.length).toBe(whole.terminal.summary.turns)
          const fewer = whatIf(trajectory, { maxGoalTries: tries })
          const live = await runWith(times, { maxGoalTries: Math.min(tries, had) })
          const isMore = tries > had && whole.terminal.reason === 'goal_unmet'
          const isShorter = live.terminal.summary.turns < whole.terminal.summary.turns
          expect([fewer.verdict, fewer.reason, fewer.kept.turns, fewer.kept.costUsd]).toEqual([
            isMore ? 'unknown' : isShorter ? 'stops' : 'same',
            isMore ? null : live.terminal.reason,
            live.terminal.summary.turns,
            live.terminal.costUsd,
          ])
          // With a turn limit as well, which the loop names where both are reached; at the limit the goals are checked once more.
          const limits = { maxGoalTries: Math.min(tries, had), maxTurns: turns }
          const both = whatIf(trajectory, limits)
          const { terminal } = await runWith(times, limits)
          expect([both.kept.turns, both.kept.costUsd]).toEqual([terminal.summary.turns, terminal.costUsd])
          const named = [
            both.reason,
            ...(both.isCompletedIfMet === true ? ['completed'] : []),
            // A limit that is no tighter than what the run used is reported as the same.
            ...(both.verdict === 'same' && both.reason === 'goal_unmet' ? ['max_turns'] : []),
          ]
          expect(named).toContain(terminal.reason)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('are explained in words, and so is that the goal may have been met at another limit', async () => {
    const { records } = await runWith(4, { maxGoalTries: 5 })
    const trajectory = trajectoryOf(records)
    expect(verdictText(whatIf(trajectory, { maxGoalTries: 1 }), [])).toBe(
      'Would have stopped after 4 turns: goal_unmet (1 of 1).',
    )
    expect(verdictText(whatIf(trajectory, { maxTurns: 3 }), [])).toBe(
      'Would have stopped after 3 turns: max_turns (3 of 3), or completed if its goal held by then.',
    )
    expect(verdictText(whatIf(trajectory, { maxTurns: 4 }), [])).toBe(
      'Would have stopped after 4 turns: max_turns (4 of 4).',
    )
  })

  test('are reported as unknown when raised, except where the run ended because nothing changed', async () => {
    const { records } = await runWith(9, { maxGoalTries: 2 })
    const more = whatIf(trajectoryOf(records), { maxGoalTries: 3 })
    expect([more.verdict, verdictText(more, [])]).toEqual([
      'unknown',
      'Unknown: the record ends after 6 turns; the run might have continued.',
    ])
    expect(whatIf(trajectoryOf(records), { maxGoalTries: 2 }).verdict).toBe('same')
    const stalled = await goalRun({ model: scriptedModel(['a', 'b', 'c', 'd']), until: [goalOf(failed())] })
    expect(stalled.terminal.signal.context['cause']).toBe('stalled')
    expect(whatIf(trajectoryOf(stalled.records), { maxGoalTries: 50 })).toMatchObject({
      verdict: 'same',
      reason: 'goal_unmet',
    })
  })
})

test('apply separately to goals that a person set in place of others', async () => {
  const given = {
    ...workingOptions(),
    until: [failing(9)],
    goalNamed: () => ({ ...failing(3), name: 'other' }),
    maxGoalTries: 9,
  }
  const going = begin([], given as never)
  let sent = 0
  const read = (async () => {
    for (;;) {
      await Promise.resolve()
      const laps = going.events.filter((event) => event.type === 'lap' && event.transition === 'goal_unmet').length
      if (laps < 2 || sent++ > 0) return laps
    }
  })()
  await read
  const { terminal, steps } = await going.end()
  const trajectory = trajectoryOf(json(steps.records) as never as readonly StepRecord[])
  expect(Math.max(...trajectory.turns.map(({ tries = 0 }) => tries))).toBe(terminal.goal?.tries)
})

test('make a run unknown from where they would have stopped a subagent with more rejected answers', async () => {
  const agent = agentTool({
    name: 'Agent',
    description: 'a subagent',
    spawn: () => ({ prompt: 'work', until: [failing(3)] }),
  })
  const model = scriptedModel([calls('Agent'), calls('Edit'), 'a', calls('Edit'), 'b', calls('Edit'), 'c', 'done'])
  const { terminal, records } = await goalRun({ model, tools: [agent, tool('Edit', 'edited')] })
  expect(terminal.reason).toBe('completed')
  const trajectory = trajectoryOf(records)
  expect(whatIf(trajectory, { maxGoalTries: 2 })).toMatchObject({ verdict: 'same' })
  expect(whatIf(trajectory, { maxGoalTries: 1 })).toMatchObject({
    verdict: 'unknown',
    unknownFrom: { turn: 1, why: 'agent' },
  })
})

test('are suggested where no run needed more, they save something and lose nothing', async () => {
  const done = trajectoryOf((await runWith(2, {})).records)
  const hopeless = trajectoryOf((await runWith(20, { maxGoalTries: 6 })).records)
  const suggested = suggestLimits([done, hopeless], { changes: () => false })
  expect(suggested.map(({ limits }) => limits)).toContainEqual({ maxGoalTries: 1 })
  expect(suggestLimits([done], { changes: () => false }).map(({ limits }) => limits)).not.toContainEqual({
    maxGoalTries: 1,
  })
})
