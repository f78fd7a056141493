// Tests R-SESS-8e to R-SESS-8g of docs/spec: cached list entries apply to exactly these files.
import {
  appendFileSync,
  chmodSync,
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
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cleanUpSessions } from '../../src/sessions/cleanup.ts'
import { fileState, SessionIndex } from '../../src/sessions/session-index.ts'
import { deleteSession } from '../../src/sessions/stored-sessions.ts'

let home: string
let base: string
const now = Date.now.bind(Date)
/** Moves the clock: a list is created this long after its files were written. */
const later = (ms: number) => vi.spyOn(Date, 'now').mockImplementation(() => now() + ms)

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'halting-index-'))
  base = join(home, '.halting', 'projects')
  later(10_000)
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(home, { recursive: true, force: true })
})

const fileOf = (name: string, project = 'p'): string => join(base, project, `${name}.jsonl`)
const indexFile = (project = 'p'): string => join(base, project, '.sessions-index')
const stateOf = (path: string): string => fileState(statSync(path))

function write(path: string, text = 'content'): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Caches an entry for each file, as a list does. */
function noted(...paths: readonly string[]): void {
  const index = new SessionIndex(base)
  for (const path of paths) index.note(path, stateOf(path), 'part', `of ${path}`)
  index.save()
}

const known = (path: string, part = 'part'): unknown => new SessionIndex(base).get(path, stateOf(path), part)

test('returns the stored data of a file, private to its owner', () => {
  const [one, two] = [write(fileOf('one')), write(fileOf('two'))]
  noted(one)
  expect([known(one), known(two), known(one, 'other')]).toEqual([`of ${one}`, undefined, undefined])
  expect(known(one, 'toString')).toBeUndefined()
  expect(statSync(indexFile()).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(one))).toEqual(['.sessions-index', 'one.jsonl', 'two.jsonl'])
})

test('returns nothing for a changed file, even with the same size and modification time', () => {
  const path = write(fileOf('one'), 'before')
  const moment = new Date('2026-01-01T00:00:00Z')
  utimesSync(path, moment, moment)
  noted(path)
  expect(known(path)).toBe(`of ${path}`)
  writeFileSync(path, 'behind')
  utimesSync(path, moment, moment)
  expect(known(path)).toBeUndefined()
  // The same bytes in a new file are another file.
  noted(path)
  expect(known(path)).toBe(`of ${path}`)
  renameSync(write(`${path}.new`, 'behind'), path)
  utimesSync(path, moment, moment)
  expect(known(path)).toBeUndefined()
})

test('stores nothing for a file that changed just now, in the future, or while it was read', () => {
  const path = write(fileOf('one'))
  later(0)
  noted(path)
  expect(existsSync(indexFile())).toBe(false)
  // The clock of the machine has since gone back.
  later(-60_000)
  noted(path)
  expect(existsSync(indexFile())).toBe(false)
  later(10_000)
  const before = stateOf(path)
  appendFileSync(path, 'more')
  const index = new SessionIndex(base)
  index.note(path, before, 'part', 1)
  index.save()
  expect(existsSync(indexFile())).toBe(false)
})

test('stores the state of a listed file as of then, and nothing if it had just changed', () => {
  const path = write(fileOf('one'))
  const stats = statSync(path)
  const noteListed = (asOf: number): void => {
    const index = new SessionIndex(base)
    index.noteListed(path, { stats, asOf }, 'part', 1)
    index.save()
  }
  // The list was created right after the change, and its files are read long after it.
  noteListed(Math.ceil(stats.mtimeMs) + 1_000)
  expect(existsSync(indexFile())).toBe(false)
  noteListed(Math.ceil(stats.mtimeMs) + 3_000)
  expect([known(path), new SessionIndex(base).getListed(path, { stats }, 'part')]).toEqual([1, 1])
  // A later change gives the file another state.
  appendFileSync(path, 'more')
  noteListed(Math.ceil(stats.mtimeMs) + 3_000)
  expect(known(path)).toBeUndefined()
})

test('distinguishes files of the same name in different folders, and writes nothing outside of the sessions', () => {
  const [own, other] = [write(fileOf('one')), write(fileOf('one', 'q'))]
  const elsewhere = write(join(home, 'elsewhere', 'one.jsonl'))
  noted(own, elsewhere)
  expect([known(own), known(other), known(elsewhere)]).toEqual([`of ${own}`, undefined, undefined])
  expect(readdirSync(dirname(elsewhere))).toEqual(['one.jsonl'])
  // In another folder, the index applies to the files there.
  writeFileSync(indexFile('q'), readFileSync(indexFile()))
  expect(known(other)).toBeUndefined()
})

test('loses nothing when two programs write concurrently, and merges both parts of a file', () => {
  const [one, two] = [write(fileOf('one')), write(fileOf('two'))]
  const [first, second] = [new SessionIndex(base), new SessionIndex(base)]
  first.get(one, stateOf(one), 'part')
  second.get(one, stateOf(one), 'part')
  first.note(one, stateOf(one), 'first', 1)
  second.note(one, stateOf(one), 'second', 2)
  second.note(two, stateOf(two), 'second', 3)
  first.save()
  second.save()
  expect([known(one, 'first'), known(one, 'second'), known(two, 'second')]).toEqual([1, 2, 3])
})

test('returns stored data or nothing for any damage, and is rewritten', () => {
  const path = write(fileOf('one'))
  noted(path)
  const whole = readFileSync(indexFile())
  const aChange = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255), length: fc.nat(whole.length) })
  fc.assert(
    fc.property(aChange, fc.boolean(), ({ at, byte, length }, isCut) => {
      const bytes = Buffer.from(whole)
      bytes[at] = byte
      writeFileSync(indexFile(), isCut ? bytes.subarray(0, length) : bytes)
      expect([`of ${path}`, undefined]).toContain(known(path))
    }),
    { numRuns: 100 },
  )
  writeFileSync(indexFile(), 'nonsense')
  noted(path)
  expect(readFileSync(indexFile())).toEqual(whole)
  writeFileSync(indexFile(), whole.toString().replace('"version":1', '"version":2'))
  expect(known(path)).toBeUndefined()
})

test('ignores an index that others can write', () => {
  const path = write(fileOf('one'))
  noted(path)
  chmodSync(indexFile(), 0o666)
  expect(known(path)).toBeUndefined()
  noted(path)
  expect([known(path), statSync(indexFile()).mode & 0o777]).toEqual([`of ${path}`, 0o600])
})

test.skipIf(process.platform === 'win32')('replaces a link instead of writing through it', () => {
  const path = write(fileOf('one'))
  const target = write(join(home, 'target'), 'mine')
  symlinkSync(target, indexFile())
  noted(path)
  expect([readFileSync(target, 'utf8'), known(path)]).toEqual(['mine', `of ${path}`])
})

test('fails silently without leaving files when it cannot be written', () => {
  const path = write(fileOf('one'))
  mkdirSync(indexFile())
  noted(path)
  expect(known(path)).toBeUndefined()
  expect(readdirSync(dirname(path))).toEqual(['.sessions-index', 'one.jsonl'])
})

test('removes deleted and old sessions', async () => {
  const [one, two] = [write(fileOf('one'), '{"type":"halting","format":1}\n'), write(fileOf('two'))]
  noted(one, two)
  await deleteSession({ sessionId: 'two', path: two, project: 'p', changedAt: new Date() })
  expect(readFileSync(indexFile(), 'utf8')).not.toContain(two)
  expect(known(one)).toBe(`of ${one}`)
  utimesSync(one, new Date(0), new Date(0))
  expect(await cleanUpSessions({ cwd: home, home, env: {} }, { days: 1, now: new Date() })).toEqual({ sessions: 1 })
  expect(readFileSync(indexFile(), 'utf8')).not.toContain(one)
})

test('deletes a session even if the index cannot be written', async () => {
  const [one, two] = [write(fileOf('one'), '{"type":"halting","format":1}\n'), write(fileOf('two'))]
  mkdirSync(join(indexFile(), 'full'), { recursive: true })
  await deleteSession({ sessionId: 'two', path: two, project: 'p', changedAt: new Date() })
  expect(existsSync(two)).toBe(false)
  utimesSync(one, new Date(0), new Date(0))
  expect(await cleanUpSessions({ cwd: home, home, env: {} }, { days: 1, now: new Date() })).toEqual({ sessions: 1 })
})

test('removes sessions that a store or somebody else has deleted, at a cleanup', async () => {
  const [one, two] = [write(fileOf('one')), write(fileOf('two'))]
  noted(one, two)
  rmSync(one)
  await cleanUpSessions({ cwd: home, home, env: {} }, { days: 1, now: new Date() })
  expect([readFileSync(indexFile(), 'utf8').includes(one), known(two)]).toEqual([false, `of ${two}`])
  rmSync(two)
  await cleanUpSessions({ cwd: home, home, env: {} }, { days: 1, now: new Date() })
  expect(readFileSync(indexFile(), 'utf8')).not.toContain(two)
})

test('removes missing files when it is written', () => {
  const [one, two] = [write(fileOf('one')), write(fileOf('two'))]
  noted(one, two)
  rmSync(one)
  noted(two)
  expect(readFileSync(indexFile(), 'utf8')).not.toContain(one)
})

test('is not rewritten for one of a hundred files', () => {
  const paths = Array.from({ length: 100 }, (_, index) => write(fileOf(`s${index}`)))
  noted(...paths)
  const before = readFileSync(indexFile())
  const [first = ''] = paths
  writeFileSync(first, 'other')
  noted(first)
  expect(readFileSync(indexFile())).toEqual(before)
})
