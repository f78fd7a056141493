// Tests R-JOUR-2 of docs/spec: messages that survive a compaction are not written again, neither in its step nor in the
// boundary.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, resume, startRun, type ContextManager, type RunOptions, type Model } from '@halting/core'
import { plainContext } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { foldSession, type StepRecord } from '@halting/core/steps'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readJournal, readForResume } from '../src/read-journal.ts'
import { openJournal, type JournalOptions } from '../src/open-journal.ts'

const sessionId = '11111111-2222-4333-8444-555555555555'
let folder: string
let written: string
const placeOf = (name: string): JournalOptions => ({
  path: join(folder, `${name}.jsonl`),
  sessionId,
  cwd: '/project',
  version: '0.1.0',
})

/** Every tenth request keeps only the newest messages, unchanged. */
const context: ContextManager = {
  ...plainContext,
  autoCompact: true,
  beforeRequest: ({ state }) => {
    const messages = state.transcript.messages()
    if (state.spent.request % 10 !== 0 || messages.length < 8) return undefined
    const kept = [{ role: 'user', content: 'A summary.' } as const, ...messages.slice(-6)]
    const result = { kind: 'compacted', messages: kept, preTokens: 300, postTokens: 40 } as const
    return { trigger: 'auto', run: async () => result }
  },
}

const optionsWith = (model: Model): RunOptions => ({
  model,
  context,
  tools: [
    {
      name: 'Look',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute: ({ n }: { readonly n: number }) => ({ content: `Result ${n} ä. ${'seen '.repeat(800)}` }),
    },
  ],
})

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halting-compacted-'))
  const looks = Array.from({ length: 30 }, (_, n) => ({
    text: `Reply ${n}.`,
    toolCalls: [
      { name: 'Look', input: { n } },
      { name: 'Look', input: { n: n + 100 } },
    ],
  }))
  const model = scriptedModel([...looks, 'done'], { contextWindow: 1_000_000 })
  const journal = await openJournal(placeOf('whole'))
  await streamRun(startRun({ prompt: 'Go.', sessionId }), { ...optionsWith(model), steps: journal.steps() }).result
  await journal.close()
  written = readFileSync(journal.path, 'utf8')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function boundariesIn(records: readonly StepRecord[]): readonly string[] {
  const added = records.flatMap((record) => (record.type === 'lap' ? record.lap.added : []))
  return added.flatMap((entry) => (entry.kind === 'compact_boundary' ? [JSON.stringify(entry.messages)] : []))
}

const times = (text: string, n: number): number => text.split(`Result ${n} ä`).length - 1

test('stores every result once in the file, and restores it wherever it is referenced', async () => {
  const { runs } = await readJournal(placeOf('whole').path)
  const boundaries = boundariesIn(runs.flat())
  expect(boundaries.length).toBe(3)
  expect(boundaries.map((text, index) => times(text, 10 * index + 8))).toEqual([1, 1, 1])
  for (let n = 0; n < 30; n++) expect([n, times(written, n), times(written, n + 100)]).toEqual([n, 1, 1])

  const byFolds = await readForResume(placeOf('whole').path, 'conversation')
  expect(byFolds.runs.flat().length).toBeLessThan(runs.flat().length / 3)
  expect(foldSession(byFolds.runs).transcript.toJSON()).toEqual(foldSession(runs).transcript.toJSON())
})

test.each(['before the compaction', 'before its boundary'])('stores references after a kill %s, too', async (when) => {
  const lines = written.split('\n')
  const all = lines.flatMap((line, index) => (line.includes('/compact:') ? [index] : []))
  const at = (all.at(-1) ?? 0) + (when === 'before its boundary' ? 1 : 0)
  const place = placeOf(when)
  writeFileSync(place.path, `${lines.slice(0, at).join('\n')}\n`)
  const journal = await openJournal(place)
  const model = scriptedModel(['done'], { contextWindow: 1_000_000 })
  await resume(journal.open ?? [], optionsWith(model), journal.transcript, journal.log).loop.result
  await journal.close()
  const text = readFileSync(place.path, 'utf8')
  const { runs } = await readJournal(place.path)
  expect(boundariesIn(runs.flat()).map((each) => times(each, 28))).toEqual([0, 0, 1])
  for (let n = 0; n < 29; n++) expect([n, times(text, n)]).toEqual([n, 1])
  expect(foldSession((await readForResume(place.path, 'conversation')).runs).transcript.toJSON()).toEqual(
    foldSession(runs).transcript.toJSON(),
  )
})
