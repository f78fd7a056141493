// Holds rules of docs/spec: R-PAUSE-11, R-PAUSE-12.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject, LimitAnswer, LimitRequest } from '@halting/core'
import { checkedLimitAnswer } from '@halting/core/adapters'
import type { SessionEvent } from '@halting/core/session'
import { expect, test, vi } from 'vitest'
import { answerLimitsByHost } from '../../src/host/limit-questions.ts'
import { endHosts, host, isResult, user } from '../support/host.ts'
import { call, installProgram, run } from '../support/program.ts'
import { fakeHost } from './support/fake-host.ts'

installProgram()
endHosts()

const request: LimitRequest = {
  id: 'run1/limit_answer:2:maxTurns:1',
  limit: 'maxTurns',
  used: 2,
  of: 2,
  most: null,
  offers: [{ to: 3 }, { to: 4 }],
  message: 'Reached maximum number of turns (2)',
  sinceMs: 0,
  untilMs: 60_000,
}

/** A fake session: it asks what the test wants, and records the answers. */
function followLimitQuestions(open: LimitRequest | null = null) {
  const listeners = new Set<(event: SessionEvent) => void>()
  const answers: LimitAnswer[] = []
  const emit = (event: SessionEvent): void => {
    for (const listener of listeners) listener(event)
  }
  const session = {
    // The code reads only this.
    snapshot: { limitQuestion: open } as never,
    listen(listener: (event: SessionEvent) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    answerLimit: (_id: string, answer: LimitAnswer) => answers.push(checkedLimitAnswer(request, answer)) > 0,
  }
  return { answers, session, emit }
}

const nextTick = () => new Promise((resolve) => setTimeout(resolve, 20))

test('asks the question at a limit with its figures, and passes the answer to the session', async () => {
  const { session, emit, answers } = followLimitQuestions()
  const other = fakeHost()
  answerLimitsByHost(session, other.control)
  emit({ type: 'limit_question', request })
  emit({ type: 'limit_question', request })
  expect(other.sentRequests()).toEqual([
    {
      subtype: 'limit_reached',
      limit: 'maxTurns',
      used: 2,
      of: 2,
      most: null,
      offers: [3, 4],
      message: 'Reached maximum number of turns (2)',
      since: '1970-01-01T00:00:00.000Z',
      until: '1970-01-01T00:01:00.000Z',
    },
  ])
  other.answer(0, { raise_to: 4 })
  await nextTick()
  expect(answers).toEqual([{ raise: { maxTurns: 4 } }])
})

test.each<[what: string, reply: (request: JsonObject) => JsonObject]>([
  ['a limit that is used up already', () => ({ raise_to: 2 })],
  ['nothing', () => ({})],
  ['both', () => ({ raise_to: 9, end: true })],
])('a host that answers %s is asked again with the reason, three times, and the run ends', async (_what, reply) => {
  const { session, emit, answers } = followLimitQuestions()
  const other = fakeHost(reply)
  answerLimitsByHost(session, other.control)
  emit({ type: 'limit_question', request })
  await vi.waitFor(() => expect(answers).toEqual([{ end: true }]))
  expect(other.sentRequests().map(({ problem }) => typeof problem)).toEqual(['undefined', 'string', 'string'])
})

test('a host that answers with an error ends the run, and a closed question is cancelled', async () => {
  const first = followLimitQuestions(request)
  const refusing = fakeHost()
  answerLimitsByHost(first.session, refusing.control)
  refusing.refuse(0, 'Unsupported control request subtype: limit_reached')
  await nextTick()
  expect(first.answers).toEqual([{ end: true }])
  const second = followLimitQuestions(request)
  const slow = fakeHost()
  answerLimitsByHost(second.session, slow.control)
  second.emit({ type: 'limit_question_closed', id: request.id, because: 'withdrawn' })
  await nextTick()
  expect([slow.cancelled(), second.answers]).toEqual([slow.ids(), []])
})

const cwd = mkdtempSync(join(tmpdir(), 'halting-pause-'))
writeFileSync(join(cwd, 'a.txt'), 'line\n')
const reads = (count: number): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => ({
    content: [call('Read', { file_path: 'a.txt', offset: 1, limit: index + 1 })],
  }))
const pausing = { args: ['--max-turns', '2', '--on-limit', 'pause', '--allowedTools=Read'], cwd }

test('the program pauses, and continues the same run when its host raises the limit', async () => {
  const one = await host([...reads(3), { content: 'Done.' }], pausing)
  one.send(user('read'))
  const asked = await one.next(({ type }) => type === 'control_request')
  expect(asked).toMatchObject({
    request: { subtype: 'limit_reached', limit: 'maxTurns', used: 2, of: 2, offers: [3, 4] },
  })
  one.send({
    type: 'control_response',
    response: { subtype: 'success', request_id: asked['request_id'], response: { raise_to: 4 } },
  })
  expect(await one.next(isResult)).toMatchObject({ subtype: 'success', num_turns: 4, result: 'Done.' })
  expect((await one.end()).status).toBe(0)
})

test('a host that does not support the question receives the ending of the limit', async () => {
  const one = await host([...reads(3), { content: 'Done.' }], pausing)
  one.send(user('read'))
  const { request_id: id } = await one.next(({ type }) => type === 'control_request')
  one.send({ type: 'control_response', response: { subtype: 'error', request_id: id, error: 'Unsupported' } })
  expect(await one.next(isResult)).toMatchObject({ subtype: 'error_max_turns', num_turns: 2 })
})

test('halting -p alone cannot raise a limit: that is a usage error', async () => {
  const { status, stderr } = await run(['-p', 'hi', '--on-limit', 'pause'])
  expect(status).toBe(2)
  expect(stderr).toContain('--on-limit pause works only ')
})
