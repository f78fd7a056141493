// Tests R-JOUR-2, R-JOUR-2b and R-JOUR-2c of docs/spec: files of both formats, and how an export converts them.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resume } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { foldSession } from '@halting/core/steps'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JournalDecoder } from '../../src/format/decoder.ts'
import { JournalEncoder } from '../../src/format/encoder.ts'
import { changesSince, withChanges, type FigureChanges, type Figures } from '../../src/format/figures.ts'
import { lineOf, valueOf } from '../../src/format/line.ts'
import { openJournal } from '../../src/open-journal.ts'
import { entryOfLine, parseJournal, readJournal } from '../../src/read-journal.ts'
import { wholeLines } from '../../src/whole-lines.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { added, drawnSessionId as sessionId, record, shared, start } from '../support/drawn-records.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-formats-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const place = () => ({ path: join(folder, `${sessionId}.jsonl`), sessionId, cwd: '/project', version: '0.1.0' })
/** Two runs with two calls per turn, as version 0.1.0 wrote them. The second one was killed during its last request. */
const oldFile = new URL('./fixtures/format-1.jsonl', import.meta.url)
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('reads and continues a session of the first format, and an older version reads the new lines', async () => {
  const { path } = place()
  copyFileSync(oldFile, path)
  const before = await readJournal(path)
  expect(before.runs.map((records) => records.length)).toEqual([25, 23])
  const journal = await openJournal(place())
  expect(journal.transcript.length).toBe(8)
  const Look = { name: 'Look', description: '', inputSchema: { type: 'object' }, readOnly: true } as const
  const tools = [{ ...Look, execute: () => 'seen' }]
  const options = { model: scriptedModel(['done'], { contextWindow: 1_000_000 }), tools }
  const { loop } = resume(journal.open ?? [], options, journal.transcript, journal.log)
  const { terminal } = await loop.ended
  expect([terminal.reason, terminal.error?.message]).toEqual(['completed', undefined])
  await journal.close()
  const lines = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Figures)
  const messages = lines.filter(({ message }) => message !== undefined)
  expect(messages.every(({ uuid, cwd }) => typeof uuid === 'string' && cwd === '/project')).toBe(true)
  expect(lines.filter((line) => line['delta'] !== undefined || line['same'] !== undefined)).toEqual([])
  const again = await readJournal(path)
  expect(plain(again.runs[0])).toEqual(plain(before.runs[0]))
  expect(foldSession(again.runs).transcript.length).toBe(16)
  // The uuid of a line, if it has one, names its message.
  const [said] = foldSession(again.runs).transcript.since(0)
  expect(entryOfLine(again, String(messages[0]?.['uuid']))).toBe(said?.id)
})

test('rejects a file of a later format, and says what to do', async () => {
  const { path } = place()
  const head = { type: 'halting', format: 3, sessionId, cwd: '/project', version: '9' }
  writeFileSync(path, lineOf(head))
  await expect(openJournal(place())).rejects.toThrow(
    'was written by a later version of this program (format 3; this one reads 2). Update it',
  )
})

test('stores what all lines have in common only once', async () => {
  const journal = await openJournal(place())
  await journal.close()
  expect(valueOf(readFileSync(place().path), 0, readFileSync(place().path).length - 1)['format']).toBe(2)
})

function recordsIn(path: string): unknown {
  const { sessionId: id, cwd, title, runs, written } = parseJournal(readFileSync(path), path)
  const { times } = written as JournalDecoder
  return plain({ id, cwd, title, runs, times })
}

test('exports a session with the same records and times', async () => {
  const property = fc.asyncProperty(added, fc.array(record, { maxLength: 10 }), async (first, drawnRecords) => {
    const records = [start(first, 'run1'), ...shared(drawnRecords)]
    const { path } = place()
    const encoder = new JournalEncoder(place(), undefined, 1_000)
    const times = records.map((_, index) => new Date(Date.UTC(2026, 1, 1, 0, 0, index)).toISOString())
    writeFileSync(
      path,
      encoder.head(times[0], { title: 'T' }) +
        records.map((each, index) => encoder.linesOf(each, times[index]).lines).join(''),
    )
    const read = recordsIn(path)
    const lines = [...(await wholeLines(path))]
    expect(lines.filter((line) => /[\u0085\u2028\u2029]/.test(line))).toEqual([])
    expect(
      lines
        .map((line) => JSON.parse(line) as Figures)
        .filter(({ message, uuid }) => message !== undefined && uuid === undefined),
    ).toEqual([])
    writeFileSync(path, lines.join(''))
    expect(recordsIn(path)).toEqual(read)
    expect([...(await wholeLines(path))]).toEqual(lines)
  })
  await fc.assert(property, { numRuns: drawn(60) })
})

test('reports a result that refers to no intent, and a grant without one, as damage', () => {
  const encoder = new JournalEncoder(place())
  const head = encoder.head() + encoder.linesOf(start([], 'run1')).lines
  const last = encoder.linesOf({ type: 'control', key: 'x', control: { messages: [] }, at: 1 } as never).lines
  const result = { type: 'result', value: null, at: 1, durationMs: 1 }
  const message = { role: 'assistant', content: [] }
  for (const line of [
    { record: { ...result, of: 1 } },
    { record: { ...result, of: 99 } },
    { type: 'assistant', message, record: { ...result, key: 'k', digest: null, value: {} }, same: 1 },
    { record: { type: 'lap', lap: { scope: '', transition: 'next_turn', added: [] } }, delta: { request: 2 } },
  ])
    expect(() => parseJournal(Buffer.from(head + lineOf(line) + last), 'x')).toThrow('is damaged in line 3')
})

test('reports swapped lines of two results as damage', () => {
  const encoder = new JournalEncoder(place())
  const step = (at: number) => ({ key: `run1/tool:1:${at}:call_${at}`, digest: `d${at}` })
  const intents = [0, 1].map((at) => encoder.linesOf({ type: 'intent', ...step(at), intent: null, at: 1 }).lines)
  const results = [0, 1].map((at) => {
    const value = { content: `of call ${at}`, status: 'done', isError: false }
    return encoder.linesOf({ type: 'result', ...step(at), value, at: 1, durationMs: 1 }).lines
  })
  const head = new JournalEncoder(place()).head()
  const read = (...lines: readonly string[]) => parseJournal(Buffer.from([head, ...intents, ...lines].join('')), 'x')
  const last = encoder.linesOf({ type: 'control', key: 'x', control: { messages: [] }, at: 1 } as never).lines
  expect(read(...results, last).tornBytes).toBe(0)
  expect(() => read(...results.toReversed(), last)).toThrow('line 4: it has the result of another call than its step')
})

const json = fc.jsonValue({ maxDepth: 2 })
const figures = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'),
  fc.oneof(json, fc.dictionary(fc.constantFrom('a', 'b'), fc.option(json, { nil: undefined })), fc.constant(undefined)),
)

test('restores the figures from changes', () => {
  fc.assert(
    fc.property(figures, figures, fc.boolean(), (before, now, isInPlace) => {
      const [old, after] = [plain(before), plain(now)] as [Figures, Figures]
      for (const [from, to] of [
        [old, after],
        [old, { ...old, ...after }],
        [after, plain(after) as Figures],
        // Lines omit undefined fields.
        [{ ...before }, { ...now }],
        [{ ...before }, { ...before, ...now }],
      ] as const) {
        const changes = changesSince(from, to)
        if (changes === undefined) continue
        // As in a line.
        const read = plain(changes) as FigureChanges
        const merged = withChanges(plain(from) as Figures, read, isInPlace)
        expect(JSON.stringify(merged)).toBe(JSON.stringify(to))
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
      }
    }),
    { numRuns: drawn(1_000) },
  )
  expect(changesSince({ a: { x: 1, y: 2 }, b: [1] }, { a: { x: 1, y: 3 }, b: [1] })).toEqual({ delta: { a: { y: 3 } } })
  expect(changesSince({ a: { x: 1 } }, { a: { z: 1 } })).toEqual({ delta: { a: { z: 1 } }, whole: ['a'] })
  expect(() => withChanges({}, { delta: JSON.parse('{"__proto__":{"x":1}}') as Figures }, true)).toThrow('is missing')
})
