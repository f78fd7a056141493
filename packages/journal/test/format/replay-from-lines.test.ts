// Tests R-RES-7 and R-JOUR-11 of docs/spec: a journal replays the events that the run emitted.
import { endings } from '@halting/core'
import { explore, scenarios } from '@halting/explorer'
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { JournalEncoder } from '../../src/format/encoder.ts'
import { parseJournal } from '../../src/read-journal.ts'

/** Per scenario. */
const maxPaths = 12

/** Writes the records to lines and reads them back. */
async function throughLines(records: readonly StepRecord[]): Promise<readonly StepRecord[]> {
  const encoder = new JournalEncoder({ sessionId: 'a', cwd: '/project', version: '0.1.0' })
  let lines = encoder.head()
  for (const record of records) {
    const encoded = encoder.linesOf(record)
    expect(encoded.payloads).toEqual([])
    lines += encoded.lines
  }
  const { runs, tornBytes } = parseJournal(Buffer.from(lines), '/nowhere/a.jsonl')
  expect([runs.length, tornBytes]).toEqual([1, 0])
  return runs[0] ?? []
}

const seen = new Set<string>()

// The replay emits every event of the run except live ones, and ends in the same way.
test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
  'replays %s',
  async (_name, scenario) => {
    let taken = 0
    const keep = (records: readonly StepRecord[]): Promise<readonly StepRecord[]> => {
      taken++
      return throughLines(records)
    }
    const { terminals } = await explore(scenario, { kills: 'none', roundTrip: keep, maxPaths })
    for (const reason of Object.keys(terminals)) seen.add(reason)
    expect(taken + (scenario.abandons === true ? 1 : 0)).toBeGreaterThan(0)
  },
  600_000,
)

test('has covered every ending', () => {
  expect(Object.keys(endings).filter((reason) => !seen.has(reason))).toEqual([])
})
