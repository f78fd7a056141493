// Holds rules of docs/spec: R-FOR-6, R-FOR-6a, R-FOR-9.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { foldSession } from '@halting/core/steps'
import { recordsOfForeign } from '../../src/foreign/foreign-run.ts'
import { expect, test } from 'vitest'
import { readForeignSession } from '../../src/foreign/read-foreign.ts'
import { sendableRuns, takeOver } from '../../src/foreign/take-over.ts'
import { readJournal } from '@halting/journal'
import {
  assistant,
  call,
  fileOf,
  linesOf,
  prices,
  resetLines,
  result,
  samplePath,
  text,
  useFolder,
  user,
} from './support.ts'

const folder = useFolder()
const options = (name: string): { path: string; sessionId: string; cwd: string; version: string } => ({
  path: join(folder(), name),
  sessionId: 'f0000000-0000-4000-8000-000000000000',
  cwd: '/home/user/project',
  version: '0.1.0',
})

test.each(['claude-code-polling', 'claude-code-short', 'codex-rollout-0'])(
  '%s: the stored conversation equals the original one, and all its runs have an end',
  async (name) => {
    const path = samplePath(name)
    const before = readFileSync(path)
    const session = await readForeignSession(path, 'newest_branch')
    const place = options(`${name}.out.jsonl`)
    await takeOver(session, place)
    const { runs, sessionId } = await readJournal(place.path)
    const { transcript, open, ended } = foldSession(runs)
    expect({ sessionId, open }).toEqual({ sessionId: place.sessionId, open: undefined })
    expect(ended.map(({ runId, terminal }) => [runId, terminal.reason, terminal.costUsd])).toEqual([
      ['run1', 'completed', 0],
    ])
    const said = foldSession(sendableRuns(session).map((run) => recordsOfForeign(run, prices).records))
    expect(transcript.messages()).toEqual(said.transcript.messages())
    expect(readFileSync(path)).toEqual(before)
  },
)

test('a reply names the model that signed its thinking, and a killed run ends as abandoned', async () => {
  resetLines()
  const thought = { type: 'thinking', thinking: 'hm', signature: 'signed' }
  const path = fileOf(
    linesOf([
      user('go'),
      assistant('m1', [thought, { ...thought, signature: '' }, call('a')]),
      result('a', 'x'),
      assistant('m2', [{ ...thought, signature: '' }]),
      assistant('m3', [text('\n'), call('b')]),
    ]),
  )
  const place = options('cut.jsonl')
  await takeOver(await readForeignSession(path, 'newest_branch'), place)
  const { transcript, ended } = foldSession((await readJournal(place.path)).runs)
  expect(transcript.messages()).toMatchObject([
    { role: 'user', content: 'go' },
    { by: 'anthropic/claude-sonnet-4-5', content: [thought, { id: 'a' }] },
    { content: [{ tool_use_id: 'a' }] },
    { content: [{ id: 'b' }] },
    { content: [{ tool_use_id: 'b', is_error: true }] },
  ])
  expect(ended.map(({ terminal }) => [terminal.reason, terminal.signal.message])).toEqual([
    ['abandoned', 'no end is recorded: Claude Code was killed, or is still running'],
  ])
})

test('an empty session is not taken over', async () => {
  resetLines()
  const place = options('empty.jsonl')
  const session = await readForeignSession(fileOf(linesOf([user(' ')])), 'newest_branch')
  await expect(takeOver(session, place)).rejects.toThrow('is empty: there is nothing to continue')
  expect(existsSync(place.path)).toBe(false)
})

test('an existing session is not overwritten or appended to', async () => {
  resetLines()
  const place = options('taken.jsonl')
  const session = await readForeignSession(
    fileOf(linesOf([user('go'), assistant('m1', [text('done')])])),
    'newest_branch',
  )
  await takeOver(session, place)
  const before = readFileSync(place.path)
  await expect(takeOver(session, place)).rejects.toThrow('already exists')
  expect(readFileSync(place.path)).toEqual(before)
})

test('the session appears under its id only when it is complete, also after a process died halfway', async () => {
  resetLines()
  const long = 'a long word '.repeat(100_000)
  const path = fileOf(linesOf([user(long), assistant('m1', [text('yes')])]))
  const place = options('aside.jsonl')
  // The leftovers of a process that died halfway.
  mkdirSync(join(folder(), '.aside.part'))
  writeFileSync(join(folder(), '.aside.part', 'aside.jsonl'), '{"type":"halting"')
  let writes = 0
  const openFile = async (file: string): ReturnType<typeof open> => {
    const handle = await open(file, 'a')
    const write = handle.appendFile.bind(handle)
    handle.appendFile = async (...given) => {
      writes++
      expect(existsSync(place.path)).toBe(false)
      return write(...given)
    }
    return handle
  }
  await takeOver(await readForeignSession(path, 'newest_branch'), { ...place, openFile })
  expect(writes).toBeGreaterThan(0)
  const [prompt] = foldSession((await readJournal(place.path)).runs).transcript.messages()
  expect(JSON.stringify(prompt)).toContain(long)
  expect(readdirSync(folder()).filter((name) => name.includes('aside'))).toEqual(['aside', 'aside.jsonl'])
  const session = await readForeignSession(path, 'newest_branch')
  await expect(takeOver(session, place)).rejects.toThrow('already exists. Continue that one.')
})
