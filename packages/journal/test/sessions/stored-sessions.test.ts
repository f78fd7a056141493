// Tests R-SESS-8a of docs/spec: a list reads the ends of sessions, and the whole file if its ends are not enough.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, startRun, type RunResult } from '@halting/core'
import { foldSession } from '@halting/core/steps'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forkSession } from '../../src/sessions/fork-session.ts'
import { lineOf } from '../../src/format/line.ts'
import { readSessionEnds, readSessionHead } from '../../src/session-ends.ts'
import { summariesOf, summaryOf } from '@halting/analysis/sessions'
import { storedSessions, type StoredSessionFile } from '../../src/sessions/stored-sessions.ts'
import { readJournal } from '../../src/read-journal.ts'
import { openJournal } from '../../src/open-journal.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-kept-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const placeOf = (sessionId = 's') => ({
  path: join(folder, `${sessionId}.jsonl`),
  sessionId,
  cwd: '/work',
  version: '0',
})
const fileOf = (sessionId = 's'): StoredSessionFile => {
  const { path } = placeOf(sessionId)
  return { sessionId, path, project: 'p', changedAt: new Date(0) }
}
const usage = { input_tokens: 1_000, output_tokens: 100 }
const prices = { cost: () => 0.25, worstCase: () => 0.25 }
const tools = [
  { name: 'Look', description: '', inputSchema: { type: 'object' }, readOnly: true, execute: () => 'x'.repeat(30_000) },
]
const looks = (count: number): readonly ScriptedReply[] =>
  Array.from({ length: count }, () => ({ toolCalls: [{ name: 'Look', input: {} }], usage }))

/** One more run in a session. */
async function ask(prompt: string, script: readonly ScriptedReply[], maxTurns = 100): Promise<RunResult> {
  const journal = await openJournal(placeOf())
  const runId = `run${journal.ended.length + 1}`
  const start = startRun({ prompt, sessionId: 's', runId, transcript: journal.transcript })
  const model = scriptedModel(script, { maxOutputTokens: 1_000 })
  const { terminal } = await streamRun(start, { model, tools, prices, maxTurns, steps: journal.steps() }).ended
  await journal.close()
  return terminal
}

/** Flips a bit in the middle. Anything that reads the whole file reports it. */
function spoilTheMiddle(path: string): void {
  const text = readFileSync(path, 'latin1')
  const file = openSync(path, 'r+')
  writeSync(file, '#', text.indexOf('xxxx', text.length / 2))
  closeSync(file)
}

test('returns the same as reading all of a large session', async () => {
  await ask('look around', [...looks(12), { text: 'Seen.', usage }])
  await ask('again', [...looks(3), { text: 'Seen.', usage }])
  const whole = await summaryOf(fileOf())
  expect(whole).toEqual({
    ...fileOf(),
    cwd: '/work',
    firstPrompt: 'look around',
    runs: 2,
    turns: 17,
    costUsd: 17 * 0.25,
    ended: 'completed',
  })
  spoilTheMiddle(placeOf().path)
  await expect(readJournal(placeOf().path)).rejects.toThrow(/damaged/)
  expect(await summariesOf([fileOf(), fileOf()])).toEqual([whole, whole])
  expect(readSessionHead(placeOf().path)).toEqual({ cwd: '/work' })
})

test('returns the same as reading all of a small session, even if both ends overlap', async () => {
  await ask('hello', [{ text: 'Hello.', usage }])
  const { path } = placeOf()
  const expected = { cwd: '/work', firstPrompt: 'hello', runs: 1, turns: 1, costUsd: 0.25, ended: 'completed' }
  expect(readFileSync(path).length).toBeLessThan(8_000)
  expect(await summaryOf(fileOf())).toEqual({ ...fileOf(), ...expected })
  await ask('again', [...looks(1), { text: 'Seen.', usage }])
  spoilTheMiddle(path)
  await expect(readJournal(path)).rejects.toThrow(/damaged/)
  expect(await summaryOf(fileOf())).toMatchObject({ ...expected, runs: 2, turns: 3, costUsd: 0.75 })
})

test('ignores an end that no version writes, whatever its checksum', async () => {
  await ask('hello', [{ text: 'Hello.', usage }])
  const { path } = placeOf()
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const { sum: _, ...end } = JSON.parse(lines.at(-1) ?? '') as { [field: string]: unknown }
  const forged = [
    { ...end, session: { runs: 1, turns: 'many', costUsd: 0, isRewound: false } },
    { ...end, ended: '\u001b[2J' },
    { ...end, record: { ...(end['record'] as object), terminal: { reason: '\u001b[2J' } } },
  ]
  for (const line of forged) {
    writeFileSync(path, `${lines.slice(0, -1).join('\n')}\n${lineOf(line)}`)
    expect(readSessionEnds(path)).toBeUndefined()
  }
})

test('counts a run whose counters another one continues once, also in a fork', async () => {
  await ask('look around', looks(20), 14)
  const journal = await openJournal(placeOf())
  const last = journal.ended.at(-1)
  const start = startRun({
    sessionId: 's',
    runId: 'run2',
    transcript: journal.transcript,
    ...(last !== undefined && { continues: last.runId, carry: last.spent }),
  })
  const model = scriptedModel([...looks(1), { text: 'Seen.', usage }], { maxOutputTokens: 1_000 })
  await streamRun(start, { model, tools, prices, maxTurns: 30, steps: journal.steps() }).result
  await journal.close()
  const summary = await summaryOf(fileOf())
  const { ended } = foldSession((await readJournal(placeOf().path)).runs)
  expect(ended[1]?.continues).toBe('run1')
  expect(summary).toMatchObject({ runs: 2, turns: ended[1]?.spent.turns, costUsd: ended[1]?.terminal.costUsd })
  await forkSession(placeOf().path, placeOf('fork'))
  expect(await summaryOf(fileOf('fork'))).toMatchObject({ runs: 2, turns: summary.turns, costUsd: summary.costUsd })
})

test('reads everything if the ends are not sufficient: no end, a torn line, a rewind, another version, a long prompt', async () => {
  const { path } = placeOf()
  await ask('look around', [...looks(14), { text: 'Seen.', usage }])
  await ask('again', [{ text: 'Seen.', usage }])
  const bytes = readFileSync(path)
  appendFileSync(path, '{"type":"ha')
  expect(await summaryOf(fileOf())).toMatchObject({ runs: 2, ended: 'completed' })
  truncateSync(path, bytes.lastIndexOf(10, -2) + 1)
  expect(await summaryOf(fileOf())).toMatchObject({ runs: 2, ended: 'open' })

  writeFileSync(path, bytes)
  const journal = await openJournal(placeOf())
  const first = journal.transcript.at(0)
  await journal.rewind(first?.id ?? '')
  await journal.close()
  await ask('something else', [...looks(14), { text: 'Seen.', usage }])
  expect(await summaryOf(fileOf())).toMatchObject({ firstPrompt: 'something else', runs: 3 })

  // An earlier version wrote no sums.
  const lines = bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { [field: string]: unknown })
  writeFileSync(path, lines.map(({ sum: _sum, session: _session, ...line }) => lineOf(line)).join(''))
  expect(await summaryOf(fileOf())).toMatchObject({ firstPrompt: 'look around', runs: 2, turns: 16 })
  await ask('once more', [{ text: 'Seen.', usage }])
  spoilTheMiddle(path)
  expect(await summaryOf(fileOf())).toMatchObject({ firstPrompt: 'look around', runs: 3, turns: 17 })

  rmSync(path)
  await ask(`look ${'y'.repeat(20_000)}`, [...looks(14), { text: 'z'.repeat(30_000), usage }])
  const long = await summaryOf(fileOf())
  spoilTheMiddle(path)
  expect(await summaryOf(fileOf())).toEqual(long)
  expect(long.firstPrompt).toHaveLength(20_005)

  rmSync(path)
  await ask(`look ${'x'.repeat(100_000)}`, [...looks(14), { text: 'Seen.', usage }])
  expect((await summaryOf(fileOf())).firstPrompt).toHaveLength(100_005)
})

const linesWithMessages = (path: string): number =>
  readFileSync(path, 'utf8').match(/^\{"type":"(?:user|assistant)",/gm)?.length ?? 0

test('opens a session with ended runs like reading everything does, and writes the same lines', async () => {
  const { path } = placeOf()
  await ask('look around', [...looks(3), { text: 'Seen.', usage }])
  await ask('again', looks(3), 2)
  const { runs } = await readJournal(path)
  const { transcript, ended, open } = foldSession(runs)
  const journal = await openJournal(placeOf())
  expect(JSON.stringify(journal.transcript)).toBe(JSON.stringify(transcript))
  expect([JSON.stringify(journal.ended), journal.open]).toEqual([JSON.stringify(ended), open])
  await journal.close()
  const before = linesWithMessages(path)
  await ask('once more', [...looks(1), { text: 'Seen.', usage }])
  const after = await readJournal(path)
  expect(after.runs.slice(0, 2)).toEqual(runs)
  // Messages of an earlier run are not written again.
  expect(linesWithMessages(path)).toBe(before + 4)
  expect(foldSession(after.runs).transcript.messages()).toHaveLength(transcript.messages().length + 4)
})

test.skipIf(process.platform === 'win32')('ignores a pipe without blocking', async () => {
  const project = join(folder, '.halting', 'projects', 'p')
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, 'a.jsonl'), '')
  execFileSync('mkfifo', [join(project, 'b.jsonl')])
  const kept = await storedSessions({ cwd: '/work', home: folder, env: {} }, 'all')
  expect(kept.map(({ sessionId }) => sessionId)).toEqual(['a'])
})
