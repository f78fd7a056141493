// Holds R-REP-3b of docs/spec: files that were copied, by a backup or by hand. The list of the inspector, `report` and `what-if` count each run once.
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type SessionSource, CatalogSource } from '@halting/analysis/view'
import { beforeAll, expect, test } from 'vitest'
import { openFileCatalog } from '../../src/inspect/file-catalog.ts'
import type { Report } from '@halting/analysis/report'
import type { WhatIfAnswers } from '@halting/analysis'
import { toolReply, storeSession, textReply, sessionPath } from '../support/store-session.ts'
import { programInMemory } from '../support/program-in-memory.ts'
import { here, installProgram, run } from '../support/program.ts'

installProgram()

const [kept, other] = ['a', 'b'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000001`) as [string, string]
const samples = join(import.meta.dirname, '../../../analysis/test/foreign/samples')
const folderOf = (name: string): string => join(here(), name)

beforeAll(async () => {
  for (const name of ['once', 'twice', 'twice/a-backup', 'twice/z-backup'])
    mkdirSync(folderOf(name), { recursive: true })
  const into = (file: string, ...names: readonly string[]): void => {
    for (const name of names) copyFileSync(file, join(folderOf(name), basename(file)))
  }
  await storeSession(kept, [
    toolReply(['Read', { file_path: 'a' }]),
    toolReply(['Edit', { file_path: 'a' }]),
    textReply('done'),
  ])
  const early = readFileSync(sessionPath(kept))
  await storeSession(kept, [toolReply(['Read', { file_path: 'b' }]), textReply('done')])
  // The copy was made while the first run was active.
  writeFileSync(join(folderOf('twice/a-backup'), basename(sessionPath(kept))), early.subarray(0, early.length / 2))
  into(sessionPath(kept), 'once', 'twice', 'twice/z-backup')
  // Sessions with the same prompt are not copies of each other.
  await storeSession(other, [toolReply(['Read', { file_path: 'b' }]), textReply('done')])
  into(sessionPath(other), 'once', 'twice')
  copyFileSync(sessionPath(other), join(folderOf('twice'), 'renamed.jsonl'))
  for (const sample of ['claude-code-polling', 'codex-rollout-0'])
    into(join(samples, `${sample}.jsonl`), 'once', 'twice', 'twice/z-backup')
})

interface Sums {
  readonly runs: number
  readonly turns: number
  readonly nanos: number
}

/** The totals of the rows of a list. */
async function listed(source: SessionSource): Promise<Sums> {
  const sums = { runs: 0, turns: 0, nanos: 0 }
  for await (const { runs, copiedRuns, turns, costUsd } of source.list(new AbortController().signal)) {
    sums.runs += runs - copiedRuns
    sums.turns += turns
    sums.nanos += Math.round(costUsd * 1e9)
  }
  return sums
}

async function sourceOf(name: string): Promise<SessionSource> {
  return new CatalogSource(await openFileCatalog({}, [name], programInMemory({ cwd: here(), env: { HOME: here() } })))
}

async function json(...args: readonly string[]): Promise<unknown> {
  const { status, stdout, stderr } = await run([...args, '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

// True: the program's own output.
const reportOf = async (name: string): Promise<Report> => (await json('report', name)) as Report
const whatIfOf = async (name: string): Promise<WhatIfAnswers> =>
  (await json('what-if', name, '--max-turns', '1')) as WhatIfAnswers

const copies = '5 runs are copies and are not counted here; they count in their original sessions.'

test('counts a run once in a report, with its most complete record, and says so', async () => {
  const [once, twice] = [await reportOf('once'), await reportOf('twice')]
  const { totals, sessions, endings, byDay, byModel, tools, open, programs } = once
  expect(twice).toMatchObject({ totals, sessions, endings, byDay, byModel, tools, open, programs })
  expect(once.notes).not.toContain(copies)
  expect(twice.notes).toContain(copies)
  const { stdout } = await run(['report', 'twice'])
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(copies)
})

test('analyzes a run once in what-if, and says so', async () => {
  const [once, twice] = [await whatIfOf('once'), await whatIfOf('twice')]
  expect(twice.answers).toHaveLength(once.answers.length)
  expect(twice.notes).toContain(copies)
})

test('counts a run once in the list of the inspector, even after its file is read again', async () => {
  const once = await listed(await sourceOf('once'))
  const source = await sourceOf('twice')
  expect(await listed(source)).toEqual(once)
  for (const folder of ['twice', 'twice/z-backup']) {
    utimesSync(join(folderOf(folder), basename(sessionPath(kept))), 1, 1)
    expect(await listed(source)).toEqual(once)
  }
})
