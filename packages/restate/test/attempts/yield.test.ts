// Holds rules of docs/spec: R-POIS-1, R-POIS-3: work yields at an iteration and continues in the same attempt.
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import type { Json } from '@halting/core'
import type { ObjectContext } from '@restatedev/restate-sdk'
import { expect, test } from 'vitest'
import { attempt } from '../../src/engine/attempt.ts'
import { readStatus } from '../../src/service/status.ts'
import { SessionsOfProcess } from '../../src/service/sessions-of-process.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import { FakeInvocation } from '../support/fake-engine.ts'
import { MemoryState } from '../support/memory-state.ts'

/** A session of three turns with one call each. `onCall` is called during each call. */
async function play(onCall: (makeWay: () => void, callId: string) => void, firstNote?: () => Json) {
  const made: string[] = []
  const opened: number[] = []
  const batches: { readonly records: number; readonly notes: number }[] = []
  let makeWay = (): void => {}
  const sessions = new SessionsOfProcess({
    open: async ({ sessionId, journal }) => {
      opened.push(batches.length)
      return createSession({
        options: {
          model: scriptedModel(({ messages }) => {
            const turn = messages.filter(({ role }) => role === 'assistant').length
            return turn < 3 ? { toolCalls: [{ name: 'Act', id: `a${turn}` }] } : 'done'
          }),
          tools: [
            {
              name: 'Act',
              description: 'Does what must not be done twice.',
              inputSchema: { type: 'object' },
              readOnly: false,
              async execute(_input, { callId }) {
                made.push(callId)
                onCall(makeWay, callId)
                await new Promise(setImmediate)
                return 'done'
              },
            },
          ],
          sessionId,
          permissions: { denies: () => undefined, decide: () => ({ behavior: 'allow' }) },
        },
        journal,
        answersQuestions: false,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      })
    },
  })
  const state = new MemoryState()
  // It only reads and writes state.
  const record = new WorkRecord(state as unknown as ObjectContext, await readStatus(state))
  const invocation = new FakeInvocation()
  await attempt({
    engine: invocation.attempt(),
    ...(firstNote !== undefined && { firstNote }),
    onYieldRequest: (requestYield) => (makeWay = requestYield),
    mail: [JSON.stringify({ number: 1, id: 'p', request: { type: 'prompt', content: 'act' } })],
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
    onBatch: (batch) => {
      batches.push({ records: batch.records.length, notes: batch.notes?.length ?? 0 })
      record.onBatch(batch)
    },
  })
  const reasons = record.results.map(({ subtype }) => subtype)
  return { made, opened, batches, reasons, attempts: invocation.attempts }
}

test('a session that yields begins anew from its records and makes each call once', async () => {
  for (const at of ['a0', 'a1', 'a2']) {
    const { made, opened, reasons, attempts } = await play((makeWay, callId) => {
      if (callId === at) makeWay()
    })
    expect({ at, made, reasons, attempts }).toEqual({ at, made: ['a0', 'a1', 'a2'], reasons: ['success'], attempts: 1 })
    expect(opened).toHaveLength(2)
  }
})

test('no session yields without need', async () => {
  const { made, opened } = await play(() => {})
  expect(made).toEqual(['a0', 'a1', 'a2'])
  expect(opened).toHaveLength(1)
})

test('the first note is on record before the session opens, and is written once', async () => {
  const { opened, batches } = await play(
    (makeWay) => makeWay(),
    () => ({ type: 'attempt' }),
  )
  expect(batches[0]).toEqual({ records: 0, notes: 1 })
  expect(opened[0]).toBe(1)
  const { opened: without } = await play(() => {})
  expect(without[0]).toBe(0)
})
