// Holds rules of docs/spec: R-WORK-4, R-CLU-13
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import type { ObjectContext } from '@restatedev/restate-sdk'
import { expect, test } from 'vitest'
import { attempt } from '../../src/engine/attempt.ts'
import { readStatus } from '../../src/service/status.ts'
import { SessionsOfProcess } from '../../src/service/sessions-of-process.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import { Departure, LeftError } from '../../src/worker/departure.ts'
import { FakeInvocation } from '../support/fake-engine.ts'
import { MemoryState } from '../support/memory-state.ts'

test('the failure of a run in a worker that leaves its session is not reported: the run continues elsewhere', async () => {
  const departure = new Departure()
  const reported: string[] = []
  const sessions = new SessionsOfProcess({
    departure,
    listener: {
      url: null,
      onOpen() {},
      onEvent: (_sessionId, { type }) => void reported.push(type),
      onStored() {},
      onLeave() {},
    },
    open: async ({ sessionId, journal }) =>
      createSession({
        options: {
          model: scriptedModel([{ text: 'looking', toolCalls: [{ name: 'Look', id: 'l1' }] }, 'done']),
          tools: [
            {
              name: 'Look',
              description: 'Looks.',
              inputSchema: { type: 'object' },
              readOnly: true,
              async execute() {
                departure.begin()
                return 'seen'
              },
            },
          ],
          sessionId,
        },
        journal,
        answersQuestions: false,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      }),
  })
  const state = new MemoryState()
  // It only reads and writes state.
  const record = new WorkRecord(state as unknown as ObjectContext, await readStatus(state))
  const request = { number: 1, id: 'p', request: { type: 'prompt', content: 'look' } }
  const engine = new FakeInvocation().attempt()
  const once = engine.once.bind(engine)
  const ended = new Promise((resolve) => {
    // A step that fails ends the attempt.
    engine.once = (name, effect) =>
      once(name, () =>
        effect().catch(async (error: unknown) => {
          resolve(error)
          return new Promise<string>(() => {})
        }),
      )
  })
  void attempt({
    engine,
    departure,
    mail: [JSON.stringify(request)],
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
  await expect(ended).resolves.toBeInstanceOf(LeftError)
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
  expect(reported).toContain('run_start')
  expect(reported.filter((type) => type === 'run_end' || type === 'failed')).toEqual([])
})
