// Tests R-SERV-10, R-SERV-11.
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { ModelError, type RunEvent } from '../../src/index.ts'
import { ServiceWaitsView } from '../../src/live-session/session-view.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { sessionOf } from './support.ts'

const hour = 3_600_000
const limit = {
  error: { kind: 'rate_limit', message: 'too many requests', status: 429, retryAfterMs: hour },
} as const
const error = new ModelError(limit.error).toRecord()

test('a session shows the wait of its run and ends it; both moments and the outcome are messages', async () => {
  const { session, events } = sessionOf([limit, { text: 'Done.' }], { waitForLimitsMs: 8 * hour })
  expect([session.snapshot.serviceWaits, session.retryNow()]).toEqual([[], false])
  session.prompt('go')
  await vi.waitFor(() => expect(session.snapshot.serviceWaits).toHaveLength(1))
  const [waiting] = session.snapshot.serviceWaits
  expect(session.snapshot.activity).toMatchObject({ type: 'service_wait', untilMs: waiting?.untilMs, error: '429' })
  expect(waiting).toMatchObject({ callIds: [], model: 'scripted', error: '429', message: 'too many requests' })
  expect([session.retryNow(), session.retryNow()]).toEqual([true, false])
  await session.settled()
  expect([session.snapshot.serviceWaits, session.snapshot.last?.reason]).toEqual([[], 'completed'])
  const about = { model: 'scripted', error_status: 429, error: 'rate_limit', parent_tool_use_id: null }
  const since = new Date(waiting?.sinceMs ?? 0).toISOString()
  const ends = new Date(waiting?.untilMs ?? 0).toISOString()
  const messages = events.flatMap((event) =>
    event.type === 'message' && event.message.type === 'system' && event.message.subtype === 'service_wait'
      ? [event.message]
      : [],
  )
  expect(messages).toMatchObject([
    { ...about, state: 'waiting', since, until: ends },
    { ...about, state: 'ended', outcome: 'retried' },
  ])
})

test('setting the current model ends no wait; setting another one does', async () => {
  const other = scriptedModel([{ text: 'From the other.' }], { id: 'other' })
  const { session } = sessionOf([limit], { waitForLimitsMs: 8 * hour, models: [other] })
  session.prompt('go')
  await vi.waitFor(() => expect(session.snapshot.serviceWaits).toHaveLength(1))
  session.set({ model: 'scripted' })
  await new Promise((resolve) => setImmediate(resolve))
  expect([session.snapshot.serviceWaits.length, other.requests.length]).toEqual([1, 0])
  session.set({ model: 'other' })
  await session.settled()
  expect([session.snapshot.last?.reason, other.requests.length]).toEqual(['completed', 1])
})

/** The agent under these calls starts or ends its wait, or ends. */
interface Step {
  readonly callIds: readonly string[]
  readonly what: 'begins' | 'ends' | 'run_end'
}

function eventOf({ callIds, what }: Step, sinceMs: number): RunEvent {
  // Only the type of this event is read.
  const event =
    what === 'run_end'
      ? ({ type: 'run_end' } as unknown as RunEvent)
      : ({
          type: 'service_wait',
          isWaiting: what === 'begins',
          model: 'm',
          error,
          sinceMs,
          untilMs: sinceMs + 1,
        } as const)
  return callIds.reduceRight<RunEvent>(
    (inner, callId) => ({ type: 'agent', callId, agentType: 'a', event: inner }),
    event,
  )
}

test('shows as waiting those that started a wait and neither ended it nor ended with a parent agent', () => {
  const callIds = fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 })
  const steps = fc.array(fc.record({ callIds, what: fc.constantFrom('begins', 'ends', 'run_end') }), { maxLength: 30 })
  fc.assert(
    fc.property(steps, (drawnSteps) => {
      const view = new ServiceWaitsView()
      let expected: string[] = []
      for (const step of drawnSteps) {
        const path = step.callIds.join('/')
        const before = view.present
        expect(view.onEvent(eventOf(step, 1))).toBe(view.present !== before)
        if (step.what === 'run_end')
          expected = expected.filter((each) => !`${each}/`.startsWith(path === '' ? '' : `${path}/`))
        else expected = [...expected.filter((each) => each !== path), ...(step.what === 'begins' ? [path] : [])]
        expect(view.present.map((wait) => wait.callIds.join('/'))).toEqual(expected)
      }
    }),
  )
})
