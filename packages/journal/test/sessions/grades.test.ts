// Tests R-GRADE-1, R-GRADE-2 and R-GRADE-3 of docs/spec: grades are stored, survive kills, and are removed with their
// session.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJournal } from '../../src/open-journal.ts'
import { cleanUpSessions } from '../../src/sessions/cleanup.ts'
import { gradesFile, noteGrade, readGrades, type NewGrade } from '../../src/sessions/grades.ts'
import { sessionFile } from '../../src/sessions/session-folder.ts'
import { deleteSession, storedSessions } from '../../src/sessions/stored-sessions.ts'

let home: string
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'halting-grades-'))))
afterEach(() => rmSync(home, { recursive: true, force: true }))

const owner = () => ({ cwd: '/project', home, env: {} })
const file = (): string => gradesFile(owner())
const storedGrades = () =>
  readGrades(owner()).all.map(({ sessionId, runId, grade }) => `${sessionId} ${runId} ${grade}`)
const note = (sessionId: string, runId: string, grade: NewGrade['grade']): Promise<void> =>
  noteGrade(owner(), { sessionId, runId, grade })

test('stores the last grade of each run, private to the user', async () => {
  expect(storedGrades()).toEqual([])
  await note('a', 'run1', 'good')
  await note('a', 'run2', 'bad')
  await note('b', 'run1', 'good')
  await note('a', 'run1', 'bad')
  await note('a', 'run2', 'none')
  expect(storedGrades()).toEqual(['b run1 good', 'a run1 bad'])
  expect(readGrades(owner()).of('a', 'run1')?.grade).toBe('bad')
  expect(readGrades(owner()).of('a', 'run2')).toBeUndefined()
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(file()))).toEqual(['grades.jsonl'])
})

test('returns the last grade of each run, for any grades in any order', async () => {
  const grade = fc.record({
    sessionId: fc.constantFrom('a', 'b', '"', 'ä\n', '__proto__'),
    runId: fc.constantFrom('run1', 'run2', 'run1-x'),
    grade: fc.constantFrom('good', 'bad', 'none'),
  }) as fc.Arbitrary<NewGrade>
  await fc.assert(
    fc.asyncProperty(fc.array(grade, { maxLength: 8 }), async (grades) => {
      rmSync(file(), { force: true })
      for (const each of grades) await noteGrade(owner(), each)
      const last = new Map(grades.map((each) => [`${each.sessionId} ${each.runId}`, each.grade]))
      for (const [key, expected] of last) if (expected === 'none') last.delete(key)
      expect(storedGrades().toSorted()).toEqual([...last].map(([key, of]) => `${key} ${of}`).toSorted())
    }),
    { numRuns: 25 },
  )
})

test('loses only the line of a process that was killed at any byte of it, and appends the next one', async () => {
  await note('a', 'run1', 'good')
  const before = readFileSync(file())
  await note('ä', 'run1', 'bad')
  const whole = readFileSync(file())
  for (let bytes = before.length; bytes <= whole.length; bytes++) {
    writeFileSync(file(), whole.subarray(0, bytes), { mode: 0o600 })
    // A line without its line break is complete.
    const expected = ['a run1 good', ...(bytes >= whole.length - 1 ? ['ä run1 bad'] : [])]
    expect(storedGrades(), `${bytes} bytes`).toEqual(expected)
    await note('c', 'run1', 'good')
    expect(storedGrades(), `${bytes} bytes`).toEqual([...expected, 'c run1 good'])
  }
})

test.each([
  [
    'text of another program',
    () => writeFileSync(file(), '{"grade":"good"}\n', { mode: 0o600 }),
    /line 1: not a grade/,
  ],
  ['no JSON', () => writeFileSync(file(), '\nhello\n', { mode: 0o600 }), /line 2: not a grade/],
  ['a folder', () => mkdirSync(file()), /not a regular file/],
  ['a link', () => symlinkSync(join(home, 'elsewhere'), file()), /is a link/],
  ['a link that leads somewhere', () => linkTo(join(home, 'there')), /is a link/],
  ['a file that others may write', () => writeFileSync(file(), ''), /can be written by other users/],
])('rejects %s in place of the file, and leaves it unchanged', async (_, put, says) => {
  mkdirSync(dirname(file()), { recursive: true })
  put()
  if (existsSync(file()) && statSync(file()).isFile() && says.source.includes('users')) chmodSync(file(), 0o666)
  const before = existsSync(file()) && statSync(file()).isFile() ? readFileSync(file(), 'utf8') : ''
  expect(() => readGrades(owner())).toThrow(says)
  await expect(note('a', 'run1', 'good')).rejects.toThrow(says)
  expect(existsSync(join(home, 'elsewhere'))).toBe(false)
  expect(existsSync(file()) && statSync(file()).isFile() ? readFileSync(file(), 'utf8') : '').toBe(before)
})

function linkTo(path: string): void {
  writeFileSync(path, '')
  symlinkSync(path, file())
}

test('rejects an invalid id', async () => {
  await expect(note('', 'run1', 'good')).rejects.toThrow(/sessionId of a grade/)
  await expect(note('a', 'x'.repeat(1_001), 'good')).rejects.toThrow(/runId of a grade/)
})

test('rewrites a large file without replaced lines', async () => {
  await note('a', 'run1', 'good')
  const line = readFileSync(file(), 'utf8')
  writeFileSync(file(), line.repeat(Math.ceil((1024 * 1024) / line.length) + 1), { mode: 0o600 })
  await note('b', 'run1', 'bad')
  expect(storedGrades()).toEqual(['a run1 good', 'b run1 bad'])
  expect(statSync(file()).size).toBeLessThan(1_000)
  expect(statSync(file()).mode & 0o777).toBe(0o600)
})

const opened = async (sessionId: string): Promise<string> => {
  const path = sessionFile({ ...owner(), sessionId })
  await (await openJournal({ path, sessionId, cwd: '/project', version: '0.1.0' })).close()
  return path
}

test('removes only the grades of a deleted session', async () => {
  for (const id of ['a', 'odd id/é']) await opened(id)
  await note('a', 'run1', 'good')
  await note('odd id/é', 'run1', 'bad')
  await note('b', 'run1', 'good')
  for (const stored of await storedSessions(owner(), 'all')) await deleteSession(stored)
  expect(storedGrades()).toEqual(['b run1 good'])
  expect(readFileSync(file(), 'utf8')).not.toContain('odd')
})

test.each(['projects/-elsewhere', 'stores/80a37954c3ab/projects/-project'])(
  'preserves the grades of a session while %s has a copy of it',
  async (folder) => {
    const path = await opened('a')
    const copy = join(dirname(file()), folder, basename(path))
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(path, copy)
    await note('a', 'run1', 'good')
    const stored = { path, sessionId: 'a', project: '-project', changedAt: new Date() }
    await deleteSession(stored)
    expect(storedGrades()).toEqual(['a run1 good'])
    renameSync(copy, path)
    await deleteSession(stored)
    expect(storedGrades()).toEqual([])
  },
)

test('deletes a session even if its grades cannot be removed, and reports that', async () => {
  await opened('a')
  writeFileSync(file(), 'hello\n', { mode: 0o600 })
  const [stored] = (await storedSessions(owner(), 'all')).map(deleteSession)
  await expect(stored).rejects.toThrow(/a is deleted, and its grades are not: .*line 1/)
  expect(await storedSessions(owner(), 'all')).toEqual([])
})

test('removes the grades of old sessions with those', async () => {
  const [old] = [await opened('old'), await opened('young')]
  const long = new Date(Date.now() - 40 * 86_400_000)
  utimesSync(old, long, long)
  await note('old', 'run1', 'good')
  await note('young', 'run1', 'good')
  expect(await cleanUpSessions(owner(), { days: 30 })).toEqual({ sessions: 1 })
  expect(storedGrades()).toEqual(['young run1 good'])
})

test('preserves the grades of a session while another folder has its file', async () => {
  const old = await opened('moved')
  const moved = join(dirname(dirname(old)), '-elsewhere', basename(old))
  mkdirSync(dirname(moved), { recursive: true })
  copyFileSync(old, moved)
  const long = new Date(Date.now() - 40 * 86_400_000)
  utimesSync(old, long, long)
  await note('moved', 'run1', 'good')
  expect(await cleanUpSessions(owner(), { days: 30 })).toEqual({ sessions: 1 })
  expect(storedGrades()).toEqual(['moved run1 good'])
})
