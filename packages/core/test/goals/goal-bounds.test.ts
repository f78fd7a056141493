// Tests R-GOAL-18, R-CERT-1.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { certificate, noProgress, type Goal, type RunOptions } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { drawn } from '../support/deep.ts'
import { calls, hook, run, tool } from '../support/harness.ts'

const model = scriptedModel([])
const goal = (name: string, stable?: number): Goal => ({
  name,
  check: () => ({ met: true }),
  ...(stable !== undefined && { stable }),
})
const checksOf = (options: Partial<RunOptions>) => certificate({ model, ...options }).checks

describe('the bound on checks', () => {
  test('exists only for a run with goals', () => {
    expect(checksOf({})).toBeUndefined()
  })

  test('counts goals, required passes in a row, rejected answers and one check at a limit', () => {
    // 4 checks a round: before the first request, for 3 rejected answers and the last one, and at a limit.
    const runOptions = { until: [goal('a'), goal('b', 3)], maxGoalTries: 3, maxTurns: 100 }
    expect(checksOf(runOptions)).toEqual({
      bounded: true,
      value: 24,
      because: '4 checks a round: before the first request, at each answer, and at a limit',
    })
    expect(checksOf({ ...runOptions, stopWhenMet: true })).toMatchObject({ value: 4 * (6 + 101) })
  })

  test('exists without a turn limit when no check runs after each turn', () => {
    const runOptions = { until: [goal('a')], maxTurns: Infinity }
    expect(checksOf(runOptions)).toMatchObject({ bounded: true, value: 13 })
    expect(checksOf({ ...runOptions, stopWhenMet: true })).toEqual({ bounded: false, because: 'maxTurns is Infinity' })
  })

  test('is not exceeded by random runs', async () => {
    const choices = fc.record({
      verdicts: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
      replies: fc.array(fc.constantFrom('edit', 'text', 'empty'), { minLength: 1, maxLength: 12 }),
      stable: fc.integer({ min: 1, max: 3 }),
      maxGoalTries: fc.integer({ min: 1, max: 4 }),
      maxTurns: fc.integer({ min: 1, max: 6 }),
      stopWhenMet: fc.boolean(),
      tokenBudget: fc.constantFrom(null, 50),
      hooks: fc.boolean(),
      wrapUp: fc.boolean(),
    })
    let most = 0
    await fc.assert(
      fc.asyncProperty(choices, async ({ verdicts, replies, stable, hooks, tokenBudget, ...limits }) => {
        let checks = 0
        let callCount = 0
        const one: Goal = {
          name: 'one',
          stable,
          check: () => ({ met: verdicts[checks++ % verdicts.length] === true, report: 'x'.repeat(checks) }),
        }
        const continuing = hook('onStop', (context) =>
          context.withState(context.state().withExecutionContinued('more')),
        )
        const options = {
          ...limits,
          until: [one],
          tools: [tool('Edit')],
          stopWhen: noProgress(),
          ...(hooks && { hooks: [continuing] }),
          ...(tokenBudget !== null && { tokenBudget }),
        }
        await run(() => {
          const reply = replies[callCount++ % replies.length]
          return reply === 'edit' ? calls('Edit') : reply === 'text' ? 'Done.' : { text: '' }
        }, options)
        const bound = checksOf(options)
        expect(checks).toBeLessThanOrEqual(bound?.bounded === true ? bound.value : 0)
        most = Math.max(most, checks)
      }),
      { numRuns: drawn(600) },
    )
    expect(most).toBeGreaterThan(8)
  })
})
