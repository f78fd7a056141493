// Holds rules of docs/spec: R-PAUSE-7, R-PAUSE-9 and R-PAUSE-15 on a cluster: a paused run occupies no process, and setting the limit answers.
import type { Tool } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { mailSignal } from '../src/engine/attempt.ts'
import { readStatus, statusAfter, type SessionStatus } from '../src/service/status.ts'
import { FakeInvocation } from './support/fake-engine.ts'
import { endsOf } from './support/play.ts'
import { requestMail, RestingWorker, startsAtMs } from './support/resting-worker.ts'

const minute = 60_000
const look: Tool = {
  name: 'Look',
  description: 'Looks',
  inputSchema: { type: 'object' },
  validate: () => ({ valid: true, input: {} }),
  readOnly: () => true,
  execute: async () => ({ content: 'seen' }),
}
const calls = { toolCalls: [{ name: 'Look' }] }

const pausing = (reply: ScriptedReply) => ({
  model: scriptedModel([reply]),
  tools: [look],
  maxTurns: 1,
  onLimit: 'pause' as const,
  pauseForMs: 10 * minute,
})

/** Timers of the engine, rounded up: the time until the engine received them does not count. */
const sleptMinutes = ({ slept }: RestingWorker): readonly number[] => slept.map((ms) => Math.ceil(ms / minute))

async function status(...workers: readonly RestingWorker[]): Promise<SessionStatus> {
  const before = await readStatus({ get: async () => null })
  return workers.reduce((now, { records }) => statusAfter(now, records), before)
}

const question = { limit: 'maxTurns', used: 1, of: 1, sinceMs: startsAtMs, untilMs: startsAtMs + 10 * minute }

test('a session rests during its pause, and the next process asks the same question for the remaining time', async () => {
  const invocation = new FakeInvocation()
  const first = new RestingWorker(invocation, { options: pausing(calls), startsMs: 0, advancesTime: false })
  await first.resting
  first.engine.kill()
  expect(sleptMinutes(first)).toEqual([10])
  expect(await status(first)).toMatchObject({ state: 'requires_action', limitQuestion: question })
  const options = pausing('looked')
  const second = new RestingWorker(invocation, { options, startsMs: 4 * minute, advancesTime: false })
  // The engine has the timer of the first pause, which expires at once in these tests; from then on six minutes are left.
  await expect.poll(() => [...new Set(sleptMinutes(second))]).toEqual([10, 6])
  invocation.signal(mailSignal, requestMail({ type: 'set', change: { limits: { maxTurns: 3 } } }, 2))
  await second.over
  expect([options.model.requests.length, endsOf(second.records)]).toEqual([1, ['completed']])
  const ended = await status(first, second)
  expect([ended.state, ended.limitQuestion]).toEqual(['idle', undefined])
})

test('a pause ends with the ending of the limit when its time is over, in whichever process', async () => {
  const invocation = new FakeInvocation()
  const first = new RestingWorker(invocation, { options: pausing(calls), startsMs: 0, advancesTime: false })
  await first.resting
  first.engine.kill()
  const options = pausing('looked')
  const second = new RestingWorker(invocation, { options, startsMs: 10 * minute, advancesTime: true })
  await second.over
  expect([options.model.requests.length, endsOf(second.records)]).toEqual([0, ['max_turns']])
  expect(await status(first, second)).not.toHaveProperty('limitQuestion')
})

test('a stop ends a pause with the ending of the limit', async () => {
  const invocation = new FakeInvocation()
  const worker = new RestingWorker(invocation, { options: pausing(calls), startsMs: 0, advancesTime: false })
  await worker.resting
  invocation.signal(mailSignal, requestMail({ type: 'stop' }, 2))
  await worker.over
  expect(endsOf(worker.records)).toEqual(['max_turns'])
})
