// Holds rules of docs/spec: R-REP-3a, R-IF-8b.
// A folder with forks, and with what was taken over from another program: the list of the inspector, `report` and `what-if` count each run once.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { forkSession, openJournal } from '@halting/journal'
import { readForeignSession, takeOver } from '@halting/analysis/foreign'
import { streamRun, startRun } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { type SessionRow, CatalogSource, type CatalogSessionSource } from '@halting/analysis/view'
import { beforeAll, expect, test } from 'vitest'
import { openFileCatalog } from '../../src/inspect/file-catalog.ts'
import type { Report } from '@halting/analysis/report'
import type { WhatIfAnswers } from '@halting/analysis'
import { toolReply, storeSession, textReply, sessionPath } from '../support/store-session.ts'
import { programInMemory } from '../support/program-in-memory.ts'
import { here, installProgram, run } from '../support/program.ts'

installProgram()

const ids = ['a', 'b', 'c', 'd', 'e'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000001`)
const [origin = '', fork = '', grandchild = '', untouched = '', taken = ''] = ids
const sample = join(import.meta.dirname, '../../../analysis/test/foreign/samples/claude-code-polling.jsonl')
const fileOf = (id: string): string => join(here(), 'forks', `${id}.jsonl`)

/** A run in an existing session. */
async function resumeSession(sessionId: string, prompt: string): Promise<void> {
  const journal = await openJournal({ path: fileOf(sessionId), sessionId, cwd: here(), version: '0' })
  const model = scriptedModel([{ text: 'done', usage: { input_tokens: 500, output_tokens: 10 } }], {
    maxOutputTokens: 100,
  })
  const start = startRun({ prompt, sessionId, transcript: journal.transcript })
  await streamRun(start, { model, steps: journal.steps() }).result
  await journal.close()
}

beforeAll(async () => {
  mkdirSync(join(here(), 'forks'))
  await storeSession(origin, [
    toolReply(['Read', { file_path: 'a' }]),
    toolReply(['Edit', { file_path: 'a' }]),
    textReply('done'),
  ])
  await storeSession(origin, [toolReply(['Read', { file_path: 'b' }]), textReply('done')])
  copyFileSync(sessionPath(origin), fileOf(origin))
  const place = (sessionId: string) => ({ path: fileOf(sessionId), sessionId, cwd: here(), version: '0' })
  await forkSession(fileOf(origin), place(fork))
  await resumeSession(fork, 'more')
  await forkSession(fileOf(fork), place(grandchild))
  await resumeSession(grandchild, 'and more')
  await forkSession(fileOf(origin), place(untouched))
  copyFileSync(sample, fileOf('polling'))
  await takeOver(await readForeignSession(sample), place(taken))
})

async function shelf(...words: readonly string[]): Promise<CatalogSessionSource> {
  const program = programInMemory({ cwd: here(), env: { HOME: here() } })
  return new CatalogSource(await openFileCatalog({}, words, program))
}

async function listed(): Promise<readonly SessionRow[]> {
  const rows: SessionRow[] = []
  for await (const row of (await shelf('forks')).list(new AbortController().signal)) rows.push(row)
  return rows.toSorted((a, b) => a.key.localeCompare(b.key))
}

async function whatIf(...args: readonly string[]): Promise<WhatIfAnswers> {
  const { status, stdout, stderr } = await run(['what-if', ...args, '--max-turns', '1', '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  // True: the program's own output.
  return JSON.parse(stdout) as WhatIfAnswers
}

interface Sums {
  readonly runs: number
  readonly turns: number
  readonly tokens: number
  readonly costUsd: number
}

const plus = (sums: readonly Sums[]): Sums => ({
  runs: sums.reduce((sum, { runs }) => sum + runs, 0),
  turns: sums.reduce((sum, { turns }) => sum + turns, 0),
  tokens: sums.reduce((sum, { tokens }) => sum + tokens, 0),
  costUsd: Math.round(sums.reduce((sum, { costUsd }) => sum + costUsd, 0) * 1e9) / 1e9,
})

test('gives the same totals in the list, the report and what-if', async () => {
  const list = plus((await listed()).map((row) => ({ ...row, runs: row.runs - row.copiedRuns })))
  const { stdout } = await run(['report', 'forks', '--json'])
  // As above.
  const { totals } = JSON.parse(stdout) as Report
  const { runs, turns, tokens, costUsd } = totals
  expect(list).toEqual({ runs, turns, tokens, costUsd })
  const { answers } = await whatIf('forks')
  const each = answers.map(({ answer: { kept, saved } }) => plus([kept, saved].map((part) => ({ ...part, runs: 0 }))))
  expect({ ...plus(each), runs: answers.length }).toEqual(list)
})

test('marks copied runs in the list, and leaves out their figures', async () => {
  expect((await listed()).map(({ key, runs, copiedRuns, turns }) => ({ key, runs, copiedRuns, turns }))).toEqual([
    { key: origin, runs: 2, copiedRuns: 0, turns: 5 },
    { key: fork, runs: 3, copiedRuns: 2, turns: 1 },
    { key: grandchild, runs: 4, copiedRuns: 3, turns: 1 },
    { key: untouched, runs: 2, copiedRuns: 2, turns: 0 },
    { key: taken, runs: 1, copiedRuns: 1, turns: 0 },
    { key: 'polling', runs: 1, copiedRuns: 0, turns: expect.any(Number) as number },
  ])
})

test('shows an opened fork completely, and marks copied runs', async () => {
  const view = await (await shelf(fileOf(fork))).session(fork)
  expect(view?.runs.map(({ isCopy }) => isCopy)).toEqual([true, true, false])
  expect(view?.row).toMatchObject({ runs: 3, copiedRuns: 2, turns: 6 })
})

test('says in what-if over a folder what is left out; analyzes a fork completely if it is named alone', async () => {
  const { notes, runs } = await whatIf('forks')
  expect(runs).toBe(5)
  expect(notes).toContain('8 runs are copies and are not counted here; they count in their original sessions.')
  const alone = await whatIf(fileOf(fork))
  expect(alone.answers.map(({ run: name, isCopy }) => [name, isCopy])).toEqual([
    ['run1', true],
    ['run2', true],
    ['run3', false],
  ])
  const { stdout } = await run(['what-if', fileOf(fork), '--max-turns', '1'])
  expect(stdout).toContain('bbbbbbbb run1, a copy\n')
  const both = await whatIf(fileOf(origin), fileOf(untouched))
  expect(both.answers.map(({ session }) => session)).toEqual([origin, origin])
})
