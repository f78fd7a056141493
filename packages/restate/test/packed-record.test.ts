// Holds rules of docs/spec: R-GROW-1, R-GROW-1a: long texts of records are stored once.
import type { StepRecord } from '@halting/core/steps'
import { array, assert, asyncProperty, integer, letrec, object, option, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { packRecords, decodeBatch, unpackRecords } from '../src/engine/batch.ts'
import { ClusterLog } from '../src/engine/cluster-log.ts'
import { packRecord, unpackRecord } from '../src/engine/packed-record.ts'
import { SessionTexts, compressText, textKey } from '../src/engine/session-texts.ts'
import { recordsKey, readRecordsPage } from '../src/service/stored-records.ts'
import { MemoryPayloads, MemoryState } from './support/memory-state.ts'

const { value } = letrec((tie) => ({
  value: object({
    maxDepth: 3,
    values: [integer(), string(), integer({ min: 0, max: 9_000 }).map((length) => 'ä"\\n€x'.repeat(length / 6))],
  }).map((fields) => fields as unknown),
  nested: array(tie('value')),
}))
const result = (key: string, of: unknown): StepRecord => ({
  type: 'result',
  key,
  digest: null,
  value: of,
  at: 1,
  durationMs: 1,
})

/** As JSON. */
const plain = (one: unknown): unknown => JSON.parse(JSON.stringify(one))

test('a packed record is restored unchanged, whatever is in it and wherever its long texts are', async () => {
  await assert(
    asyncProperty(
      value,
      option(integer({ min: 0, max: 20_000 })),
      record({ key: string() }),
      async (of, inlineBytes, { key }) => {
        const store = inlineBytes === null ? undefined : new MemoryPayloads(inlineBytes)
        const before = result(key, of)
        const packing = packRecord(JSON.stringify(before), store)
        if (packing === undefined) return
        const texts = new SessionTexts()
        for (const [sha256, text] of packing.texts) {
          texts.add(sha256, await compressText(text))
          await store?.put(text)
        }
        expect(await unpackRecord(plain(packing.packed) as typeof packing.packed, store, texts)).toEqual(plain(before))
      },
    ),
    { numRuns: 50 },
  )
})

test('a text of several records is sent to the engine once and read from each of them', async () => {
  const text = 'line of a file\n'.repeat(10_000)
  const known = new SessionTexts()
  const log = new ClusterLog(undefined, known)
  const records = [result('a', { content: text }), result('b', [text, text]), result('c', 'short')]
  for (const each of records) log.append(each)
  const first = await log.take()
  // Such a text is compressed.
  expect(first.length).toBeLessThan(text.length / 10)
  expect((await decodeBatch(first, undefined, known)).records).toEqual(records)
  log.onBatchStored()
  log.append(result('d', text))
  const second = await log.take()
  expect(JSON.parse(second)).not.toHaveProperty('texts')
  const { stored: storedRecords, records: whole, format } = await decodeBatch(second, undefined, known)
  expect({ format, types: storedRecords.map(({ type }) => type), whole }).toEqual({
    format: 2,
    types: ['packed'],
    whole: [result('d', text)],
  })
})

test('a record without long texts is written in the earlier format', async () => {
  const log = new ClusterLog()
  log.append(result('a', 'x'.repeat(4_000)))
  const text = await log.take()
  expect(JSON.parse(text)).toMatchObject({ format: 1, records: [{ type: 'result' }] })
})

test("records of another session are packed like the session's own", async () => {
  const text = 'line of a file\n'.repeat(1_000)
  const records = [result('a', text), result('b', 'short'), result('c', [text, 'z'.repeat(30_000)])]
  const store = new MemoryPayloads(20_000)
  const { kept: packedRecords, texts } = await packRecords(records, store)
  expect(packedRecords.map(({ type }) => type)).toEqual(['packed', 'result', 'packed'])
  // One occurs twice, and the longest is in the payload store.
  expect(Object.keys(texts).length).toBe(1)
  const known = new SessionTexts()
  for (const [sha256, stored] of Object.entries(texts)) known.add(sha256, stored)
  expect(await unpackRecords(packedRecords, store, known)).toEqual(records)
})

test('readers get complete records, and oversized ones by reference', async () => {
  const store = new MemoryPayloads(20_000)
  const state = new MemoryState()
  const small = result('a', 'a text. '.repeat(1_000))
  const large = result(
    'b',
    Array.from({ length: 300 }, (_, at) => `${at} `.repeat(10_000)),
  )
  const packings = [small, large].map((each) => packRecord(JSON.stringify(each), store))
  for (const packing of packings)
    for (const [sha256, text] of packing?.texts ?? [])
      if (text.length > 20_000) await store.put(text)
      else state.set(textKey(sha256), text)
  state.set(recordsKey(0), { first: 0, records: packings.map((packing) => packing?.packed) })
  const { records } = await readRecordsPage(state, 0, store)
  const [first, second] = records
  expect(first).toEqual(small)
  expect(second?.type).toBe('payload')
  expect(second && (await unpackRecord(second, store))).toEqual(large)
})

test('records are read in pages of about one answer, each record once', async () => {
  const state = new MemoryState()
  const all = Array.from({ length: 600 }, (_, at) => result(`${at}`, 'x'.repeat(at % 7 === 0 ? 30_000 : 10)))
  let first = 0
  for (let size = 1; first < all.length; size = (size % 5) + 1) {
    const { kept: packedRecords, texts } = await packRecords(all.slice(first, first + size), undefined)
    for (const [sha256, text] of Object.entries(texts)) state.set(textKey(sha256), text)
    state.set(recordsKey(first), { first, records: packedRecords })
    first += packedRecords.length
  }
  const read: unknown[] = []
  let pages = 0
  for (let more = true; more; pages++) {
    const { records } = await readRecordsPage(state, read.length, undefined)
    more = records.length > 0
    read.push(...records)
  }
  expect(read).toEqual(all)
  expect({ pages, last: (await readRecordsPage(state, 599, undefined)).records }).toEqual({
    pages: 4,
    last: all.slice(599),
  })
})
