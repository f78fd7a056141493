// Holds R-IF-9 and R-IF-9a of docs/spec: how a run would have gone with another wait time for services.
import type { StepRecord } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { verdictText } from '../../src/words/what-if-words.ts'
import { calls, hour, limited, outage, says, serviceRun } from '../support/service-runs.ts'

const answer = (records: readonly StepRecord[], waitForLimitsMs: number | null) =>
  whatIf(trajectoryOf(records), { waitForLimitsMs })

test('a run that a service ended is unknown with a long enough wait, and the same with a shorter one', async () => {
  const records = await serviceRun([calls('Look'), limited(2 * hour)], { waitForLimitsMs: 0 })
  expect(answer(records, 2 * hour)).toMatchObject({ verdict: 'unknown', unknownFrom: null, kept: { turns: 2 } })
  expect(answer(records, null)).toMatchObject({ verdict: 'unknown' })
  expect(verdictText(answer(records, 3 * hour), [])).toBe(
    'Unknown: the record ends after 2 turns; the run might have continued.',
  )
  expect(answer(records, hour)).toMatchObject({ verdict: 'same', reason: 'model_error' })
  expect(answer(records, 0)).toMatchObject({ verdict: 'same', reason: 'model_error' })
  const down = await serviceRun([outage], { waitForLimitsMs: 0, maxRetries: 0 })
  expect([answer(down, 4_999).verdict, answer(down, 5_000).verdict]).toEqual(['same', 'unknown'])
})

test('an error that waiting does not fix stays the same', async () => {
  const refused = { error: { kind: 'authentication_failed', message: 'no', status: 401 } } as const
  const records = await serviceRun([refused], { waitForLimitsMs: 0 })
  expect(answer(records, 8 * hour)).toMatchObject({ verdict: 'same', reason: 'model_error' })
})

test('a run ends at a recorded wait that does not fit into the permitted time, as it would have', async () => {
  const script = [calls('Look'), limited(), calls('Look'), limited(2 * hour), says('done')]
  const records = await serviceRun(script)
  expect(answer(records, 4 * hour)).toMatchObject({ verdict: 'same', reason: 'completed' })
  const second = answer(records, 2 * hour)
  expect(second).toMatchObject({ verdict: 'stops', reason: 'model_error', by: { limit: 'waitForLimitsMs' } })
  expect(second.lost).toMatchObject({ answer: true })
  expect(verdictText(second, [])).toBe('Would have stopped in turn 3: model_error (1 h of 2 h).')
  const first = answer(records, 60_000)
  expect(first).toMatchObject({ verdict: 'stops', by: { used: 0, max: 60_000 }, kept: { turns: 2 } })
  for (const [waitForLimitsMs, { kept }] of [
    [2 * hour, second],
    [60_000, first],
  ] as const) {
    const actual = trajectoryOf(await serviceRun(script, { waitForLimitsMs }))
    expect(actual.ending?.reason).toBe('model_error')
    expect(whatIf(actual, {}).kept).toEqual(kept)
  }
})

test('a subagent that would not have waited makes the run unknown', async () => {
  const records = await serviceRun([calls('Agent'), limited(), says('a'), says('done')])
  expect(answer(records, 60_000)).toMatchObject({ verdict: 'unknown', unknownFrom: { turn: 1, why: 'agent' } })
  expect(answer(records, 2 * hour)).toMatchObject({ verdict: 'same' })
})

test('the answer for a wait time equals the run itself with that time', async () => {
  const step = fc.constantFrom('call', 'short', 'long', 'down')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.integer({ min: 0, max: 4 }), async (steps, hours) => {
      const replies = { call: calls('Look'), short: limited(hour / 2), long: limited(2 * hour), down: outage }
      const script = [...steps.map((name) => replies[name]), says('done')]
      const options = { maxRetries: 0 }
      const recorded = await serviceRun(script, { ...options, waitForLimitsMs: 100 * hour })
      const predicted = answer(recorded, hours * hour)
      const actual = whatIf(trajectoryOf(await serviceRun(script, { ...options, waitForLimitsMs: hours * hour })), {})
      expect(predicted.verdict).not.toBe('unknown')
      expect([predicted.reason, predicted.kept]).toEqual([actual.reason, actual.kept])
    }),
    { numRuns: 40 },
  )
})
