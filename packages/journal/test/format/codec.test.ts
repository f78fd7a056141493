// Tests R-JOUR-2, R-JOUR-2a and R-JOUR-8 of docs/spec: lines and records convert into each other, and long texts have
// their own files.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, startRun, type TranscriptEntry } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { JournalEncoder, type JournalFormat } from '../../src/format/encoder.ts'
import { payloadsFolder } from '../../src/format/payloads.ts'
import { parseJournal, readJournal } from '../../src/read-journal.ts'
import { openJournal } from '../../src/open-journal.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { added, drawnSessionId, record, shared, start } from '../support/drawn-records.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-codec-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sessionId = drawnSessionId
const placeOf = () => ({ path: join(folder, `${sessionId}.jsonl`), sessionId, cwd: '/project', version: '0.1.0' })

describe('a file that is read in chunks', () => {
  test('has the same records, even if a line is longer than a chunk', async () => {
    const place = placeOf()
    const encoder = new JournalEncoder(place)
    const { run, spent: fresh } = startRun({ prompt: 'go', sessionId })
    // Lines omit absent fields.
    const spent = JSON.parse(JSON.stringify(fresh)) as typeof fresh
    // A lone surrogate keeps a long text in its line.
    const texts = ['x'.repeat(900_000), `${'ä'.repeat(2_500_000)}\ud83d`, 'y\n'.repeat(300_000), 'last']
    const records = [
      { type: 'start', scope: '', start: { run, added: [], spent }, at: 0 } as const,
      ...texts.map((content, at): StepRecord => ({
        type: 'intent',
        key: `run1/hook:${at}`,
        digest: null,
        intent: content,
        at,
      })),
    ]
    const bytes = Buffer.from(encoder.head() + records.map((each) => encoder.linesOf(each).lines).join(''))
    writeFileSync(place.path, bytes)
    const read = await readJournal(place.path)
    expect(read.runs).toEqual([records])
    expect(read).toEqual(parseJournal(bytes, place.path))
    expect(read.wholeBytes).toBe(bytes.length)
    // Torn in the long line, and damaged there with complete lines in later chunks.
    writeFileSync(place.path, bytes.subarray(0, 3_000_000))
    const wholeBytes = bytes.indexOf(10, bytes.indexOf('xx')) + 1
    const torn = { runs: [records.slice(0, 2)], wholeBytes, tornBytes: 3_000_000 - wholeBytes }
    expect(await readJournal(place.path)).toMatchObject(torn)
    bytes[3_000_000] = 65
    writeFileSync(place.path, bytes)
    await expect(readJournal(place.path)).rejects.toThrow('is damaged in line 4')
  })
})

/** A file of format 1 continues in format 1. */
const format = fc.constantFrom<JournalFormat>(1, 2)

describe('lines and records', () => {
  test('convert into each other, for any content and wherever another process continued', () => {
    fc.assert(
      fc.property(
        added,
        fc.array(record, { maxLength: 14 }),
        fc.nat({ max: 14 }),
        format,
        (first, drawnRecords, cut, written) => {
          const records = [start(first, 'run1'), ...shared(drawnRecords)]
          const place = placeOf()
          const encoder = new JournalEncoder(place, undefined, undefined, written)
          let bytes =
            encoder.head() +
            records
              .slice(0, cut)
              .map((each) => encoder.linesOf(each).lines)
              .join('')
          const before = parseJournal(Buffer.from(bytes), place.path)
          const other = new JournalEncoder(place, before.written)
          // Another process continues from what it read, and may have the same contents.
          bytes += records
            .slice(cut)
            .map((each) => other.linesOf(each).lines)
            .join('')
          const { runs } = parseJournal(Buffer.from(bytes), place.path)
          expect(runs.flat()).toEqual(JSON.parse(JSON.stringify(records)))
          expect(JSON.stringify(runs.flat())).toHaveLength(JSON.stringify(records).length)
          const uuids = bytes.split('\n').flatMap((line) => {
            const { uuid } = JSON.parse(line === '' ? '{}' : line) as { uuid?: string }
            return uuid === undefined ? [] : [uuid]
          })
          expect(new Set(uuids).size).toBe(uuids.length)
          expect(uuids.length === 0 || written === 1).toBe(true)
        },
      ),
      { numRuns: drawn(2_000) },
    )
  })

  test.each([
    [1, 'changed', { request: 2, usage: { in: 1, out: 2 } }],
    [2, 'delta', { request: 2, usage: { out: 2 } }],
  ] as const)(
    'refers to the reply by its line, and stores only changed figures, in format %i',
    (written, field, expected) => {
      const place = placeOf()
      const encoder = new JournalEncoder(place, undefined, undefined, written)
      const reply = { role: 'assistant', id: 'm', model: 'x', content: [], stop_reason: 'end_turn', usage: noUsage }
      const lap = (request: number, message: object): StepRecord =>
        ({
          type: 'lap',
          lap: {
            scope: '',
            transition: 'next_turn',
            // Lines omit undefined fields, and such a field is not missing in another lap.
            spent: { request, usage: { in: 1, out: request }, metadata: {}, goal: undefined },
            added: [{ kind: 'assistant', id: 'run1/assistant:1', message }],
          },
        }) as unknown as StepRecord
      const answered: StepRecord = {
        type: 'result',
        key: 'run1/model:1.1',
        digest: null,
        value: { kind: 'answered', message: reply },
        at: 1,
        durationMs: 1,
      }
      const records = [start([], 'run1'), answered, lap(1, reply), answered, lap(2, reply)]
      const lines = records.map((each) => encoder.linesOf(each).lines)
      expect((JSON.parse(lines[4] ?? '') as { readonly [field: string]: unknown })[field]).toEqual(expected)
      expect(lines[4]).not.toContain('stop_reason')
      // A line with changes to a missing line is damage.
      const head = new JournalEncoder(place, undefined, undefined, written).head()
      const bytes = [head, ...lines.filter((_, index) => index !== 2), lines[1]].join('')
      expect(() => parseJournal(Buffer.from(bytes), place.path)).toThrow('is damaged in line 5')
    },
  )

  test('form one chain of parents over all runs of a session, with a separate one for each subagent', () => {
    const user = (id: string): TranscriptEntry => ({
      kind: 'user',
      id,
      message: { role: 'user', content: id },
      origin: 'prompt',
    })
    const place = placeOf()
    const first = new JournalEncoder(place, undefined, undefined, 1)
    const head = first.head() + first.linesOf(start([user('run1/1')], 'run1')).lines
    const own = first.linesOf({ ...start([user('run1/agent:3:0:c1/1')], 'run1'), scope: 'agent:3:0:c1/' } as StepRecord)
    const second = new JournalEncoder(place, parseJournal(Buffer.from(head + own.lines), place.path).written)
    const last = second.linesOf(start([user('run2/1'), user('run2/agent:1:0:c1/1')], 'run2')).lines
    const lines = (head + own.lines + last)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ type }) => type === 'user')
    expect(lines.map(({ parentUuid, isSidechain }) => [parentUuid, isSidechain])).toEqual([
      [null, false],
      [null, true],
      [lines[0]?.['uuid'], false],
      [null, true],
    ])
  })
})

describe('a text over 1 MB', () => {
  const long = 'ä😀 wort '.repeat(100_000)
  const other = `${long}!`
  const tools = [
    {
      name: 'Read',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute: () => ({ content: [{ type: 'text' as const, text: other }], details: { stdout: other } }),
    },
  ]

  async function written(): Promise<{ readonly journal: string; readonly payloads: string }> {
    const place = placeOf()
    const journal = await openJournal(place)
    const steps = journal.steps()
    const model = scriptedModel([{ toolCalls: [{ name: 'Read', input: { text: long } }] }, 'done'], {
      contextWindow: 50_000_000,
    })
    const { reason } = await streamRun(startRun({ prompt: long, sessionId }), {
      model,
      tools,
      steps,
    }).result
    expect(reason).toBe('completed')
    await journal.close()
    return { journal: place.path, payloads: payloadsFolder(place.path) }
  }

  test('is stored once in a separate file, and restored', async () => {
    const { journal, payloads } = await written()
    expect(payloads).toBe(join(folder, sessionId, 'payloads'))
    const names = readdirSync(payloads)
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
    expect(names).toHaveLength(2)
    for (const name of names) expect(statSync(join(payloads, name)).mode & 0o777).toBe(0o600)
    expect(statSync(journal).size).toBeLessThan(50_000)
    const again = await openJournal(placeOf())
    const [prompt, call, result] = again.transcript.messages()
    expect(prompt?.content).toBe(long)
    expect(call?.content).toMatchObject([{ type: 'tool_use', input: { text: long } }])
    expect(result?.content).toMatchObject([{ type: 'tool_result', content: [{ type: 'text', text: other }] }])
    await again.close()
  })

  test('is reported by its file name if it is missing or damaged', async () => {
    const { journal, payloads } = await written()
    const path = join(payloads, readdirSync(payloads)[0] ?? '')
    const whole = readFileSync(path)
    rmSync(path)
    await expect(readJournal(journal)).rejects.toMatchObject({ code: 'driver', message: expect.stringContaining(path) })
    writeFileSync(path, whole.subarray(1))
    await expect(readJournal(journal)).rejects.toMatchObject({
      code: 'driver',
      message: expect.stringContaining('damaged'),
    })
    writeFileSync(path, whole)
    expect((await readJournal(journal)).runs).toHaveLength(1)
  })

  test('is not referenced if it cannot be written', async () => {
    const place = placeOf()
    // A file blocks the path of the folder.
    mkdirSync(join(folder, sessionId))
    writeFileSync(join(folder, sessionId, 'payloads'), '')
    const journal = await openJournal(place)
    const model = scriptedModel(['done'], { contextWindow: 50_000_000 })
    const { reason, error } = await streamRun(startRun({ prompt: long, sessionId }), {
      model,
      tools,
      steps: journal.steps(),
    }).result
    expect([reason, error?.code]).toEqual(['error', 'driver'])
    await journal.close()
    expect((await readJournal(place.path)).runs).toEqual([])
    expect(existsSync(`${place.path}.lock`)).toBe(false)
  })
})
