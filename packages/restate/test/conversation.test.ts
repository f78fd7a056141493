import type { StepRecord } from '@halting/core/steps'
import { array, assert, asyncProperty, integer, option } from 'fast-check'
import { expect, test } from 'vitest'
import { Conversation } from '../src/service/conversation.ts'
import { recordsKey, readRecordsPage } from '../src/service/stored-records.ts'
import { MemoryPayloads, MemoryState } from './support/memory-state.ts'

/** A record of about this many bytes. */
function recordOf(bytes: number, entries: number): StepRecord {
  return { type: 'rewind', entries, after: 'x'.repeat(bytes) }
}

async function append(state: MemoryState, records: readonly StepRecord[], store?: MemoryPayloads): Promise<void> {
  const conversation = await Conversation.read(state, store)
  await conversation.append(records, (put) => put())
}

async function read(state: MemoryState, store?: MemoryPayloads): Promise<readonly StepRecord[]> {
  return (await (await Conversation.read(state, store)).records()).ended
}

const sizes = array(array(integer({ min: 0, max: 40_000 }), { maxLength: 4 }), { maxLength: 40 })

test('appended records are read in order, with and without a payload store, and no value is large', async () => {
  await assert(
    asyncProperty(sizes, option(integer({ min: 0, max: 50_000 })), async (runs, inlineBytes) => {
      const state = new MemoryState()
      const store = inlineBytes === null ? undefined : new MemoryPayloads(inlineBytes)
      const all: StepRecord[] = []
      for (const run of runs) {
        const records = run.map((bytes, index) => recordOf(bytes, all.length + index))
        all.push(...records)
        await append(state, records, store)
      }
      expect(await read(state, store)).toEqual(all)
      const largest = Math.max(0, ...[...state.values.values()].map(({ length }) => length))
      expect(largest).toBeLessThan(inlineBytes === null ? 1_100_000 : Math.max(inlineBytes, 20_000) + 1_000)
    }),
  )
})

test('a long run is split into pieces, and an oversized record gets its own', async () => {
  const state = new MemoryState()
  const records = [700_000, 700_000, 3_000_000, 10, 10].map(recordOf)
  await append(state, records)
  expect(await read(state)).toEqual(records)
  expect(
    [...state.values].filter(([key]) => key.startsWith('conversation/')).map(([, text]) => text.length > 1_100_000),
  ).toEqual([false, false, true, false])
})

test('with 500 runs of 4 kB, a prompt reads few pieces and writes a small part', async () => {
  const state = new MemoryState()
  for (let run = 0; run < 500; run++) await append(state, [recordOf(4_000, run)])
  const pieces = [...state.values.keys()].filter((key) => key.startsWith('conversation/'))
  expect(pieces.length).toBeLessThan(15)
  // Rewritten with each run it would be 500 MB.
  expect(state.writtenBytes).toBeLessThan(20 * 500 * 4_000)
  state.readBytes = 0
  await append(state, [recordOf(4_000, 500)])
  expect(state.readBytes).toBeLessThan(501 * 4_200)
})

test('with 500 runs of 4 kB in a payload store, a prompt reads little from the engine', async () => {
  const state = new MemoryState()
  const store = new MemoryPayloads(64_000)
  for (let run = 0; run < 500; run++) await append(state, [recordOf(4_000, run)], store)
  state.readBytes = 0
  await Conversation.read(state, store)
  expect(state.readBytes).toBeLessThan(2 * 64_000 + 10_000)
})

test('data of a later version is not read', async () => {
  const state = new MemoryState()
  state.set('conversation', { format: 99, somewhere: 'else' })
  expect((await Conversation.read(state, undefined)).format).toBe(99)
})

test('records are read from any number on, in answers of limited size', async () => {
  const state = new MemoryState()
  const records = Array.from({ length: 300 }, (_, index) => recordOf(20_000, index))
  for (let first = 0; first < records.length; first += 3)
    state.set(recordsKey(first), { first, records: records.slice(first, first + 3) })
  const writes: unknown[] = []
  let answers = 0
  for (;;) {
    const answer = await readRecordsPage(state, writes.length, undefined)
    expect(answer.first).toBe(writes.length)
    if (answer.records.length === 0) break
    answers++
    writes.push(...answer.records)
  }
  expect(writes).toEqual(records)
  expect(answers).toBeLessThan(8)
  expect((await readRecordsPage(state, 100, undefined)).records.at(0)).toEqual(records[100])
  expect(await readRecordsPage(state, 300, undefined)).toEqual({ first: 300, records: [] })
})
