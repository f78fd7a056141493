// Holds rules of docs/spec: R-SESS-8d: a session that is partly parsed has the row of one that is fully parsed.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { crc32 } from 'node:zlib'
import { startRun, streamRun } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { openJournal, outlineOf } from '@halting/journal'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ReadTogether } from '../../src/foreign/read-together.ts'
import { inspectedSession } from '../../src/sessions/inspect-session.ts'
import { readAnySession } from '../../src/sessions/read-session.ts'
import { readRowFacts, rowOfFacts } from '../../src/sessions/row-facts.ts'
import { rowOf } from '../../src/view/row.ts'
import type { SessionRow } from '../../src/view/types.ts'

let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-row-facts-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const prices = { cost: () => undefined, worstCase: () => undefined }
const usage = { input_tokens: 900, output_tokens: 100 }
const toolOf = (name: string, execute: () => string) => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute,
})
const tools = [
  toolOf('Look', () => 'plain "text" with "type":"tool_use" and é'),
  toolOf('Fail', () => {
    throw new Error('It failed.')
  }),
]

interface DrawnRun {
  readonly prompt: string
  readonly replies: readonly ScriptedReply[]
  readonly maxTurns: number
}

let count = 0

/** Writes a session as the program does. */
async function write(runs: readonly DrawnRun[], title?: string): Promise<string> {
  const path = join(folder, `${++count}.jsonl`)
  for (const [index, { prompt, replies, maxTurns }] of runs.entries()) {
    const journal = await openJournal({
      path,
      sessionId: 's',
      cwd: '/wörk',
      version: '0',
      ...(title !== undefined && { title }),
    })
    const start = startRun({ prompt, sessionId: 's', runId: `run${index + 1}`, transcript: journal.transcript })
    const model = scriptedModel([...replies, { text: 'Done.', usage }], { maxOutputTokens: 1_000 })
    await streamRun(start, { model, tools, maxTurns, steps: journal.steps() }).ended
    await journal.close()
  }
  return path
}

const entryOf = (path: string) => ({
  key: 's',
  sessionId: 's',
  path,
  changedAt: 1,
  isLive: false,
  signature: '',
})
const redact = (text: string): string => text
const pricesOf = () => Promise.resolve(prices)

async function slowRow(path: string): Promise<SessionRow> {
  const session = await readAnySession(path, pricesOf, new ReadTogether())
  return rowOf(inspectedSession(session, { found: entryOf(path), shellArguments: '', whyText: () => '' }))
}

async function fastRow(path: string): Promise<SessionRow> {
  const facts = await readRowFacts(path, redact)
  if (facts === undefined) throw new Error('It is a session of ours.')
  // An index stores JSON.
  const kept = JSON.parse(JSON.stringify(facts)) as typeof facts
  return rowOfFacts(kept, { found: entryOf(path), together: new ReadTogether(), prices: pricesOf })
}

const anInput = fc.constantFrom(
  {},
  { path: 'a' },
  { nested: [{ type: 'tool_use', id: 'toolu_x', name: 'Look', input: {} }] },
  { text: 'ü' },
)
const aCall = fc.record({ name: fc.constantFrom('Look', 'Fail', 'Missing'), input: anInput })
const aReply = fc.record({ toolCalls: fc.array(aCall, { minLength: 1, maxLength: 3 }), usage: fc.constant(usage) })
const aRun = fc.record({
  prompt: fc.constantFrom(
    'Go.',
    'Söme  text\nof two lines',
    'x'.repeat(400),
    '{"type":"halting","record":{"type":"end"',
  ),
  replies: fc.array(aReply, { maxLength: 3 }),
  maxTurns: fc.integer({ min: 1, max: 4 }),
})

test('the row of a session is the one that reading the whole session gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aRun, { minLength: 1, maxLength: 3 }),
      fc.option(fc.constant('A title'), { nil: undefined }),
      async (runs, title) => {
        const path = await write(runs, title)
        expect(await fastRow(path)).toEqual(await slowRow(path))
      },
    ),
    { numRuns: 12 },
  )
})

const twoCalls = {
  toolCalls: [
    { name: 'Look', input: {} },
    { name: 'Fail', input: {} },
  ],
  usage,
}

test('messages are not parsed in a session whose runs ended, even with failed calls', async () => {
  const path = await write([
    { prompt: 'Go.', replies: [twoCalls, twoCalls], maxTurns: 9 },
    { prompt: 'Again.', replies: [], maxTurns: 9 },
  ])
  const outline = await outlineOf(path)
  expect(outline?.runs.map(({ calls, failedCalls }) => [calls, failedCalls])).toEqual([
    [4, 2],
    [0, 0],
  ])
  expect(await fastRow(path)).toMatchObject({ runs: 2, turns: 4, calls: 4, failedCalls: 2, title: 'Go.', cwd: '/wörk' })
})

test('a session with damage, a torn line or a run without an end is read whole', async () => {
  const path = await write([
    { prompt: 'Go.', replies: [{ toolCalls: [{ name: 'Look', input: {} }], usage }], maxTurns: 9 },
  ])
  const text = readFileSync(path, 'utf8')
  expect(await outlineOf(path)).toBeDefined()
  writeFileSync(path, text.replace('plain', 'plane'))
  expect(await outlineOf(path)).toBeUndefined()
  await expect(readRowFacts(path, redact)).rejects.toThrow(/is damaged in line/)
  const swapped = await write([{ prompt: 'Go.', replies: [twoCalls], maxTurns: 9 }])
  const lines = readFileSync(swapped, 'utf8').split('\n')
  const at = lines.findIndex((line) => line.includes('"tool_result"'))
  const [first = '', second = ''] = lines.splice(at, 2)
  writeFileSync(swapped, lines.toSpliced(at, 0, second, first).join('\n'))
  expect(await outlineOf(swapped)).toBeUndefined()
  writeFileSync(path, text)
  appendFileSync(path, '{"type":"hal')
  expect(await outlineOf(path)).toBeUndefined()
  expect(await fastRow(path)).toEqual(await slowRow(path))
  writeFileSync(path, text.slice(0, text.trimEnd().lastIndexOf('\n') + 1))
  expect(await outlineOf(path)).toBeUndefined()
  expect(await fastRow(path)).toMatchObject({ ending: null, exitCode: null, calls: 1 })
  expect(await fastRow(path)).toEqual(await slowRow(path))
})

/** The paths of all values in JSON. */
function pathsIn(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, each]) => pathsIn(each, [...at, name]))]
}

const typesIn = (row: SessionRow) =>
  Object.entries(row).map(([name, value]) => [name, typeof value === 'number' ? Number.isFinite(value) : typeof value])

function put(value: unknown, [name = '', ...rest]: readonly string[], other: unknown): unknown {
  const copy = (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...(value as object) }) as {
    [field: string]: unknown
  }
  copy[name] = rest.length === 0 ? other : put(copy[name], rest, other)
  return copy
}

test('a file with valid checksums but arbitrary content has no row, or one with the right types', async () => {
  const path = await write([
    { prompt: 'Go.', replies: [twoCalls], maxTurns: 9 },
    { prompt: 'Again.', replies: [], maxTurns: 9 },
  ])
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const good = await fastRow(path)
  const row = (make: (of: string) => Promise<SessionRow>) => make(path).catch((): 'refused' => 'refused')
  const valueOf = (at: number): unknown => {
    const { sum: _sum, ...whole } = JSON.parse(lines[at] ?? '') as { readonly [field: string]: unknown }
    return whole
  }
  const change = (at: number, place: readonly string[], value: unknown): string => {
    const changed = JSON.stringify(put(valueOf(at), place, value)).slice(0, -1)
    const line = `${changed},"sum":"${crc32(changed).toString(16).padStart(8, '0')}"}`
    writeFileSync(path, `${lines.toSpliced(at, 1, line).join('\n')}\n`)
    return line
  }
  const aValue = fc.constantFrom(null, -1, 0, 1e300, 'x', '', true, [], {}, [null], ['a'], [{}])
  const property = fc.asyncProperty(fc.nat(), fc.nat(), aValue, async (nth, place, value) => {
    const at = 1 + (nth % (lines.length - 1))
    const places = pathsIn(valueOf(at)).slice(1)
    const line = change(at, places[place % places.length] ?? [], value)
    const [fast, slow] = [await row(fastRow), await row(slowRow)]
    // Values that are not parsed may be anything. Displayed values have the types that pages and lists rely on.
    const isAsItMustBe =
      fast === 'refused'
        ? slow === 'refused'
        : isDeepStrictEqual(typesIn(fast), typesIn({ ...good, ending: fast.ending, exitCode: fast.exitCode }))
    expect([line, isAsItMustBe]).toEqual([line, true])
  })
  await fc.assert(property, { numRuns: 40 })
  // Invalid starts and ends of runs are rejected as they are when the whole session is read.
  const start = lines.findIndex((line) => line.startsWith('{"record":{"type":"start"'))
  const end = lines.findIndex((line) => line.startsWith('{"record":{"type":"end"'))
  for (const [at, ...place] of [
    [start, 'record', 'start', 'run', 'runId'],
    [start, 'record', 'start', 'spent', 'turns'],
    [end, 'record', 'spent', 'turns'],
  ] as const) {
    change(at, place, [])
    expect([place, await row(slowRow), await row(fastRow)]).toEqual([place, 'refused', 'refused'])
  }
})

test('a session of the first format has the row that reading all of it gives', async () => {
  const path = join(import.meta.dirname, '../../../journal/test/format/fixtures/format-1.jsonl')
  expect(await fastRow(path)).toEqual(await slowRow(path))
})
