// Tests R-PAUSE-1, R-PAUSE-5, R-PAUSE-7a, R-PAUSE-10.
import { expect, test } from 'vitest'
import { ConfigurationError } from '../../src/index.ts'
import { calls, reader } from '../support/harness.ts'
import { sessionOf } from './support.ts'

async function paused() {
  const replies = [calls('Look'), calls('Look'), calls('Look'), 'Done.']
  const { session, events } = sessionOf(replies, { tools: [reader('Look')], maxTurns: 2, onLimit: 'pause' })
  session.prompt('go')
  await new Promise<void>((resolve) => session.listen(({ type }) => type === 'limit_question' && resolve()))
  return { session, events, id: session.snapshot.limitQuestion?.id ?? '' }
}

test('shows the question at a limit, and continues in the same run when it is raised', async () => {
  const { session, events, id } = await paused()
  expect(session.snapshot).toMatchObject({
    status: 'requires_action',
    activity: { type: 'question' },
    questions: [],
    limitQuestion: { limit: 'maxTurns', used: 2, of: 2, offers: [{ to: 3 }, { to: 4 }] },
  })
  expect(session.answerLimit(id, { raise: { maxTurns: 4 } })).toBe(true)
  await session.settled()
  expect(session.snapshot).toMatchObject({
    status: 'idle',
    limitQuestion: null,
    last: { reason: 'completed' },
    limits: { maxTurns: 4 },
  })
  const types = events.map(({ type }) => type)
  expect(types.filter((type) => type.startsWith('limit_') || type.startsWith('run_'))).toEqual([
    'run_start',
    'limit_question',
    'limit_question_closed',
    'run_end',
  ])
  expect(events.find(({ type }) => type === 'limit_question_closed')).toMatchObject({ id, because: 'answered' })
})

test('rejects an invalid answer, and ends under the limit when the answer is to end', async () => {
  const { session, id } = await paused()
  expect(() => session.answerLimit(id, { raise: { maxTurns: 2 } })).toThrow(ConfigurationError)
  expect(() => session.answerLimit(id, 'no' as never)).toThrow(ConfigurationError)
  expect(session.answerLimit('another', { end: true })).toBe(false)
  expect(session.snapshot.limitQuestion?.id).toBe(id)
  expect(session.answerLimit(id, { end: true })).toBe(true)
  expect(session.answerLimit(id, { end: true })).toBe(false)
  await session.settled()
  expect(session.snapshot).toMatchObject({ limitQuestion: null, last: { reason: 'max_turns' } })
})

test('withdraws the question when the limit is set, and when the run is interrupted', async () => {
  const first = await paused()
  first.session.set({ limits: { maxTurns: 9 } })
  await first.session.settled()
  expect(first.session.snapshot.last?.reason).toBe('completed')
  expect(first.events.find(({ type }) => type === 'limit_question_closed')).toMatchObject({ because: 'withdrawn' })
  const second = await paused()
  second.session.interrupt()
  await second.session.settled()
  expect(second.session.snapshot).toMatchObject({ limitQuestion: null, last: { reason: 'aborted_streaming' } })
})

test('keeps a message in the queue during the pause', async () => {
  const { session, id } = await paused()
  session.prompt('And the tests.')
  expect(session.snapshot.queue).toHaveLength(1)
  session.answerLimit(id, { raise: { maxTurns: null } })
  await session.settled()
  expect(session.snapshot).toMatchObject({ queue: [], last: { reason: 'completed' } })
})
