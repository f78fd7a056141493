// Holds rules of docs/spec.md: R-SERV-4, R-SERV-6 on a cluster: a run that waits for a service is the engine's timer, and holds no process.
import { createSession } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { attempt, mailSignal } from '../src/engine/attempt.ts'
import { ClusterSession } from '../src/service/cluster-session.ts'
import { openRunOf } from '../src/service/open-run.ts'
import { SessionWork } from '../src/service/work.ts'
import { FakeInvocation } from './support/fake-engine.ts'
import { endsOf } from './support/play.ts'

const begun = 1_700_000_000_000
const minute = 60_000
const request = (what: object, number: number): string =>
  JSON.stringify({ number, id: `request-${number}`, request: what })
const limited = { error: { kind: 'rate_limit', message: 'too many', status: 429, retryAfterMs: minute } } as const

interface Process {
  readonly model: ScriptedModel
  /** Milliseconds since the run began, by its wall clock. */
  readonly startsMs: number
  /** Whether its time passes. */
  readonly goesOn: boolean
}

/** One process that works at the session. */
class Worker {
  readonly engine
  /** What it asked of the engine's timer, in milliseconds. */
  readonly slept: number[] = []
  readonly records: StepRecord[] = []
  readonly over: Promise<unknown>
  readonly resting: Promise<void>

  constructor(invocation: FakeInvocation, { model, startsMs, goesOn }: Process) {
    this.engine = invocation.attempt()
    const { engine } = this
    const sleep = engine.sleep.bind(engine)
    let rests = (): void => {}
    this.resting = new Promise((resolve) => (rests = resolve))
    engine.sleep = (ms) => {
      this.slept.push(ms)
      rests()
      // The engine's time is no time here: its timer has run off for the process that comes next.
      return sleep(1)
    }
    const fake = createFakeClock({ autoAdvance: goesOn })
    const clock = { ...fake, now: () => fake.now(), wallTime: () => begun + startsMs + fake.now() }
    this.over = attempt({
      engine,
      mail: [request({ type: 'prompt', content: 'deploy it' }, 1)],
      begin({ records: found, log }) {
        const journal = new ClusterSession({ sessionId: 'waits', path: 'waits', records: [...found], log })
        const session = createSession({
          options: { model, clock, sessionId: 'waits', waitForLimitsMs: 60 * minute },
          journal,
          answersQuestions: true,
          permissions: { mode: 'default' },
          cwd: '/',
          end: async () => {},
        })
        engine.gone.addEventListener('abort', () => void session.close())
        return new SessionWork({
          session,
          log,
          settled: new Set(),
          openRun: openRunOf(found),
          untold: [],
          spent: () => journal.spent,
          onEvent: () => {},
        })
      },
      onBatch: (batch) => void this.records.push(...batch.records),
    })
    this.over.catch(() => undefined)
  }
}

const momentsIn = (records: readonly StepRecord[]) =>
  records.flatMap((record) => (record.type === 'intent' && record.key.endsWith('.service') ? [record.intent] : []))
const waitsIn = (records: readonly StepRecord[]) =>
  records.flatMap((record) => (record.type === 'result' && record.key.endsWith('.service') ? [record.value] : []))

test('it rests for as long as it waits, is let go of, and another process goes on at the right moment', async () => {
  const invocation = new FakeInvocation()
  const first = new Worker(invocation, { model: scriptedModel([limited]), startsMs: 0, goesOn: false })
  await first.resting
  first.engine.kill()
  const [moments] = momentsIn(first.records) as unknown as readonly { readonly since: number; readonly until: number }[]
  const lengthMs = Number(moments?.until) - begun
  expect(moments?.since).toBe(begun)
  // Never longer than the wait: what passed until the engine heard of it is no part of the timer.
  expect(first.slept.every((ms) => ms > 0 && ms <= lengthMs)).toBe(true)
  expect([lengthMs >= minute, lengthMs <= minute + 2_000]).toEqual([true, true])
  const model = scriptedModel(['deployed'])
  const second = new Worker(invocation, { model, startsMs: lengthMs, goesOn: true })
  await second.over
  expect([model.requests.length, endsOf(second.records)]).toEqual([1, ['completed']])
  expect(waitsIn(second.records)).toEqual([{ outcome: 'over', waitedMs: lengthMs, endedMs: begun + lengthMs }])
})

test('a retry that a person asks for wakes it', async () => {
  const invocation = new FakeInvocation()
  const model = scriptedModel([limited, 'deployed'])
  const worker = new Worker(invocation, { model, startsMs: 0, goesOn: false })
  await worker.resting
  invocation.signal(mailSignal, request({ type: 'retry_now', since: begun }, 2))
  await worker.over
  expect([model.requests.length, endsOf(worker.records)]).toEqual([2, ['completed']])
  expect(waitsIn(worker.records)).toMatchObject([{ outcome: 'woken', why: 'retried' }])
})

test('a retry that comes while no process has the session ends the wait in the one that goes on', async () => {
  const invocation = new FakeInvocation()
  const first = new Worker(invocation, { model: scriptedModel([limited]), startsMs: 0, goesOn: false })
  await first.resting
  first.engine.kill()
  invocation.signal(mailSignal, request({ type: 'retry_now', since: begun }, 2))
  const model = scriptedModel(['deployed'])
  const second = new Worker(invocation, { model, startsMs: 1_000, goesOn: false })
  await second.over
  expect([model.requests.length, endsOf(second.records)]).toEqual([1, ['completed']])
  expect(waitsIn(second.records)).toMatchObject([{ outcome: 'woken', why: 'retried', waitedMs: 1_000 }])
})
