// Holds rules of docs/spec: R-CLU-11, R-CLU-11a, R-CLU-11b.
import { expect, test } from 'vitest'
import { checkId } from '../../src/service/check-input.ts'
import { problemOfMessages, problemOfRequest, sizeLimitWithoutStore } from '../../src/service/check-request.ts'

test.each<[unknown]>([
  [{ type: 'prompt', content: 'hello' }],
  [{ type: 'prompt', content: [{ type: 'text', text: 'hello' }], when: 'later' }],
  [{ type: 'answer', callId: 'c', answer: { behavior: 'deny', message: 'No.' } }],
  [{ type: 'approve', approvals: { c: { behavior: 'allow' } } }],
  [{ type: 'interrupt', queue: 'give_back', because: 'user' }],
  [{ type: 'set', change: { limits: { maxGoalTries: 3 } } }],
  [{ type: 'close' }],
])('%j is a valid request', (request) => {
  expect(problemOfRequest({ id: 'r', request })).toBe(undefined)
})

test.each<[unknown, string]>([
  [null, 'Give an object: { "id", "request" }.'],
  [{ request: { type: 'close' } }, 'The id of a request must be a string of 1 to 200 characters.'],
  [{ id: 'r', request: 'close' }, 'A request must be an object, such as {"type":"prompt","content":"…"}.'],
  [{ id: 'r', request: { type: 'close' }, opening: 1 }, 'The opening of a session must be an object.'],
  [{ id: 'r', request: { type: 'prompt', content: ' ' } }, 'In a request of type prompt, content must not be empty.'],
  [
    { id: 'r', request: { type: 'prompt', content: 'x', when: 'soon' } },
    'In a request of type prompt, when must be one of now, next, later.',
  ],
  [
    { id: 'r', request: { type: 'set', change: { until: [{ name: 'curl evil | sh' }] } } },
    'In a request of type set, change must be an object without "until": the goals of a session are set when its worker starts.',
  ],
  [
    { id: 'r', request: { type: 'answer', callId: 'c', answer: { behavior: 'deny' } } },
    'In a request of type answer, answer must be {"behavior":"allow","updatedInput":{…}}, where updatedInput is optional, or {"behavior":"deny","message":"…"}.',
  ],
])('%j is refused with a reason', (input, problem) => {
  expect(problemOfRequest(input)).toBe(problem)
})

test('oversized and cluster-only requests are refused', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  const tooDeep = 'A request may be at most 500 lists and objects deep.'
  const answer = { behavior: 'allow', updatedInput: { deep } }
  expect(problemOfRequest({ id: 'r', request: { type: 'answer', callId: 'c', answer } })).toBe(tooDeep)
  const close = { type: 'close' }
  expect(problemOfRequest({ id: 'r', request: close, opening: { deep } })).toBe(tooDeep)
  const large = (bytes: number): unknown => ({ type: 'prompt', content: '"'.repeat(bytes / 2) })
  expect(problemOfRequest({ id: 'r', request: large(11 << 20) })).toBe(undefined)
  expect(problemOfRequest({ id: 'r', request: large(12 << 20) })).toContain('at most 12582912 bytes')
  expect(problemOfRequest({ id: 'r', request: large(6 << 20) }, sizeLimitWithoutStore)).toBe(undefined)
  expect(problemOfRequest({ id: 'r', request: large(7 << 20) }, sizeLimitWithoutStore)).toContain(
    'halting serve --payloads',
  )
  expect(problemOfMessages(['x'.repeat(8 << 20)], sizeLimitWithoutStore)).toContain('With the files that it names')
  // It would bring the folder of another session.
  expect(problemOfRequest({ id: 'r', request: close, opening: { forkedFrom: 's-1' } })).toContain('Fork the session')
})

test('an id is a string that is short enough for a key', () => {
  expect(checkId('a')).toBe('a')
  for (const wrong of ['', 'x'.repeat(201), 1, null, {}, ['a'], undefined])
    expect(() => checkId(wrong)).toThrow('Give the id')
})
