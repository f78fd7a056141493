// Holds rules of docs/spec: R-FLEET-3, R-FLEET-3a, R-FLEET-2a: the tenant of a session, and how much of its money the session spends.
import { streamRun, ModelError, startRun, type Model, type Prices } from '@halting/core'
import { createMemorySteps, foldSession, splitRuns, type StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { assignTenancy } from '../../src/service/tenancy.ts'
import { withoutInherited, sessionSpending } from '../../src/service/spending.ts'
import { statusAfter, readStatus } from '../../src/service/status.ts'
import { MemoryState } from '../support/memory-state.ts'

test('a session keeps its first tenant, whatever other workers say', async () => {
  const state = new MemoryState()
  expect(await assignTenancy(state, 'inv1', () => undefined)).toEqual({})
  const acme = { tenancy: { tenant: 'acme', began: 'inv2', isOpened: true } }
  expect(await assignTenancy(state, 'inv2', () => 'acme')).toEqual({ ...acme, isNew: true })
  expect(await assignTenancy(state, 'inv3', () => 'other')).toEqual(acme)
  expect(
    await assignTenancy(state, 'inv4', () => {
      throw new Error('not here')
    }),
  ).toEqual(acme)
})

test('a tenant that a session may not use is refused with the reason and not stored', async () => {
  const state = new MemoryState()
  const refused = await assignTenancy(state, 'inv1', () => {
    throw new Error('Sessions of this worker have no other tenant.')
  })
  expect(refused).toEqual({ refusal: 'Sessions of this worker have no other tenant.' })
  expect(state.values.size).toBe(0)
})

/** One dollar per token. */
const prices: Prices = {
  cost: (_model, { input_tokens, output_tokens }) => input_tokens + output_tokens,
  worstCase: (_model, { inputTokens, outputTokens }) => inputTokens + outputTokens,
}

/** Records of a run of two turns, the second of which is interrupted, so its cost is unknown. */
async function recorded(): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  const usage = { input_tokens: 3, output_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const content = [{ type: 'tool_use' as const, id: 'c', name: 'None', input: {} }]
  const message = { id: 'm', role: 'assistant' as const, model: 'm', content, stop_reason: 'tool_use' as const, usage }
  let asked = 0
  const model: Model = {
    id: 'm',
    contextWindow: 10_000,
    maxOutputTokens: 100,
    async call() {
      if (asked++ === 0) return { message }
      throw new ModelError({ kind: 'connection', message: 'cut off', retryable: false })
    },
  }
  await streamRun(startRun({ prompt: 'go' }), { model, prices, steps, maxBudgetUsd: 1e6, maxRetries: 0 }).ended
  return steps.records
}

test('spending includes an open run at its worst case', async () => {
  const records = await recorded()
  const whole = sessionSpending(foldSession(splitRuns(records)))
  expect(whole.unknownNanos).toBeGreaterThan(0)
  expect(whole.nanos).toBe(5e9 + whole.unknownNanos)
  const isResult = (record: StepRecord): boolean => record.type === 'result'
  // Killed during the second request, and before the first.
  const open = sessionSpending(foldSession(splitRuns(records.slice(0, records.findLastIndex(isResult)))))
  expect(open).toEqual(whole)
  expect(sessionSpending(foldSession(splitRuns(records.slice(0, 1))))).toEqual({ nanos: 0, unknownNanos: 0 })
  expect(withoutInherited(whole, { nanos: 5e9, unknownNanos: 0 })).toEqual({
    nanos: whole.unknownNanos,
    unknownNanos: whole.unknownNanos,
  })
})

test('the status has what the session may have spent, and the unknown part of it', async () => {
  const records = await recorded()
  const { nanos, unknownNanos } = sessionSpending(foldSession(splitRuns(records)))
  const status = statusAfter(await readStatus(new MemoryState()), records)
  expect([status.usd, status.unknownUsd]).toEqual([nanos / 1e9, unknownNanos / 1e9])
  const [start] = records
  const next = statusAfter(status, [
    ...(start === undefined ? [] : [start]),
    ...records.filter((record) => record.type === 'lap').slice(0, 1),
  ])
  expect(next).not.toHaveProperty('unknownUsd')
})
