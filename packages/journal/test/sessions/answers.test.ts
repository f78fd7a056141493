// Tests R-SESS-7a of docs/spec: an answer belongs to one call of one run, and nothing else is an answer.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noteAnswer, readAnswers } from '../../src/sessions/answers.ts'
import { sessionFolder } from '../../src/sessions/session-folder.ts'
import { expect, test } from 'vitest'

const allow = { behavior: 'allow' } as const

async function placeWithAnswers() {
  const home = mkdtempSync(join(tmpdir(), 'halting-answers-'))
  const place = { cwd: '/work', home, env: {}, sessionId: 's' }
  await noteAnswer(place, 'run1', 'a', allow)
  const { base, parts } = sessionFolder(place)
  return { place, file: join(base, ...parts, 'answers.json') }
}

test.each(['constructor', 'toString', '__proto__'])('finds no answer to a call with the id %s', async (id) => {
  const { place } = await placeWithAnswers()
  expect((await readAnswers(place, 'run1'))[id]).toBeUndefined()
  expect((await readAnswers(place, 'run2'))[id]).toBeUndefined()
  const noted = await noteAnswer(place, 'run1', id, allow)
  expect([noted[id], noted['a']]).toEqual([allow, allow])
  expect((await readAnswers(place, 'run1'))[id]).toEqual(allow)
})

test.each([
  ['null', null],
  ['a list', [allow]],
  ['texts', { a: 'allow' }],
  ['nothing', { a: null }],
  ['other behaviors', { a: { behavior: 'always' } }],
])('reads no answers from a damaged file with %s', async (_what, answers) => {
  const { place, file } = await placeWithAnswers()
  writeFileSync(file, JSON.stringify({ run: 'run1', answers }))
  expect(await readAnswers(place, 'run1')).toEqual({})
})
