// Tests R-SESS-8 and R-SESS-10 of docs/spec: files among the sessions that are not sessions.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteSession, storedSessions } from '../../src/sessions/stored-sessions.ts'

let home: string
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'halting-kept-'))))
afterEach(() => rmSync(home, { recursive: true, force: true }))

const project = (): string => join(home, '.halting/projects/-project')
const ids = async (): Promise<readonly string[]> =>
  (await storedSessions({ cwd: '/project', home, env: {} }, 'all')).map(({ sessionId }) => sessionId)

test('skips a session that disappears during listing, and a file without an id', async () => {
  mkdirSync(project(), { recursive: true })
  writeFileSync(join(project(), 'one.jsonl'), '')
  // Like a file that another process removes between the two system calls.
  symlinkSync(join(home, 'gone'), join(project(), 'gone.jsonl'))
  writeFileSync(join(project(), '.jsonl'), '')
  expect(await ids()).toEqual(['one'])
})

test('removes a link that replaces a session folder, but not its target', async () => {
  mkdirSync(project(), { recursive: true })
  mkdirSync(join(home, 'mine'))
  writeFileSync(join(home, 'mine/notes.txt'), '')
  writeFileSync(join(project(), 'one.jsonl'), '')
  symlinkSync(join(home, 'mine'), join(project(), 'one'))
  const [one] = await storedSessions({ cwd: '/project', home, env: {} }, 'all')
  if (one === undefined) throw new Error('it is there')
  await deleteSession(one)
  expect([existsSync(one.path), existsSync(join(home, 'mine/notes.txt'))]).toEqual([false, true])
})
