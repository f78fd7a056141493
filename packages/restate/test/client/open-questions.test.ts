// Holds rules of docs/spec: R-PAUSE-15.
import type { LimitRequest } from '@halting/core'
import type { SessionEvent } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { LimitQuestions } from '../../src/client/open-questions.ts'
import { statusAfter, type SessionStatus } from '../../src/service/status.ts'

const request: LimitRequest = {
  id: 'run1/limit_answer:2:maxTurns:1',
  limit: 'maxTurns',
  used: 2,
  of: 2,
  most: null,
  offers: [{ to: 3 }, { to: 4 }],
  message: 'Reached maximum number of turns (2)',
  sinceMs: 0,
  untilMs: null,
}

test('a question at a limit is emitted and closed once, even if the next worker asks it again', () => {
  const events: SessionEvent[] = []
  const asked = new LimitQuestions((event) => void events.push(event))
  asked.ask(request)
  asked.ask({ ...request })
  expect(asked.visible(null)).toEqual(request)
  asked.close('answered')
  asked.close('withdrawn')
  asked.ask(request)
  expect(asked.visible(request)).toBeNull()
  expect(events.map(({ type }) => type)).toEqual(['limit_question', 'limit_question_closed'])
  // Another run may reuse the id.
  asked.end()
  asked.ask(request)
  expect(events).toHaveLength(3)
})

test('the status reports the limit question from the question to its answer', () => {
  const before: SessionStatus = { state: 'running', turns: 2, usd: 0, tokens: 0, questions: [], records: 5 }
  const at = { at: 0, durationMs: 0, digest: null }
  const question = { type: 'result', key: 'run1/limit_question:2:maxTurns:1', value: request, ...at } as StepRecord
  const waits = statusAfter(before, [question, { type: 'intent', key: request.id, digest: null, intent: null, at: 0 }])
  expect(waits).toMatchObject({ state: 'requires_action', limitQuestion: request, questions: [], records: 7 })
  const value = { answer: { end: true } }
  const answered = statusAfter(waits, [{ type: 'result', key: request.id, value, ...at }])
  expect(answered).toMatchObject({ state: 'running', records: 8 })
  expect('limitQuestion' in answered).toBe(false)
})
