// Input of programs that store sessions themselves. Plain JavaScript has no compiler to check it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigurationError, QueryEngine, type SdkMessage } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { calibrateLimits, suggestLimits, whatIf } from '@halting/analysis'
import { forkSession } from '../src/sessions/fork-session.ts'
import { storedSessions } from '../src/sessions/stored-sessions.ts'
import { readJournal } from '../src/read-journal.ts'
import { openJournal, type JournalOptions } from '../src/open-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-given-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const place = (): JournalOptions => ({
  path: join(folder, 'a.jsonl'),
  sessionId: 'session-a',
  cwd: '/project',
  version: '0.1.0',
})

const refused: readonly (readonly [given: unknown, says: string])[] = [
  [undefined, 'openJournal must be given an object, such as { path, sessionId, cwd, version }, but it is undefined.'],
  [{ path: '' }, 'path must be a text that is not empty, but it is "".'],
  [{ sessionId: undefined }, 'sessionId must be a text that is not empty, but it is undefined.'],
  [{ sessionId: 3 }, 'sessionId must be a text that is not empty, but it is 3.'],
  [{ cwd: undefined }, 'cwd must be a text that is not empty, but it is undefined.'],
  [{ version: null }, 'version must be a text that is not empty, but it is null.'],
  [{ openFile: 'x' }, 'openFile must be a function, but it is "x".'],
]

test.each(refused)('rejects options that do not name a session: %j', async (given, says) => {
  const wrong = given === undefined ? undefined : { ...place(), ...given }
  // As plain JavaScript passes it.
  await expect(openJournal(wrong as JournalOptions)).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringContaining(says) as string,
  })
  expect(existsSync(place().path)).toBe(false)
})

test('requires a text for messages and files', async () => {
  const journal = await openJournal(place())
  for (const id of [undefined, null, 5])
    await expect(journal.rewind(id as never)).rejects.toMatchObject({ code: 'configuration' })
  await journal.close()
  for (const path of [undefined, null, 5])
    await expect(readJournal(path as never)).rejects.toMatchObject({ code: 'configuration' })
})

async function resultOf(engine: QueryEngine): Promise<SdkMessage | undefined> {
  let last: SdkMessage | undefined
  for await (const message of engine.submit('hi')) last = message
  return last
}

test('continues an engine only under the id of its session', async () => {
  const session = await openJournal(place())
  const model = scriptedModel(['hello'])
  expect(() => new QueryEngine({ model, session, sessionId: 'other' })).toThrow(
    'The session is session-a, and sessionId is "other". Leave sessionId out.',
  )
  expect(await resultOf(new QueryEngine({ model, session }))).toMatchObject({
    type: 'result',
    session_id: 'session-a',
  })
  await session.close()
})

type Any = (...given: readonly unknown[]) => unknown
const wrongCalls: readonly (readonly [says: string, call: Any, given: readonly unknown[]])[] = [
  [
    'The limits of whatIf must be an object, such as { maxTurns: 20 }, but it is undefined.',
    whatIf as Any,
    [{ turns: [] }],
  ],
  ['whatIf must be given first a trajectory', whatIf as Any, [undefined, {}]],
  ['suggestLimits must be given a list of trajectories', suggestLimits as Any, []],
  ['Trajectory 0 must be a trajectory', suggestLimits as Any, [[3]]],
  ['calibrateLimits must be given a list of graded runs', calibrateLimits as Any, []],
  ['The options of calibrateLimits must be an object, such as { mayLose: 0.02 }', calibrateLimits as Any, [[]]],
  ['mayLose of calibrateLimits must be a share above 0 and below 1', calibrateLimits as Any, [[], { mayLose: 2 }]],
  ['Graded run 0 must be an object with model', calibrateLimits as Any, [[3], { mayLose: 0.02 }]],
  [
    'use.tokens of graded run 0 must be a number of at least 0, but it is NaN',
    calibrateLimits as Any,
    [[{ use: { usd: null, tokens: NaN, activeMs: 0, turns: 0 } }], { mayLose: 0.02 }],
  ],
  ['The session to fork must be a text that is not empty', forkSession as Any, []],
  ['forkSession must be given an object, such as { path,', forkSession as Any, ['/x.jsonl']],
  ['storedSessions must be given an object, such as { cwd, home, env }', storedSessions as Any, []],
  ['home must be a text that is not empty', storedSessions as Any, [{ cwd: '/x' }, 'all']],
]

test.each(wrongCalls)('explains what to do after an invalid call: %s', async (says, call, given) => {
  const error = await Promise.resolve()
    .then(() => call(...given))
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigurationError)
  expect((error as Error).message).toContain(says)
})
