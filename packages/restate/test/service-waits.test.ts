// Holds rules of docs/spec: R-SERV-4, R-SERV-6 on a cluster: a run that waits for a service is a timer of the engine and occupies no process.
import type { StepRecord } from '@halting/core/steps'
import { scriptedModel, type ScriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { mailSignal } from '../src/engine/attempt.ts'
import { FakeInvocation } from './support/fake-engine.ts'
import { endsOf } from './support/play.ts'
import { requestMail, RestingWorker, startsAtMs } from './support/resting-worker.ts'

const minute = 60_000
const limited = { error: { kind: 'rate_limit', message: 'too many', status: 429, retryAfterMs: minute } } as const

const waits = (model: ScriptedModel) => ({ model, waitForLimitsMs: 60 * minute })

const momentsIn = (records: readonly StepRecord[]) =>
  records.flatMap((record) => (record.type === 'intent' && record.key.endsWith('.service') ? [record.intent] : []))
const waitsIn = (records: readonly StepRecord[]) =>
  records.flatMap((record) => (record.type === 'result' && record.key.endsWith('.service') ? [record.value] : []))

test('a session rests during a wait, is released, and another process continues it at the right time', async () => {
  const invocation = new FakeInvocation()
  const first = new RestingWorker(invocation, {
    options: waits(scriptedModel([limited])),
    startsMs: 0,
    advancesTime: false,
  })
  await first.resting
  first.engine.kill()
  const [moments] = momentsIn(first.records) as unknown as readonly { readonly since: number; readonly until: number }[]
  const lengthMs = Number(moments?.until) - startsAtMs
  expect(moments?.since).toBe(startsAtMs)
  // Never longer than the wait: the time until the engine received it does not count.
  expect(first.slept.every((ms) => ms > 0 && ms <= lengthMs)).toBe(true)
  expect([lengthMs >= minute, lengthMs <= minute + 2_000]).toEqual([true, true])
  const model = scriptedModel(['deployed'])
  const second = new RestingWorker(invocation, { options: waits(model), startsMs: lengthMs, advancesTime: true })
  await second.over
  expect([model.requests.length, endsOf(second.records)]).toEqual([1, ['completed']])
  expect(waitsIn(second.records)).toEqual([{ outcome: 'over', waitedMs: lengthMs, endedMs: startsAtMs + lengthMs }])
})

test('a retry that a person requests ends the wait of a resting session', async () => {
  const invocation = new FakeInvocation()
  const model = scriptedModel([limited, 'deployed'])
  const worker = new RestingWorker(invocation, { options: waits(model), startsMs: 0, advancesTime: false })
  await worker.resting
  invocation.signal(mailSignal, requestMail({ type: 'retry_now', since: startsAtMs }, 2))
  await worker.over
  expect([model.requests.length, endsOf(worker.records)]).toEqual([2, ['completed']])
  expect(waitsIn(worker.records)).toMatchObject([{ outcome: 'woken', why: 'retried' }])
})

test('a retry that arrives while no process has the session ends the wait in the next one', async () => {
  const invocation = new FakeInvocation()
  const first = new RestingWorker(invocation, {
    options: waits(scriptedModel([limited])),
    startsMs: 0,
    advancesTime: false,
  })
  await first.resting
  first.engine.kill()
  invocation.signal(mailSignal, requestMail({ type: 'retry_now', since: startsAtMs }, 2))
  const model = scriptedModel(['deployed'])
  const second = new RestingWorker(invocation, { options: waits(model), startsMs: 1_000, advancesTime: false })
  await second.over
  expect([model.requests.length, endsOf(second.records)]).toEqual([1, ['completed']])
  expect(waitsIn(second.records)).toMatchObject([{ outcome: 'woken', why: 'retried', waitedMs: 1_000 }])
})
