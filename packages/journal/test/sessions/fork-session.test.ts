// Tests R-SESS-6 and R-SESS-6a of docs/spec: a fork has its own copy of everything, and leaves the original unchanged.
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { streamRun, resume, startRun, type RunResult } from '@halting/core'
import { foldSession } from '@halting/core/steps'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forkSession, removeFork } from '../../src/sessions/fork-session.ts'
import { readJournal } from '../../src/read-journal.ts'
import { createResultFiles } from '../../src/sessions/result-files.ts'
import { sessionFile } from '../../src/sessions/session-folder.ts'
import { openJournal } from '../../src/open-journal.ts'

let home: string
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'halting-fork-'))))
afterEach(() => rmSync(home, { recursive: true, force: true }))

const [source, copy] = ['11111111-2222-4333-8444-555555555555', '21111111-2222-4333-8444-555555555555']
const sessionLocation = (sessionId: string) => ({ cwd: '/work', sessionId, home, env: {} })
const placeOf = (sessionId: string) => ({
  path: sessionFile(sessionLocation(sessionId)),
  sessionId,
  cwd: '/work',
  version: '0',
})
const folderOf = (sessionId: string): string => placeOf(sessionId).path.replace(/\.jsonl$/, '')
const tools = [
  {
    name: 'Long',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 'long '.repeat(20_000),
  },
  {
    name: 'Huge',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => ({ content: 'seen', details: { text: 'h'.repeat(1_200_000) } }),
  },
]
const script: readonly ScriptedReply[] = [
  {
    toolCalls: [
      { name: 'Long', input: {} },
      { name: 'Huge', input: {} },
    ],
  },
  { toolCalls: [{ name: 'Long', input: {} }] },
  'done',
]

const options = (sessionId: string, replies: readonly ScriptedReply[]) => ({
  model: scriptedModel(replies, { maxOutputTokens: 1_000 }),
  tools,
  largeResults: createResultFiles({ ...sessionLocation(sessionId), limit: 10_000 }),
})

async function ask(sessionId: string, prompt: string, replies: readonly ScriptedReply[] = script): Promise<RunResult> {
  const journal = await openJournal(placeOf(sessionId))
  const start = startRun({ prompt, sessionId, transcript: journal.transcript })
  const { terminal } = await streamRun(start, { ...options(sessionId, replies), steps: journal.steps() }).ended
  await journal.close()
  return terminal
}

/** Files that a conversation names. */
async function namedIn(sessionId: string): Promise<readonly string[]> {
  const { runs } = await readJournal(placeOf(sessionId).path)
  const text = JSON.stringify(foldSession(runs).transcript.messages())
  return [...new Set(text.match(/\/[^\s"\\:]*tool-results\/[^\s"\\:]+\.txt/g))].toSorted()
}

test('copies large results and payloads to the paths in its conversation, even if the original is removed', async () => {
  expect((await ask(source, 'go')).reason).toBe('completed')
  const before = readFileSync(placeOf(source).path)
  const [first = '', second = ''] = await namedIn(source)
  const text = readFileSync(first, 'utf8')
  await forkSession(placeOf(source).path, placeOf(copy))
  expect(readFileSync(placeOf(source).path).equals(before)).toBe(true)
  const expected = [first, second].map((path) => path.replace(source, copy))
  expect(await namedIn(copy)).toEqual(expected)
  rmSync(folderOf(source), { recursive: true })
  rmSync(placeOf(source).path)
  expect(readFileSync(expected[0] ?? '', 'utf8')).toBe(text)
  expect(statSync(expected[0] ?? '').mode & 0o777).toBe(0o600)
  expect(statSync(dirname(expected[0] ?? '')).mode & 0o777).toBe(0o700)
  // A later resume finds them too, and each text is written once.
  expect((await ask(copy, 'again', ['done'])).reason).toBe('completed')
  expect(await namedIn(copy)).toEqual(expected)
  expect(readdirSync(join(folderOf(copy), 'payloads'))).toHaveLength(1)
  const { runs } = await readJournal(placeOf(copy).path)
  expect(JSON.stringify(runs).includes('h'.repeat(1_200_000))).toBe(true)
  const stays = runs.flat().filter((record) => JSON.stringify(record).includes(source))
  expect(stays.map((record) => JSON.stringify(record).slice(0, 300))).toEqual([])
  expect(readFileSync(placeOf(copy).path, 'utf8').split('long long long').length).toBe(
    before.toString().split('long long long').length,
  )
})

test('continues an open run, and does not repeat recorded requests', async () => {
  await ask(source, 'go')
  const { path } = placeOf(source)
  const lines = readFileSync(path, 'utf8').split('\n')
  // Cut behind the second reply: its tool has not run yet.
  const cut = lines.findLastIndex((line) => line.includes('"type":"assistant"') && line.includes('"name":"Long"'))
  writeFileSync(path, `${lines.slice(0, cut + 1).join('\n')}\n`)
  await forkSession(path, placeOf(copy))
  const journal = await openJournal(placeOf(copy))
  const records = journal.open ?? []
  const { result: terminal } = resume(records, options(copy, ['done']), journal.transcript, journal.log).loop
  expect((await terminal).reason).toBe('completed')
  await journal.close()
  const named = await namedIn(copy)
  expect(named).toHaveLength(2)
  for (const file of named) expect([file.includes(copy), existsSync(file)]).toEqual([true, true])
})

test('follows no link, and leaves nothing of an abandoned fork', async () => {
  await ask(source, 'go')
  const results = join(folderOf(source), 'tool-results')
  symlinkSync('/etc/passwd', join(results, 'link.txt'))
  await forkSession(placeOf(source).path, placeOf(copy))
  expect(readdirSync(join(folderOf(copy), 'tool-results'))).toHaveLength(2)
  await removeFork(placeOf(copy).path, copy)
  expect([existsSync(placeOf(copy).path), existsSync(folderOf(copy))]).toEqual([false, false])
  rmSync(results, { recursive: true })
  symlinkSync('/etc', results)
  await forkSession(placeOf(source).path, placeOf(copy))
  expect(existsSync(join(folderOf(copy), 'tool-results'))).toBe(false)
  writeFileSync(placeOf(source).path, 'damaged')
  await expect(forkSession(placeOf(source).path, placeOf('31111111-2222-4333-8444-555555555555'))).rejects.toThrow(
    /no session of this program/,
  )
  expect(existsSync(folderOf('31111111-2222-4333-8444-555555555555'))).toBe(false)
})
