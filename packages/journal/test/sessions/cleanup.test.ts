// Tests R-SESS-11 of docs/spec: cleanup removes sessions that nobody has used for long, and nothing else.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cleanUpSessions, isCleanUpDue } from '../../src/sessions/cleanup.ts'
import { openJournal } from '../../src/open-journal.ts'

let home: string
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'halting-cleanup-'))))
afterEach(() => rmSync(home, { recursive: true, force: true }))

const now = new Date('2026-06-01T12:00:00Z')
const days = (count: number): Date => new Date(now.getTime() - count * 86_400_000)
const place = () => ({ cwd: '/project', home, env: {} })
const base = (): string => join(home, '.halting/projects')
const clean = (count = 30): ReturnType<typeof cleanUpSessions> => cleanUpSessions(place(), { days: count, now })

/** Sets the time of a file or folder. Call it for the contents before their folder. */
function touch(path: string, at: Date): void {
  utimesSync(path, at, at)
}

async function session(id: string, at: Date, project = '-project'): Promise<string> {
  const path = join(base(), project, `${id}.jsonl`)
  const journal = await openJournal({ path, sessionId: id, cwd: '/project', version: '0.1.0' })
  await journal.close()
  const folder = path.slice(0, -6)
  for (const part of ['payloads', 'tool-results', 'files']) {
    mkdirSync(join(folder, part), { recursive: true })
    writeFileSync(join(folder, part, 'a'), 'x')
    touch(join(folder, part), at)
  }
  writeFileSync(join(folder, 'answers.json'), '{}')
  for (const each of [join(folder, 'answers.json'), join(folder, 'files/a'), folder, path]) touch(each, at)
  return path
}

test('removes unused sessions with all their files, and preserves used ones', async () => {
  const old = await session('old', days(31))
  const young = await session('young', days(29))
  const answered = await session('answered', days(40))
  touch(join(answered.slice(0, -6), 'answers.json'), days(1))
  const elsewhere = await session('far', days(400), '-elsewhere')
  expect(await clean()).toEqual({ sessions: 2 })
  expect([old, old.slice(0, -6), elsewhere].filter((path) => existsSync(path))).toEqual([])
  expect([young, answered, join(young.slice(0, -6), 'files/a')].filter((path) => !existsSync(path))).toEqual([])
  expect(readdirSync(dirname(young)).toSorted()).toEqual(['answered', 'answered.jsonl', 'young', 'young.jsonl'])
})

test('preserves a session that a process is writing', async () => {
  const path = await session('held', days(100))
  const journal = await openJournal({ path, sessionId: 'held', cwd: '/project', version: '0.1.0' })
  touch(path, days(100))
  expect(await clean()).toEqual({ sessions: 0 })
  await journal.close()
  touch(path, days(100))
  touch(path.slice(0, -6), days(100))
  expect(await clean()).toEqual({ sessions: 1 })
})

test('follows no link, and preserves unknown files', async () => {
  const outside = join(home, 'outside')
  mkdirSync(join(outside, 'tool-results'), { recursive: true })
  writeFileSync(join(outside, 'mine.jsonl'), '{"type":"halting","format":1}')
  mkdirSync(join(base(), '-project/strange'), { recursive: true })
  symlinkSync(outside, join(base(), '-linked'))
  symlinkSync(outside, join(base(), '-project/linked'))
  symlinkSync(join(outside, 'mine.jsonl'), join(base(), '-project/linked.jsonl'))
  writeFileSync(join(base(), '-project/other.jsonl'), '{"type":"user"}\n')
  writeFileSync(join(base(), '-project/notes.txt'), 'x')
  writeFileSync(join(base(), '-project/strange/mine.txt'), 'x')
  for (const path of ['outside/mine.jsonl', 'outside/tool-results', 'outside']) touch(join(home, path), days(500))
  for (const path of ['other.jsonl', 'notes.txt', 'strange/mine.txt', 'strange'])
    touch(join(base(), '-project', path), days(500))
  expect(await clean(1)).toEqual({ sessions: 0 })
  expect(readdirSync(join(base(), '-project')).toSorted()).toEqual([
    'linked',
    'linked.jsonl',
    'notes.txt',
    'other.jsonl',
    'strange',
  ])
  expect(readdirSync(outside).toSorted()).toEqual(['mine.jsonl', 'tool-results'])
})

test('removes folders without a session, and drafts of dead writers', async () => {
  const path = await session('kept', days(1))
  const folder = path.slice(0, -6)
  const drafts = [`${path}.part`, join(folder, 'payloads/b.part'), join(folder, 'tool-results/c.part')]
  for (const draft of drafts) writeFileSync(draft, 'half')
  writeFileSync(join(folder, 'payloads/new.part'), 'half')
  for (const draft of drafts) touch(draft, days(0.5))
  touch(join(folder, 'payloads/new.part'), now)
  const left = join(base(), '-project/gone')
  mkdirSync(join(left, 'tool-results'), { recursive: true })
  touch(join(left, 'tool-results'), days(50))
  touch(left, days(50))
  await clean()
  expect([...drafts, left].filter((each) => existsSync(each))).toEqual([])
  expect(existsSync(join(folder, 'payloads/new.part'))).toBe(true)
})

test('is due once a day, and never without sessions', async () => {
  expect(await isCleanUpDue(place(), now)).toBe(false)
  await session('any', now)
  expect(await isCleanUpDue(place(), now)).toBe(true)
  await clean()
  const later = (hours: number): Date => new Date(now.getTime() + hours * 3_600_000)
  expect(await isCleanUpDue(place(), later(23))).toBe(false)
  expect(await isCleanUpDue(place(), later(24))).toBe(true)
})

test('removes file checkpoints with their session, also without its file, and their drafts separately', async () => {
  const folder = join(base(), '-project', 'gone')
  mkdirSync(join(folder, 'files/contents'), { recursive: true })
  writeFileSync(join(folder, 'files/contents/a'), 'x')
  for (const each of ['files/contents', 'files', '']) touch(join(folder, each), days(31))
  const kept = await session('kept', days(1))
  const draft = join(kept.slice(0, -6), 'files/contents/b.part')
  const waiting = join(kept.slice(0, -6), 'files/waiting')
  mkdirSync(dirname(draft), { recursive: true })
  for (const each of [draft, waiting]) {
    writeFileSync(each, 'x')
    touch(each, days(1))
  }
  await clean()
  expect([folder, draft, waiting].filter((path) => existsSync(path))).toEqual([])
})

test('preserves a session after an undo, which can then be reverted', async () => {
  const old = await session('old', days(31))
  const log = join(old.slice(0, -6), 'files/changes.jsonl')
  writeFileSync(log, 'x')
  touch(log, days(1))
  for (const each of [dirname(log), old.slice(0, -6)]) touch(each, days(31))
  expect(await clean()).toEqual({ sessions: 0 })
  expect(existsSync(log)).toBe(true)
})

test('ignores a file without an id, and preserves its folder', async () => {
  const file = await session('-project', days(400), '')
  const notes = join(file.slice(0, -6), 'notes.txt')
  for (const each of [notes, join(file.slice(0, -6), '.jsonl')]) {
    writeFileSync(each, '')
    touch(each, days(400))
  }
  touch(dirname(notes), days(400))
  await clean()
  expect(existsSync(notes)).toBe(true)
})

test('removes no session when the clock jumps ahead', async () => {
  const path = await session('any', days(1))
  await clean()
  const cleanAt = (at: Date): ReturnType<typeof cleanUpSessions> => cleanUpSessions(place(), { days: 30, now: at })
  const far = new Date('2099-01-01T00:00:00Z')
  expect(await cleanAt(far)).toEqual({ sessions: 0 })
  // Once the clock is right again, cleanup continues as before.
  expect(await isCleanUpDue(place(), now)).toBe(true)
  expect(await clean()).toEqual({ sessions: 0 })
  expect(existsSync(path)).toBe(true)
  // After a person's absence, old sessions go at the next cleanup, however late it is.
  expect([await cleanAt(days(-40)), await cleanAt(days(-80))]).toEqual([{ sessions: 0 }, { sessions: 1 }])
  expect(readdirSync(base()).toSorted()).toEqual(['-project', '.last-cleanup'])
})
