// Tests R-JOUR-4a of docs/spec: each byte is copied only a few times, and a line longer than the limit is reported.
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lineOf } from '../src/format/line.ts'
import { readJournal, readForResume } from '../src/read-journal.ts'
import { wholeLines } from '../src/whole-lines.ts'
import { openJournal } from '../src/open-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-long-'))))
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

const sessionId = '11111111-2222-4333-8444-555555555555'
const head = lineOf({ type: 'halting', format: 1, sessionId, cwd: '/work' })
const maxBytes = 256 * 1_024 * 1_024

/** A file with this content and this many zero bytes behind it, which take no space on disk. */
function fileOf(content: string, zeros: number): string {
  const path = join(folder, `${sessionId}.jsonl`)
  writeFileSync(path, content)
  truncateSync(path, Buffer.byteLength(content) + zeros)
  return path
}

/** The number of bytes that reading concatenates or copies. */
function countMoved(): () => number {
  const made = [vi.spyOn(Buffer, 'concat'), vi.spyOn(Buffer, 'from')]
  const copied = vi.spyOn(Buffer.prototype, 'copy')
  return () =>
    sumOf(made.flatMap(({ mock }) => mock.results.map(({ value }) => (value as Buffer).length))) +
    sumOf(copied.mock.results.map(({ value }) => value as number))
}

function sumOf(figures: readonly number[]): number {
  return figures.reduce((sum, each) => sum + each, 0)
}

const readers = {
  'all records': (path: string) => readJournal(path),
  'to go on with it': (path: string) => readForResume(path, 'open'),
}

const wholeReaders = { ...readers, 'as one file': wholeLines }

test.each(Object.entries(readers))(
  'reads an unfinished line in time proportional to its length: %s',
  async (_, read) => {
    const bytes = 32 * 1_024 * 1_024
    const path = fileOf(head, bytes)
    const moved = countMoved()
    const { wholeBytes, tornBytes } = await read(path)
    expect({ wholeBytes, tornBytes }).toEqual({ wholeBytes: head.length, tornBytes: bytes })
    expect(moved()).toBeLessThan(4 * bytes)
  },
)

test('reads a line that spans many chunks', async () => {
  const text = 'ü'.repeat(900_000)
  const long = lineOf({ type: 'other', texts: Array.from({ length: 8 }, () => text) })
  const path = fileOf(head + long + long, 0)
  expect(await readJournal(path)).toMatchObject({ wholeBytes: statSync(path).size, tornBytes: 0, runs: [] })
})

const tooLong = 'it has more than 256 MiB. To keep the lines before it, delete line 2 and all lines after it'

test.each(Object.entries(wholeReaders))(
  'reports file and line number of a line that is too long: %s',
  async (_, read) => {
    const path = fileOf(head, maxBytes + 1)
    await expect(read(path)).rejects.toMatchObject({
      code: 'driver',
      message: `The session ${path} is damaged in line 2: ${tooLong}.`,
    })
    appendFileSync(path, '\n')
    await expect(read(path)).rejects.toThrow(`is damaged in line 2: ${tooLong}.`)
  },
)

test('does not resume a session with such a line, and leaves its file unchanged', async () => {
  const path = fileOf(head, maxBytes + 1)
  await expect(openJournal({ path, sessionId, cwd: '/work', version: '1' })).rejects.toThrow(tooLong)
  expect(statSync(path).size).toBe(head.length + maxBytes + 1)
})
