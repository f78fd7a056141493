// Holds rules of docs/spec: R-PAUSE-1, R-PAUSE-5, R-PAUSE-7a, R-PAUSE-10.
import { expect, test } from 'vitest'
import { ConfigurationError } from '../../src/index.ts'
import { calls, reader } from '../support/harness.ts'
import { sessionOf } from './support.ts'

async function paused() {
  const replies = [calls('Look'), calls('Look'), calls('Look'), 'Done.']
  const { session, told } = sessionOf(replies, { tools: [reader('Look')], maxTurns: 2, onLimit: 'pause' })
  session.prompt('go')
  await new Promise<void>((resolve) => session.listen(({ type }) => type === 'limit_question' && resolve()))
  return { session, told, id: session.snapshot.limitQuestion?.id ?? '' }
}

test('shows the question at a limit, and goes on in the same run when it is raised', async () => {
  const { session, told, id } = await paused()
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
  const events = told.map(({ type }) => type)
  expect(events.filter((type) => type.startsWith('limit_') || type.startsWith('run_'))).toEqual([
    'run_start',
    'limit_question',
    'limit_question_closed',
    'run_end',
  ])
  expect(told.find(({ type }) => type === 'limit_question_closed')).toMatchObject({ id, because: 'answered' })
})

test('refuses what is no answer, and ends as the limit says where the answer is to end', async () => {
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

test('withdraws the question where the limit is set, and where the run is interrupted', async () => {
  const first = await paused()
  first.session.set({ limits: { maxTurns: 9 } })
  await first.session.settled()
  expect(first.session.snapshot.last?.reason).toBe('completed')
  expect(first.told.find(({ type }) => type === 'limit_question_closed')).toMatchObject({ because: 'withdrawn' })
  const second = await paused()
  second.session.interrupt()
  await second.session.settled()
  expect(second.session.snapshot).toMatchObject({ limitQuestion: null, last: { reason: 'aborted_streaming' } })
})

test('keeps a message in the queue while it pauses', async () => {
  const { session, id } = await paused()
  session.prompt('And the tests.')
  expect(session.snapshot.queue).toHaveLength(1)
  session.answerLimit(id, { raise: { maxTurns: null } })
  await session.settled()
  expect(session.snapshot).toMatchObject({ queue: [], last: { reason: 'completed' } })
})
