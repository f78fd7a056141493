// Tests R-REQ-4, for few retries.
import { describe, expect, test } from 'vitest'
import type { ModelErrorInit } from '../../src/entries/adapters.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { run } from '../support/harness.ts'

const error = (kind: ModelErrorInit['kind'], more: Partial<ModelErrorInit> = {}): ScriptedReply => ({
  error: { kind, message: kind, status: 500, ...more },
})
const busy = error('overloaded')

/** The requests of each model, the iterations, and the end. */
async function asked(script: readonly ScriptedReply[], maxRetries: number) {
  const fallbackModel = scriptedModel(['from the fallback'], { id: 'fallback' })
  const { model, transitions, terminal } = await run(script, { fallbackModel, maxRetries })
  return [model.requests.length, fallbackModel.requests.length, transitions, terminal.reason]
}

describe('the fallback model takes over when overloads use up the retries', () => {
  test.each([
    [0, [busy], 1],
    [1, [busy, busy], 2],
    [2, [busy, busy, busy], 3],
    [10, [busy, busy, busy], 3],
  ])('with %i retries', async (maxRetries, script, requests) => {
    expect(await asked(script, maxRetries)).toEqual([requests, 1, ['model_fallback'], 'completed'])
  })

  test('and when an overload must not be retried', async () => {
    expect(await asked([error('overloaded', { retryable: false })], 10)).toEqual([
      1,
      1,
      ['model_fallback'],
      'completed',
    ])
    const longWait = error('overloaded', { retryAfterMs: 3_600_000 })
    expect(await asked([busy, longWait], 10)).toEqual([2, 1, ['model_fallback'], 'completed'])
  })

  test.each<[string, ScriptedReply[], number]>([
    ['another failure was among the attempts', [error('server_error'), busy], 1],
    ['the last failure was of another kind', [busy, error('server_error')], 1],
    ['it is not an overload', [error('rate_limit')], 0],
  ])('not when %s', async (_why, script, maxRetries) => {
    expect(await asked(script, maxRetries)).toEqual([script.length, 0, [], 'model_error'])
  })

  test('not before three overloads while there are retries left', async () => {
    expect(await asked([busy, busy, 'answer'], 2)).toEqual([3, 0, [], 'completed'])
    expect(await asked([busy, 'answer'], 1)).toEqual([2, 0, [], 'completed'])
  })

  test('once a run: an overload of the fallback model ends it', async () => {
    const fallbackModel = scriptedModel(() => busy, { id: 'fallback' })
    const { transitions, terminal } = await run(() => busy, { fallbackModel, maxRetries: 0 })
    expect([transitions, terminal.reason, fallbackModel.requests.length]).toEqual([
      ['model_fallback'],
      'model_error',
      1,
    ])
  })
})
