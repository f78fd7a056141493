// Holds rules of docs/spec: R-GOAL-2, R-GOAL-91: goals on workers that lose the session one after another.
import type { QueryOptions, Goal } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { isDeep } from '../../core/test/support/deep.ts'
import { playOnFake } from './support/play-on-fake.ts'
import type { RandomSession } from './support/random-plan.ts'

const session: RandomSession = {
  plan: { turns: [['Pay'], ['Look'], ['Pay']], isEndless: false, toolMs: 0, maxTurns: null, maxBudgetUsd: null },
  prompts: 1,
}

/** Met when this many calls took effect. Each check takes a while, in which its worker may be gone. */
const goalOf = (paid: number) => {
  let checks = 0
  const optionsIn = (effects: readonly string[]): Partial<QueryOptions> => {
    const until: Goal = {
      name: 'paid',
      async check() {
        checks++
        for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
        return {
          met: effects.length >= paid,
          exitCode: effects.length >= paid ? 0 : 1,
          report: `${effects.length} paid`,
        }
      },
    }
    return { until: [until], maxGoalTries: 2 }
  }
  return { optionsIn, checks: () => checks }
}

function roundsIn(records: readonly StepRecord[]): readonly string[] {
  return records.flatMap((record) =>
    record.type === 'result' && record.key.includes('/goal:') ? [record.key.replace(/^.*\/goal:/, '')] : [],
  )
}

function goalIn(records: readonly StepRecord[]) {
  return records
    .flatMap((record) => (record.type === 'end' && record.scope === '' ? [record.terminal.goal] : []))
    .at(-1)
}

test.each([
  { paid: 2, reason: 'completed', met: true, rounds: ['1:baseline', '4:answer'] },
  { paid: 9, reason: 'goal_unmet', met: false, rounds: ['1:baseline', '4:answer', '5:answer', '6:answer'] },
])(
  'a round of checks is a step of the engine that the next worker repeats: $reason',
  async ({ paid, reason, met, rounds }) => {
    const calm = goalOf(paid)
    const whole = await playOnFake(session, [], calm.optionsIn)
    expect([whole.reasons, goalIn(whole.records)?.met, roundsIn(whole.records)]).toEqual([[reason], met, rounds])
    let again = 0
    for (let kill = 0; kill < 60; kill += isDeep ? 1 : 4) {
      const { optionsIn, checks } = goalOf(paid)
      const killed = await playOnFake(session, [kill, 60 - kill], optionsIn)
      expect([killed.reasons, goalIn(killed.records)?.met, roundsIn(killed.records)]).toEqual([[reason], met, rounds])
      again += checks() - calm.checks()
    }
    // Of so many kills some interrupt a check, which is repeated.
    expect(again).toBeGreaterThan(isDeep ? 0 : -1)
  },
)
