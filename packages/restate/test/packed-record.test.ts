// Holds rules of docs/spec.md: R-GROW-1, R-GROW-1a: long texts of records are stored once.
import type { StepRecord } from '@halting/core/steps'
import { array, assert, asyncProperty, integer, letrec, object, option, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { readBatch } from '../src/engine/batch.ts'
import { ClusterLog } from '../src/engine/cluster-log.ts'
import { packed, wholeRecord } from '../src/engine/packed-record.ts'
import { SessionTexts, storedText, textKey } from '../src/engine/session-texts.ts'
import { recordsKey, recordsSince } from '../src/service/kept-records.ts'
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

/** As JSON has it. */
const plain = (one: unknown): unknown => JSON.parse(JSON.stringify(one))

test('a record comes back as it was, whatever is in it and wherever its long texts are', async () => {
  await assert(
    asyncProperty(
      value,
      option(integer({ min: 0, max: 20_000 })),
      record({ key: string() }),
      async (of, inlineBytes, { key }) => {
        const store = inlineBytes === null ? undefined : new MemoryPayloads(inlineBytes)
        const before = result(key, of)
        const packing = packed(JSON.stringify(before), store)
        if (packing === undefined) return
        const texts = new SessionTexts()
        for (const [sha256, text] of packing.texts) {
          texts.add(sha256, await storedText(text))
          await store?.put(text)
        }
        expect(await wholeRecord(plain(packing.packed) as typeof packing.packed, store, texts)).toEqual(plain(before))
      },
    ),
    { numRuns: 50 },
  )
})

test('a text that several records have is given to the engine once, and read from any of them', async () => {
  const text = 'line of a file\n'.repeat(10_000)
  const known = new SessionTexts()
  const log = new ClusterLog(undefined, known)
  const records = [result('a', { content: text }), result('b', [text, text]), result('c', 'short')]
  for (const each of records) log.append(each)
  const first = await log.take()
  // Such a text is compressed.
  expect(first.length).toBeLessThan(text.length / 10)
  expect((await readBatch(first, undefined, known)).records).toEqual(records)
  log.kept()
  log.append(result('d', text))
  const second = await log.take()
  expect(JSON.parse(second)).not.toHaveProperty('texts')
  const { kept, records: whole, format } = await readBatch(second, undefined, known)
  expect({ format, types: kept.map(({ type }) => type), whole }).toEqual({
    format: 2,
    types: ['packed'],
    whole: [result('d', text)],
  })
})

test('what has no long text is written as earlier versions read it', async () => {
  const log = new ClusterLog()
  log.append(result('a', 'x'.repeat(4_000)))
  const text = await log.take()
  expect(JSON.parse(text)).toMatchObject({ format: 1, records: [{ type: 'result' }] })
})

test('who reads records of an object gets them whole, and by reference what is too large for an answer', async () => {
  const store = new MemoryPayloads(20_000)
  const state = new MemoryState()
  const small = result('a', 'a text. '.repeat(1_000))
  const large = result(
    'b',
    Array.from({ length: 300 }, (_, at) => `${at} `.repeat(10_000)),
  )
  const packings = [small, large].map((each) => packed(JSON.stringify(each), store))
  for (const packing of packings)
    for (const [sha256, text] of packing?.texts ?? [])
      if (text.length > 20_000) await store.put(text)
      else state.set(textKey(sha256), text)
  state.set(recordsKey(0), { first: 0, records: packings.map((packing) => packing?.packed) })
  const { records } = await recordsSince(state, 0, store)
  const [first, second] = records
  expect(first).toEqual(small)
  expect(second?.type).toBe('payload')
  expect(second && (await wholeRecord(second, store))).toEqual(large)
})
