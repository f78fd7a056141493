// Holds rules of docs/spec: R-SESS-8e: a list with an index equals the list without one, whatever happened to the files.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRun, streamRun } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { fileState, openJournal, SessionIndex, storedSessions } from '@halting/journal'
import { takeLock } from '@halting/journal/files'
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { FileCatalog } from '../../src/sessions/file-catalog.ts'
import { summariesOf } from '../../src/sessions/session-summaries.ts'
import { CatalogSource } from '../../src/view/catalog-source.ts'
import type { SessionRow } from '../../src/view/types.ts'

const folder = mkdtempSync(join(tmpdir(), 'halting-indexed-'))
const now = Date.now.bind(Date)
const key = 'my-own-service-key-123456'
const hello = `hello ${key}`
let texts: readonly string[] = []

beforeAll(async () => {
  const usage = { input_tokens: 900, output_tokens: 100 }
  const tools = [{ name: 'Look', description: '', inputSchema: { type: 'object' }, readOnly: true, execute: () => 'x' }]
  const look: ScriptedReply = { toolCalls: [{ name: 'Look', input: {} }], usage }
  const write = async (prompt: string, replies: readonly ScriptedReply[]): Promise<string> => {
    const path = join(folder, `${prompt.length}.jsonl`)
    const journal = await openJournal({ path, sessionId: 's', cwd: '/work', version: '0' })
    const model = scriptedModel([...replies, { text: 'Done.', usage }], { maxOutputTokens: 1_000 })
    const options = { model, tools, maxTurns: 9, steps: journal.steps() }
    await streamRun(startRun({ prompt, sessionId: 's', runId: prompt }), options).ended
    await journal.close()
    return readFileSync(path, 'utf8')
  }
  const ended = await write('look', [look, look])
  texts = [ended, await write(hello, []), await write(`long ${'x'.repeat(3_000)}`, [look])]
  texts = [...texts, `${ended}{"type":`, ended.slice(0, ended.trimEnd().lastIndexOf('\n') + 1), 'no session', '']
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.restoreAllMocks())

const base = (home: string): string => join(home, '.halting', 'projects')

async function summaries(home: string, index?: SessionIndex): Promise<unknown> {
  return summariesOf(await storedSessions({ cwd: '/', home, env: {} }, 'all'), index)
}

async function rows(home: string, index?: SessionIndex): Promise<readonly SessionRow[]> {
  const find = async () => (await storedSessions({ cwd: '/', home, env: {} }, 'all')).map(({ path }) => path)
  const source = new CatalogSource(
    new FileCatalog({
      title: '',
      find,
      prices: () => Promise.resolve({ cost: () => undefined, worstCase: () => undefined }),
      shellArguments: () => '',
      nextStep: () => Promise.resolve({ says: '' }),
      whyText: () => '',
      ...(index !== undefined && { index }),
    }),
  )
  const found: SessionRow[] = []
  for await (const row of source.list(new AbortController().signal)) found.push(row)
  return found
}

const anOperation = fc.record({
  session: fc.constantFrom('p/a', 'p/b', 'q/a'),
  text: fc.option(fc.nat(6), { freq: 5 }),
  // Lists of recently changed files write no index.
  later: fc.constantFrom(0, 10_000, 10_000),
})

test('an index changes no result, whatever happens to the files between lists', async () => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anOperation, { minLength: 2, maxLength: 8 }), async (operations) => {
      const home = join(folder, `home-${++count}`)
      for (const { session, text, later } of operations) {
        const path = `${join(base(home), session)}.jsonl`
        mkdirSync(join(path, '..'), { recursive: true })
        if (text === null) rmSync(path, { force: true })
        else writeFileSync(path, texts[text] ?? '')
        vi.spyOn(Date, 'now').mockImplementation(() => now() + later)
        expect(await summaries(home, new SessionIndex(base(home)))).toEqual(await summaries(home))
        expect(await rows(home, new SessionIndex(base(home)))).toEqual(await rows(home))
      }
    }),
    { numRuns: 12 },
  )
})

test('a session that a process is writing is listed as running, whatever the index has for it', async () => {
  const home = join(folder, 'held')
  const path = join(base(home), 'p', 'a.jsonl')
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, texts[0] ?? '')
  vi.spyOn(Date, 'now').mockImplementation(() => now() + 10_000)
  const index = () => new SessionIndex(base(home))
  const free = await summaries(home, index())
  const lock = await takeLock(`${path}.lock`)
  expect(await summaries(home, index())).toEqual(await summaries(home))
  expect(await summaries(home, index())).toMatchObject([{ heldBy: process.pid }])
  if (lock.kind === 'locked') await lock.release()
  expect(await summaries(home, index())).toEqual(free)
})

test('a list with an index equals the list without one, whatever the index has for a file', async () => {
  const home = join(folder, 'hostile')
  mkdirSync(join(base(home), 'p'), { recursive: true })
  const path = join(base(home), 'p', 'a.jsonl')
  writeFileSync(path, texts[0] ?? '')
  vi.spyOn(Date, 'now').mockImplementation(() => now() + 10_000)
  const [summary, listed] = [await summaries(home), await rows(home)]
  await summaries(home, new SessionIndex(base(home)))
  await rows(home, new SessionIndex(base(home)))
  const state = fileState(statSync(path))
  const index = new SessionIndex(base(home))
  const good = { summary: index.get(path, state, 'summary'), row: index.get(path, state, 'row') }
  const isValue = fc.oneof(
    fc.constantFrom(null, -1, 'x', true, [], {}, [{}], [null], [1], { nested: [] }),
    fc.jsonValue(),
  )
  // Values of the right type may be anything: they are what a list with the same permissions wrote.
  const otherType = (before: unknown, now: unknown) =>
    before === undefined || typeof before !== typeof now || Array.isArray(before) !== Array.isArray(now)
  const property = fc.asyncProperty(fc.constantFrom('summary', 'row'), fc.nat(), isValue, async (part, nth, value) => {
    const fields = Object.entries(good[part] as object) as [string, unknown][]
    const more = ['path', 'sessionId', 'project', 'changedAt', 'heldBy', 'problem', 'isLive', 'key', '__proto__']
    const names = [...fields.map(([name]) => name), ...(part === 'summary' ? more : [])]
    const name = names[nth % names.length] ?? ''
    const before = fields.find(([each]) => each === name)?.[1]
    fc.pre(otherType(before, value) && name !== 'title')
    const changed = Object.fromEntries([...fields.filter(([each]) => each !== name), [name, value]])
    const written = new SessionIndex(base(home))
    written.note(path, state, part, nth % 7 === 0 ? value : changed)
    written.save()
    expect(await summaries(home, new SessionIndex(base(home)))).toEqual(summary)
    expect(await rows(home, new SessionIndex(base(home)))).toEqual(listed)
  })
  await fc.assert(property, { numRuns: 40 })
  // A run of a row.
  const run = { ...(good.row as { readonly runs: readonly object[] }).runs[0] }
  for (const [name] of Object.entries(run)) {
    const written = new SessionIndex(base(home))
    written.note(path, state, 'row', { ...(good.row as object), runs: [{ ...run, [name]: { x: 1 } }] })
    written.save()
    expect(await rows(home, new SessionIndex(base(home)))).toEqual(listed)
  }
})

test("unchanged files are not read again, and a key of this process is dropped from another one's index", async () => {
  const home = join(folder, 'home')
  mkdirSync(join(base(home), 'p'), { recursive: true })
  const path = join(base(home), 'p', 'a.jsonl')
  writeFileSync(path, texts[1] ?? '')
  vi.spyOn(Date, 'now').mockImplementation(() => now() + 10_000)
  await summaries(home, new SessionIndex(base(home)))
  await rows(home, new SessionIndex(base(home)))
  const index = readFileSync(join(base(home), 'p', '.sessions-index'), 'utf8')
  expect(index).toContain(hello)
  const note = vi.spyOn(SessionIndex.prototype, 'note')
  expect(await summaries(home, new SessionIndex(base(home)))).toMatchObject([{ firstPrompt: hello }])
  expect(await rows(home, new SessionIndex(base(home)))).toMatchObject([{ title: hello, turns: 1 }])
  vi.stubEnv('ANTHROPIC_API_KEY', key)
  expect(await summaries(home, new SessionIndex(base(home)))).toMatchObject([{ firstPrompt: 'hello [REDACTED]' }])
  expect(await rows(home, new SessionIndex(base(home)))).toMatchObject([{ title: 'hello [REDACTED]' }])
  expect(note).not.toHaveBeenCalled()
  vi.unstubAllEnvs()
})
