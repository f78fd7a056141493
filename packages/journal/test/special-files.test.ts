// Tests R-JOUR-4c of docs/spec: a special file instead of a regular one blocks nobody. Also R-JOUR-8: a text from its
// own file is used only at the place of its line.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { holderOf } from '../src/files/lock.ts'
import { lineOf } from '../src/format/line.ts'
import { summaryOf } from '@halting/analysis/sessions'
import { readJournal, readForResume } from '../src/read-journal.ts'
import { wholeLines } from '../src/whole-lines.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-no-file-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = '11111111-2222-4333-8444-555555555555'
const head = lineOf({ type: 'halting', format: 1, sessionId, cwd: '/work' })
const session = (): string => join(folder, `${sessionId}.jsonl`)

const makers: { readonly [kind: string]: (path: string) => void } = {
  'a pipe without a writer': (path) => void spawnSync('mkfifo', [path]),
  'a device that never ends': (path) => symlinkSync('/dev/zero', path),
  'a folder': (path) => mkdirSync(path),
}
const kinds = Object.entries(makers)

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

describe.skipIf(process.platform === 'win32')('another kind of file instead of a regular one', () => {
  test.each(kinds)('rejects %s as a session', async (_, make) => {
    make(session())
    const file = { sessionId, path: session(), project: 'p', changedAt: new Date(0) }
    const problems = [
      await readJournal(session()).catch(messageOf),
      await readForResume(session(), 'open').catch(messageOf),
      await wholeLines(session()).catch(messageOf),
      (await summaryOf(file)).problem,
    ]
    expect(problems).toEqual(problems.map(() => expect.stringContaining('is not a regular file') as string))
  })

  test.each(kinds)('rejects %s as a lock', async (_, make) => {
    make(`${session()}.lock`)
    expect(await holderOf(`${session()}.lock`)).toBeUndefined()
  })

  test('ignores a lock with a name that is too long, or a link to itself', async () => {
    const long = join(folder, `${'n'.repeat(250)}.jsonl.lock`)
    symlinkSync('circle', join(folder, 'circle'))
    expect([await holderOf(long), await holderOf(join(folder, 'circle'))]).toEqual([undefined, undefined])
  })

  test.each(kinds)('rejects %s as a payload', async (_, make) => {
    mkdirSync(join(folder, sessionId, 'payloads'), { recursive: true })
    make(join(folder, sessionId, 'payloads', 'text'))
    writeFileSync(session(), head + lineOf({ type: 'other', said: '', payloads: [{ at: ['said'], sha256: 'text' }] }))
    await expect(readJournal(session())).rejects.toThrow('it is not a regular file')
  })
})

describe('a payload', () => {
  const text = 'from a stranger'
  const sha256 = createHash('sha256').update(text).digest('hex')
  const readWith = (at: readonly unknown[]): Promise<unknown> => {
    mkdirSync(join(folder, sessionId, 'payloads'), { recursive: true })
    writeFileSync(join(folder, sessionId, 'payloads', sha256), text)
    const line = lineOf({ type: 'other', said: { text: '' }, list: [''], payloads: [{ at, sha256 }] })
    writeFileSync(session(), head + line + lineOf({ type: 'other' }))
    return readJournal(session())
  }

  test.each([
    ['a property of all objects', ['__proto__', 'polluted']],
    ['the constructor of all objects', ['constructor', 'prototype', 'polluted']],
    ['a property of all strings', ['said', 'text', '__proto__', 'polluted']],
    ['a property of all lists', ['list', '__proto__', 'polluted']],
    ['the length of a list', ['list', 'length']],
    ['a part that is not a string', ['said']],
    ['a missing part', ['said', 'other']],
    ['the line itself', []],
  ])('is not inserted into %s', async (_, at) => {
    await expect(readWith(at)).rejects.toThrow('is damaged in line 2: it refers to a text that it does not contain')
    expect(Object.prototype).not.toHaveProperty('polluted')
  })

  test('is inserted where its line has a text', async () => {
    await expect(readWith(['said', 'text'])).resolves.toMatchObject({ runs: [] })
  })
})
