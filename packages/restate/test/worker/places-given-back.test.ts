// Holds rules of docs/spec: R-WORK-3, R-LOAD-1a, R-STEP-13b: however an attempt ends, its place is returned, and the session can be worked at again in this process.
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import type { ObjectContext } from '@restatedev/restate-sdk'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { attempt, mailSignal, type AttemptTurn } from '../../src/engine/attempt.ts'
import { SessionRefusedError } from '../../src/service/refused-work.ts'
import { SessionsOfProcess } from '../../src/service/sessions-of-process.ts'
import { readStatus } from '../../src/service/status.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import { Departure } from '../../src/worker/departure.ts'
import { Places } from '../../src/worker/places.ts'
import { FakeInvocation } from '../support/fake-engine.ts'
import { MemoryState } from '../support/memory-state.ts'

/** The fault of an attempt. */
const faults = [
  'nothing',
  'records cannot be read',
  'open throws',
  'refused',
  'gone',
  'interrupted',
  'another attempt here',
  'make way',
] as const
type Fault = (typeof faults)[number]

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise(setImmediate)
}

/** A worker with few places; its sessions make one request and are done. */
class Process {
  readonly places: Places
  readonly departure = new Departure()
  readonly #sessions: SessionsOfProcess
  readonly #openFaults = new Map<string, Fault>()
  readonly completed: string[] = []

  constructor(most: number) {
    this.places = new Places(most)
    this.#sessions = new SessionsOfProcess({
      places: this.places,
      departure: this.departure,
      open: async ({ sessionId, journal }) => {
        await turns(1)
        const fault = this.#openFaults.get(sessionId)
        if (fault === 'open throws') throw new Error('The folder cannot be made.')
        if (fault === 'refused') throw new SessionRefusedError('No such folder.')
        return createSession({
          options: {
            model: scriptedModel(() => 'done'),
            tools: [],
            sessionId,
          },
          journal,
          answersQuestions: true,
          permissions: { mode: 'default' },
          cwd: '/',
          end: async () => {},
        })
      },
    })
  }

  /** One attempt at the first prompt of a session. Settles when it is over here. */
  async attemptAt(sessionId: string, fault: Fault, after: number): Promise<void> {
    this.#openFaults.set(sessionId, fault)
    const state = new MemoryState()
    // It only reads and writes state.
    const record = new WorkRecord(state as unknown as ObjectContext, await readStatus(state))
    const invocation = new FakeInvocation()
    let makeWay = (): void => {}
    let failed = (): void => {}
    const hasFailed = new Promise<void>((resolve) => (failed = resolve))
    const going = attempt({
      engine: invocation.attempt(),
      mail: [JSON.stringify({ number: 1, id: 'p', request: { type: 'prompt', content: 'go' } })],
      departure: this.departure,
      onYieldRequest: (requestYield) => (makeWay = requestYield),
      turn: (gone): AttemptTurn =>
        this.#sessions.register({ sessionId, tenant: undefined, sinceMs: 1, gone, settled: record.settled }),
      firstNote: () => ({ type: 'attempt' }),
      begin: async (found, turn) => {
        await turns(1)
        if (fault === 'records cannot be read' || fault === 'open throws') setImmediate(failed)
        if (fault === 'records cannot be read') throw new Error('The payload store does not answer.')
        // As `SessionsOfProcess` returned it.
        const granted = turn as ReturnType<SessionsOfProcess['register']>
        return this.#sessions.begin(
          {
            sessionId,
            opening: {},
            tenancy: undefined,
            inherited: { nanos: 0, unknownNanos: 0 },
            refusal: undefined,
            turn: 1,
            before: { ended: [], open: [] },
            record,
            attempt: found,
          },
          granted,
        )
      },
      onBatch: (batch) => record.onBatch(batch),
    }).then(
      () => void this.completed.push(sessionId),
      () => undefined,
    )
    // The engine ends everything of an attempt that is over; one whose step has failed waits forever.
    const over = Promise.race([going, hasFailed.then(() => turns(4))]).then(() => invocation.end())
    await turns(after)
    if (fault === 'gone') {
      invocation.end()
      return turns(20)
    }
    if (fault === 'make way') makeWay()
    if (fault === 'interrupted')
      invocation.signal(mailSignal, JSON.stringify({ number: 2, id: 'i', request: { type: 'interrupt' } }))
    if (fault !== 'another attempt here') return over
    await this.attemptAt(sessionId, 'nothing', 0)
    // The engine had given up the first one before it began the second.
    invocation.end()
  }
}

test.each(faults)('a session is processed again after an attempt with this fault: %s', async (fault) => {
  for (let after = 0; after < 12; after++) {
    const process = new Process(1)
    await process.attemptAt('s', fault, after)
    await process.attemptAt('s', 'nothing', 0)
    expect({ fault, after, last: process.completed.at(-1), taken: process.places.taken }).toEqual({
      fault,
      after,
      last: 's',
      taken: 0,
    })
  }
})

test('no slot is lost, whichever attempts overlap in a process', async () => {
  const one = fc.record({
    session: fc.constantFrom('a', 'b', 'c', 'd'),
    fault: fc.constantFrom(...faults),
    after: fc.nat({ max: 10 }),
    wait: fc.nat({ max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 2 }),
      fc.array(one, { minLength: 1, maxLength: 6 }),
      async (most, all) => {
        const process = new Process(most)
        const last = new Map<string, Promise<void>>()
        for (const { session, fault, after, wait } of all) {
          // The engine begins one attempt of a session at a time.
          const before = last.get(session) ?? Promise.resolve()
          last.set(
            session,
            before.then(() => process.attemptAt(session, fault, after)),
          )
          await turns(wait)
        }
        await Promise.all(last.values())
        await turns(20)
        expect({ taken: process.places.taken, waiting: process.places.waiting }).toEqual({ taken: 0, waiting: 0 })
      },
    ),
    { numRuns: 25 },
  )
})
