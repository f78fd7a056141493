// Holds rules of docs/spec: R-LIST-5, R-LIST-5a
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deflateRawSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { queryRecords } from '../../src/cluster/query-records.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** The engine's data of one session by key; `served` is the worker's answer. Records all requests. */
async function engine(
  state: { readonly [key: string]: unknown },
  served: readonly unknown[] = [],
): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => (text += String(piece)))
    request.on('end', () => {
      asked.push(request.url === '/query' ? (JSON.parse(text) as { readonly query: string }).query : 'records')
      const isOfTexts = text.includes('text/')
      const rows = Object.entries(state)
        .filter(([key]) => key.startsWith(isOfTexts ? 'text/' : 'records/') && (!isOfTexts || text.includes(key)))
        .map(([key, value]) => ({ key, value_utf8: JSON.stringify(value) }))
      const since = Number(text)
      response.end(JSON.stringify(request.url === '/query' ? { rows } : { first: since, records: served.slice(since) }))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // True: it listens on a port, so its address has one.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

const program = programInMemory({ cwd: '/', env: {} })
const read = (url: string, since: number) =>
  queryRecords({ cluster: url, admin: url }, { sessionId: "s'1", partition: '18446744073709551615' }, since, program)
const rewind = (entries: number) => ({ type: 'rewind', entries, after: null })

test('reads records in one answer of the engine, starting at a number', async () => {
  const { url, asked } = await engine({
    'records/000000000': { first: 0, records: [rewind(0), rewind(1)] },
    'records/000000002': { first: 2, records: [rewind(2), rewind(3)] },
  })
  for (const since of [0, 1, 2, 3, 4]) {
    const { records } = await read(url, since)
    expect(records).toEqual([0, 1, 2, 3].slice(since).map(rewind))
  }
  expect(asked).toHaveLength(5)
  expect(asked[0]).toContain(
    "partition_key = 18446744073709551615 and service_name = 'halting_session' and service_key = 's''1'",
  )
})

test('reads separately stored texts when their placeholders are viewed', async () => {
  const [one, other] = ['a'.repeat(64), 'b'.repeat(64)]
  const long = 'ü'.repeat(5_000)
  const deflated = deflateRawSync(Buffer.from(long)).toString('base64')
  const record = {
    type: 'result',
    key: 'k',
    digest: null,
    value: { text: '', list: ['', 'short'] },
    at: 0,
    durationMs: 1,
  }
  const texts = [
    { path: ['value', 'text'], sha256: one, bytes: 10_000 },
    { path: ['value', 'list', 0], sha256: other, bytes: 4 },
  ]
  const { url, asked } = await engine({
    'records/000000000': { first: 0, records: [{ type: 'packed', record, texts }] },
    [`text/${one}`]: { deflated },
    [`text/${other}`]: 'text',
  })
  const { records, withTexts } = await read(url, 0)
  const placeOf = (bytes: string, sha256: string): unknown =>
    expect.stringMatching(new RegExp(`^⟦${bytes} bytes ${sha256} [0-9a-f]{16}⟧$`))
  expect(records).toMatchObject([{ value: { text: placeOf('10,000', one), list: [placeOf('4', other), 'short'] } }])
  expect(asked).toHaveLength(1)
  expect(await withTexts(records)).toEqual([{ ...record, value: { text: long, list: ['text', 'short'] } }])
  // Both are cached now. A placeholder can be part of a message.
  const { list } = (records[0] as unknown as { readonly value: { readonly list: readonly string[] } }).value
  expect(await withTexts(`It says ${list[0]}.`)).toBe('It says text.')
  expect(asked).toHaveLength(2)
})

test('shows text that looks like a placeholder unchanged, and reads nothing for it', async () => {
  const sha256 = 'a'.repeat(64)
  const written = [`⟦4 bytes ${sha256}⟧`, `⟦4 bytes ${sha256} 0123456789abcdef⟧`]
  const record = { type: 'result', key: 'k', digest: null, value: { text: '', written }, at: 0, durationMs: 1 }
  const texts = [{ path: ['value', 'text'], sha256, bytes: 4 }]
  const { url, asked } = await engine({
    'records/000000000': { first: 0, records: [{ type: 'packed', record, texts }] },
    [`text/${sha256}`]: 'text',
  })
  const { records, withTexts } = await read(url, 0)
  expect(await withTexts(written)).toEqual(written)
  expect(asked).toHaveLength(1)
  expect(await withTexts(records)).toEqual([{ ...record, value: { text: 'text', written } }])
})

test('keeps a placeholder whose text does not exist', async () => {
  const record = { type: 'result', key: 'k', digest: null, value: { text: '' }, at: 0, durationMs: 1 }
  const texts = [{ path: ['value', 'text'], sha256: 'c'.repeat(64), bytes: 7 }]
  const { url } = await engine({ 'records/000000000': { first: 0, records: [{ type: 'packed', record, texts }] } })
  const { records, withTexts } = await read(url, 0)
  expect(await withTexts(records)).toEqual(records)
})

test.each([
  ['is in a payload store', { type: 'payload', sha256: 'x', bytes: 1 }],
  [
    'has a text in a payload store',
    { type: 'packed', record: { type: 'x', a: '' }, texts: [{ path: ['a'], inStore: true }] },
  ],
  [
    'is packed in another way',
    { type: 'packed', record: { type: 'x' }, texts: [{ path: ['b'], sha256: 'z', bytes: 1 }] },
  ],
])('reads a record that %s from a worker', async (_how, stored) => {
  const served = [rewind(0), rewind(1)]
  const { url, asked } = await engine({ 'records/000000000': { first: 0, records: [rewind(0), stored] } }, served)
  expect((await read(url, 0)).records).toEqual(served)
  expect(asked).toEqual([expect.stringContaining('select'), 'records', 'records'])
})

test('reports an invalid list of records', async () => {
  const { url } = await engine({ 'records/000000000': { nothing: true } })
  await expect(read(url, 0)).rejects.toThrow("has invalid records of the session s'1")
})
