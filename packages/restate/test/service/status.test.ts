// Holds rules of docs/spec: R-LIST-1, R-LIST-1a
import { createSession } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'
import type { ObjectContext } from '@restatedev/restate-sdk'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { attempt } from '../../src/engine/attempt.ts'
import { readStatus, statusAfter, type SessionStatus } from '../../src/service/status.ts'
import { SessionsOfProcess } from '../../src/service/sessions-of-process.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import { FakeInvocation } from '../support/fake-engine.ts'
import { MemoryState } from '../support/memory-state.ts'

const command = `echo one\necho ${'two '.repeat(80)}`

/** A session with one open question, in an attempt of the engine. */
function attemptAt(invocation: FakeInvocation, state: MemoryState, before: SessionStatus): void {
  const sessions = new SessionsOfProcess({
    open: async ({ sessionId, journal }) =>
      createSession({
        options: {
          model: scriptedModel([{ toolCalls: [{ name: 'Run', id: 'c1', input: { command } }] }, 'done']),
          tools: [
            {
              name: 'Run',
              description: 'Runs.',
              inputSchema: { type: 'object' },
              readOnly: false,
              execute: async () => 'ran',
            },
          ],
          sessionId,
          permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) },
        },
        journal,
        answersQuestions: true,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      }),
  })
  // It only reads and writes state.
  const record = new WorkRecord(state as unknown as ObjectContext, before)
  void attempt({
    engine: invocation.attempt(),
    mail: [JSON.stringify({ number: 1, id: 'p', request: { type: 'prompt', content: 'go' } })],
    begin: (found) =>
      sessions.begin({
        sessionId: 's',
        opening: {},
        tenancy: undefined,
        inherited: { nanos: 0, unknownNanos: 0 },
        refusal: undefined,
        turn: 1,
        before: { ended: [], open: [] },
        record,
        attempt: found,
      }),
    onBatch: (batch) => record.onBatch(batch),
  })
}

test('the status summarizes an open question, also in an attempt that replays the batches', async () => {
  const from = Date.now()
  const invocation = new FakeInvocation()
  const state = new MemoryState()
  attemptAt(invocation, state, await readStatus(state))
  const asked = async (): Promise<SessionStatus> => {
    await expect.poll(async () => (await readStatus(state)).state).toBe('requires_action')
    return readStatus(state)
  }
  const first = await asked()
  const [question] = first.questions
  expect(question).toMatchObject({ callId: 'c1', toolName: 'Run' })
  expect(question?.about).toMatch(/^echo one⏎echo two two .*…$/)
  expect(question?.about).toHaveLength(200)
  const { beganMs = 0, changedMs = 0 } = first
  expect([from <= beganMs, beganMs <= changedMs, changedMs <= Date.now()]).toEqual([true, true, true])
  state.values.clear()
  attemptAt(invocation, state, await readStatus(state))
  const replayed = await asked()
  expect({ ...replayed, live: first.live }).toEqual({ ...first })
})

const lap: StepRecord = { type: 'rewind', entries: 0, after: null }

test('the status has the times of the first and the last records, however they arrived', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3), fc.nat()), { minLength: 1 }), (batches) => {
      const start: SessionStatus = { state: 'idle', turns: 0, usd: 0, tokens: 0, questions: [], records: 0 }
      const written = batches.filter(([count]) => count > 0)
      const status = written.reduce(
        (now, [count, atMs]) =>
          statusAfter(
            now,
            Array.from({ length: count }, () => lap),
            { atMs },
          ),
        start,
      )
      expect(status.beganMs).toBe(written[0]?.[1])
      expect(status.changedMs).toBe(written.at(-1)?.[1])
    }),
  ))

test('the status of a session of an earlier version has the time of its change but not of its beginning', () => {
  const before: SessionStatus = { state: 'idle', turns: 1, usd: 0, tokens: 9, questions: [], records: 5 }
  expect(statusAfter(before, [lap], { atMs: 7 })).toEqual({ ...before, records: 6, changedMs: 7 })
  expect(statusAfter(before, [lap])).toEqual({ ...before, records: 6 })
})
