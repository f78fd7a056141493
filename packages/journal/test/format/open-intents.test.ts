// Tests R-JOUR-4 of docs/spec: unparsed lines are checked like all others, and add no information.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trajectoryOf } from '@halting/analysis'
import type { StepRecord } from '@halting/core/steps'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { JournalEncoder } from '../../src/format/encoder.ts'
import { readJournal } from '../../src/read-journal.ts'
import { place, recordsOfLooking } from '../support/reading-run.ts'

let folder: string
let records: readonly StepRecord[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halting-intents-'))
  const call = (id: string): { name: string; id: string } => ({ name: 'Look', id })
  const replies = [
    { text: 'One ä😀', toolCalls: [call('a'), call('b"\\c')] },
    { text: 'Two', toolCalls: [call('d'), call('e')] },
    'done',
  ]
  records = await recordsOfLooking(replies)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const path = (): string => join(folder, 'a.jsonl')

function write(some: readonly StepRecord[]): void {
  const encoder = new JournalEncoder(place, undefined, 2_000)
  writeFileSync(path(), [encoder.head(), ...some.map((record) => encoder.linesOf(record).lines)].join(''))
}

/** Its result is recorded, and the turn of the result is over. */
function isSettled(record: StepRecord, index: number, all: readonly StepRecord[]): boolean {
  if (record.type !== 'intent') return false
  const result = all.findIndex((other, at) => at > index && other.type === 'result' && other.key === record.key)
  return result > 0 && all.some(({ type }, at) => at > result && (type === 'lap' || type === 'end'))
}

test('omits only settled intents after a kill at any record, with the same trajectory', async () => {
  let left = 0
  for (let length = 1; length <= records.length; length++) {
    write(records.slice(0, length))
    const [all = []] = (await readJournal(path())).runs
    const { runs, written } = await readJournal(path(), { intents: 'open' })
    const expected = all.filter((record, index) => !isSettled(record, index, all) || escaped(record))
    expect(runs).toEqual([expected])
    expect(written.lines).toBe(readFileSync(path(), 'utf8').split('\n').length - 1)
    expect(trajectoryOf(expected)).toEqual(trajectoryOf(all))
    left += all.length - expected.length
  }
  expect(left).toBeGreaterThan(20)
})

/** An intent whose key needs escapes is parsed and kept. */
function escaped(record: StepRecord): boolean {
  return record.type === 'intent' && record.key.includes('"')
}

test('reports damage in an unparsed line like any other', async () => {
  write(records)
  const lines = readFileSync(path(), 'utf8').split('\n')
  const number = lines.findIndex((line) => line.includes('"type":"intent"'))
  writeFileSync(path(), lines.with(number, (lines[number] ?? '').replace('granted', 'grantet')).join('\n'))
  await expect(readJournal(path(), { intents: 'open' })).rejects.toThrow(`is damaged in line ${number + 1}`)
})
