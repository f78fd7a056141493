// Tests R-LIM-81 of docs/spec: the times of day at which a run did something.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { JournalEncoder } from '../../src/format/encoder.ts'
import { readJournal } from '../../src/read-journal.ts'
import { place, recordsOfLooking } from '../support/reading-run.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-clocks-'))
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

test('reports clock points at the start, and after a run slept or was resumed', async () => {
  const call = (id: string): { name: string; id: string } => ({ name: 'Look', id })
  const records = await recordsOfLooking([{ toolCalls: [call('a')] }, { toolCalls: [call('b')] }, 'done'])
  const encoder = new JournalEncoder(place)
  const began = Date.UTC(2026, 10, 28, 23, 50)
  vi.useFakeTimers({ toFake: ['Date'], now: began })
  const lines = [encoder.head()]
  let replies = 0
  let [first, later] = [0, 0]
  for (const record of records) {
    if (record.type === 'result' && record.key.includes('/model:')) {
      replies++
      if (replies === 1) first = record.at + record.durationMs
      if (replies === 3) {
        vi.setSystemTime(began + 8 * 3_600_000)
        later = record.at + record.durationMs
      }
    }
    lines.push(encoder.linesOf(record).lines)
  }
  const path = join(folder, 'a.jsonl')
  writeFileSync(path, lines.join(''))
  for (const intents of ['all', 'open'] as const) {
    const { clocks } = await readJournal(path, { intents })
    expect(clocks).toEqual([
      [
        [first, began],
        [later, began + 8 * 3_600_000],
      ],
    ])
  }
})
