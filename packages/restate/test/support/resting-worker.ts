import { createSession } from '@halting/core/session'
import type { QueryOptions } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock } from '@halting/core/testing'
import { attempt } from '../../src/engine/attempt.ts'
import { ClusterSession } from '../../src/service/cluster-session.ts'
import { findOpenRun } from '../../src/service/sessions-of-process.ts'
import { SessionWork } from '../../src/service/work.ts'
import type { FakeInvocation } from './fake-engine.ts'

/** When a run of these tests begins, in milliseconds since 1970. */
export const startsAtMs = 1_700_000_000_000

/** A client's request to a session, as mail. */
export const requestMail = (what: object, number: number): string =>
  JSON.stringify({ number, id: `request-${number}`, request: what })

export interface Process {
  /** Options of its runs in addition to what a session needs. */
  readonly options: Pick<QueryOptions, 'model'> & Partial<QueryOptions>
  /** Milliseconds since the run began, by its wall clock. */
  readonly startsMs: number
  /** Whether its time advances. */
  readonly advancesTime: boolean
}

/** One process that works at the session. */
export class RestingWorker {
  readonly engine
  /** Timers that it requested from the engine, in milliseconds. */
  readonly slept: number[] = []
  readonly records: StepRecord[] = []
  readonly over: Promise<unknown>
  readonly resting: Promise<void>

  constructor(invocation: FakeInvocation, { options, startsMs, advancesTime }: Process) {
    this.engine = invocation.attempt()
    const { engine } = this
    const sleep = engine.sleep.bind(engine)
    let rests = (): void => {}
    this.resting = new Promise((resolve) => (rests = resolve))
    engine.sleep = (ms) => {
      this.slept.push(ms)
      rests()
      // The engine's time does not exist here: its timer has expired for the next process.
      return sleep(1)
    }
    const fake = createFakeClock({ autoAdvance: advancesTime })
    const clock = { ...fake, now: () => fake.now(), wallTime: () => startsAtMs + startsMs + fake.now() }
    this.over = attempt({
      engine,
      mail: [requestMail({ type: 'prompt', content: 'deploy it' }, 1)],
      begin({ records: found, log }) {
        const journal = new ClusterSession({ sessionId: 'waits', path: 'waits', records: [...found], log })
        const session = createSession({
          options: { ...options, clock, sessionId: 'waits' },
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
          openRun: findOpenRun(found),
          unreported: [],
          spent: () => journal.spent,
          onEvent: () => {},
        })
      },
      onBatch: (batch) => void this.records.push(...batch.records),
    })
    this.over.catch(() => undefined)
  }
}
