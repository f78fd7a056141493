// Holds rules of docs/spec.md: R-CLU-4: status says why a session does not go on.
import { expect, test } from 'vitest'
import { stalledOf } from '../src/service/stalled.ts'

const id = 'inv_1'
const mismatch = '- Difference:\n   name: records of format 3 != records of format 1'
const told =
  'This session was written in format 3 by another version; this worker reads 2. A worker of that version can go on with it.'
const resume = ' Then resume it: restate invocations resume inv_1.'

test('a session of a later format says so, however the engine tells it, and whether somebody has to resume it', () => {
  const again = { kind: 'format', invocation: id, needsResume: false, message: told }
  expect(stalledOf({ id, status: 'backing-off', failure: mismatch })).toEqual(again)
  expect(stalledOf({ id, status: 'backing-off', failure: `${told}\n    at somewhere` })).toEqual(again)
  const paused = { kind: 'format', invocation: id, needsResume: true, message: `${told}${resume}` }
  expect(stalledOf({ id, status: 'paused', failure: mismatch })).toEqual(paused)
})

test('another one that the engine paused says what the engine said', () => {
  expect(stalledOf({ id, status: 'paused', failure: 'no disk' })).toEqual({
    kind: 'paused',
    invocation: id,
    needsResume: true,
    message: `The engine has paused it: no disk Mend what is wrong.${resume}`,
  })
  expect(stalledOf({ id, status: 'paused', failure: null })?.message).toContain('somebody asked for that')
})

test('one that is tried again is none', () => {
  expect(stalledOf({ id, status: 'backing-off', failure: 'Connection refused' })).toBeUndefined()
})
