// Holds rules of docs/spec: R-LIST-9a
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, startRun, type Model, type Tool } from '@halting/core'
import { openJournal } from '@halting/journal'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FileCatalog } from '../../src/sessions/file-catalog.ts'
import { CatalogSource } from '../../src/view/catalog-source.ts'
import type { SessionView } from '../../src/view/types.ts'

const folder = await mkdtemp(join(tmpdir(), 'halting-long-'))
afterAll(() => rm(folder, { recursive: true }))

const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** Appends a run of this number of turns, each with a call whose result is long. */
async function addRun(
  path: string,
  { turns, prompt = 'Go.' }: { readonly turns: number; readonly prompt?: string },
): Promise<void> {
  const journal = await openJournal({ path, sessionId: 'long', cwd: '/project', version: '0.0.0' })
  let turn = 0
  const model: Model = {
    id: 'm',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 1_000,
    async call() {
      const id = `msg_${turn}`
      const head = { role: 'assistant' as const, id, model: 'm', usage }
      if (turn < turns) {
        const call = { type: 'tool_use' as const, id: `call_${turn++}`, name: 'look', input: { path: `file-${turn}` } }
        return { message: { ...head, content: [call], stop_reason: 'tool_use' as const } }
      }
      return { message: { ...head, content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' as const } }
    },
  }
  const look: Tool = {
    name: 'look',
    description: 'Looks at a file.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 'x'.repeat(40_000),
  }
  const run = streamRun(startRun({ prompt, sessionId: 'long' }), {
    model,
    tools: [look],
    maxTurns: turns + 1,
    steps: journal.steps(),
  })
  await run.ended
  await journal.close()
}

function sourceOf(path: string): CatalogSource<Awaited<ReturnType<FileCatalog['list']>>[number]> {
  const shelf = new FileCatalog({
    title: 'a test',
    find: () => Promise.resolve([path]),
    prices: () => Promise.resolve({ cost: () => undefined, worstCase: () => undefined }),
    shellArguments: () => path,
    nextStep: () => Promise.resolve({ says: '' }),
    whyText: () => 'why',
  })
  return new CatalogSource(shelf)
}

/** The newest view that a source read. @throws Error without a view. */
async function viewFrom(source: ReturnType<typeof sourceOf>, requested?: 'beginning'): Promise<SessionView> {
  const key = (await source.onlyKey()) ?? ''
  const view = await source.session(key, requested)
  if (view === undefined) throw new Error('It is there.')
  return view
}

const long = join(folder, 'long.jsonl')
beforeAll(async () => {
  await addRun(long, { turns: 110 })
})

test('a long session is shown by its beginning, with the totals of all of it, until it has been read', async () => {
  expect((await stat(long)).size).toBeGreaterThan(4_000_000)
  const source = sourceOf(long)
  const begun = await viewFrom(source, 'beginning')
  const { key } = begun.row
  expect(begun.isBeginning).toBe(true)
  const [first] = begun.runs
  const count = first?.parts ?? 0
  expect(count).toBeGreaterThan(10)
  expect(count).toBeLessThan(200)
  // Requests for that beginning are answered, also while the rest is being read.
  const reading = viewFrom(source)
  const parts = await source.parts(key, 0, 0, count - 2)
  const records = await source.records(key, 0, 0, 20)
  const whole = await reading
  expect(whole.isBeginning).toBeUndefined()
  const { runs, turns, ending, exitCode, title } = whole.row
  expect(begun.row).toMatchObject({ runs, turns, ending, exitCode, title })
  expect(turns).toBe(111)
  expect(await source.parts(key, 0, 0, count - 2)).toEqual(parts)
  expect(await source.records(key, 0, 0, 20)).toEqual(records)
  expect((await source.parts(key, 0, 0, 1_000)).length).toBe(whole.runs[0]?.parts)
  // Bars that start in the beginning are those of the whole session, except for turns that continue.
  const ended = first?.items.filter(({ kind, endMs }) => kind === 'tool' && endMs !== null) ?? []
  expect(ended.length).toBeGreaterThan(3)
  expect(whole.runs[0]?.items).toEqual(expect.arrayContaining(ended))
  // Once all of it has been read, nobody receives less.
  expect((await viewFrom(source, 'beginning')).isBeginning).toBeUndefined()
})

test('requests beyond the beginning are answered once all of the session has been read', async () => {
  const source = sourceOf(long)
  const { row } = await viewFrom(source, 'beginning')
  const last = await source.parts(row.key, 0, 110, 10)
  expect(last.at(-1)).toMatchObject({ kind: 'answer', text: 'Done.' })
})

test('damage after the beginning is reported once all of the session has been read', async () => {
  const damaged = join(folder, 'damaged.jsonl')
  const text = await readFile(long, 'utf8')
  const at = text.indexOf('\n', 3_000_000) + 20
  await writeFile(damaged, `${text.slice(0, at)}#${text.slice(at + 1)}`)
  const source = sourceOf(damaged)
  expect((await viewFrom(source, 'beginning')).isBeginning).toBe(true)
  await expect(viewFrom(source)).rejects.toThrow('is damaged in line')
  // A session that is damaged in its beginning has none.
  await writeFile(damaged, `${text.slice(0, 50_000)}#${text.slice(50_001)}`)
  await expect(viewFrom(sourceOf(damaged), 'beginning')).rejects.toThrow('is damaged in line')
})

test('a short session, one whose run continues and one that starts with a long record have no beginning', async () => {
  const [short, open, wide] = ['short', 'open', 'wide'].map((name) => join(folder, `${name}.jsonl`)) as [
    string,
    string,
    string,
  ]
  await addRun(short, { turns: 3 })
  expect((await viewFrom(sourceOf(short), 'beginning')).isBeginning).toBeUndefined()
  await addRun(wide, { turns: 110, prompt: 'long '.repeat(180_000) })
  expect((await stat(wide)).size).toBeGreaterThan(4_000_000)
  expect((await viewFrom(sourceOf(wide), 'beginning')).isBeginning).toBeUndefined()
  const lines = (await readFile(long, 'utf8')).trimEnd().split('\n')
  await writeFile(open, `${lines.slice(0, -1).join('\n')}\n`)
  expect((await stat(open)).size).toBeGreaterThan(4_000_000)
  expect((await viewFrom(sourceOf(open), 'beginning')).isBeginning).toBeUndefined()
})

test('a session that grows is read again, and its beginning includes the new runs', async () => {
  const growing = join(folder, 'growing.jsonl')
  await writeFile(growing, await readFile(long))
  const source = sourceOf(growing)
  expect((await viewFrom(source)).runs).toHaveLength(1)
  await addRun(growing, { turns: 2 })
  const begun = await viewFrom(source, 'beginning')
  expect(begun.row).toMatchObject({ runs: 2, ending: 'completed' })
  expect(begun.runs).toHaveLength(begun.isBeginning === true ? 1 : 2)
  expect((await viewFrom(source)).runs).toHaveLength(2)
  // A line that is being written is not a record yet.
  await appendFile(growing, '{"type":"half')
  expect((await viewFrom(source, 'beginning')).runs).toHaveLength(2)
})
