import { HaltingError } from '@halting/core'
import type { InspectedSession } from '../../src/view/inspected-session.ts'
import { rowOf } from '../../src/view/row.ts'
import type { SessionRow } from '../../src/view/types.ts'
import type { SessionSource } from '../../src/view/session-source.ts'
import { expect, test } from 'vitest'
import type { Entry, SessionCatalog } from '../../src/view/session-catalog.ts'
import { CatalogSource } from '../../src/view/catalog-source.ts'

/** An error of a catalog whose message is meant for a person. */
class PersonError extends Error {}

const isForPerson = (error: unknown): boolean => error instanceof PersonError

/** A catalog in memory that counts how often each session is read. */
class MemoryCatalog implements SessionCatalog {
  readonly title = 'memory'
  readonly pauseMs = 1
  readonly there = new Map<string, number>()
  readonly reads: string[] = []
  problem: Error | undefined

  list(): Promise<readonly Entry[]> {
    if (this.problem !== undefined) return Promise.reject(this.problem)
    return Promise.resolve([...this.there].map(([key, version]) => entryOf(key, version)))
  }

  refreshed({ key }: Entry): Promise<Entry | undefined> {
    const version = this.there.get(key)
    return Promise.resolve(version === undefined ? undefined : entryOf(key, version))
  }

  async rowOf(found: Entry): Promise<SessionRow> {
    return rowOf(await this.#read('row', found))
  }

  read(found: Entry): Promise<InspectedSession> {
    return this.#read('all', found)
  }

  #read(what: string, { key, ...found }: Entry): Promise<InspectedSession> {
    this.reads.push(`${what} ${key} ${found.signature}`)
    if (key.startsWith('bad')) return Promise.reject(new HaltingError('driver', `The session ${key} is damaged.`))
    if (key.startsWith('broken')) return Promise.reject(new TypeError('undefined is no function'))
    return Promise.resolve({
      ...found,
      key,
      program: 'halting',
      title: found.signature,
      cwd: '',
      shellArguments: key,
      runs: [],
      unpriced: [],
      windowOf: () => undefined,
      notes: [],
      why: () => '',
    })
  }
}

function entryOf(key: string, version: number): Entry {
  return { key, sessionId: key, path: null, changedAt: null, isLive: false, signature: `v${version}` }
}

async function rowsOf(source: SessionSource): Promise<readonly SessionRow[]> {
  const rows: SessionRow[] = []
  for await (const row of source.list(new AbortController().signal)) rows.push(row)
  return rows
}

test('a session is read once for each list until it changes, however many readers ask', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  catalog.there.set('a', 1).set('b', 1)
  await Promise.all([rowsOf(source), rowsOf(source)])
  await rowsOf(source)
  expect(catalog.reads).toEqual(['row a v1', 'row b v1'])
  catalog.there.set('b', 2)
  expect((await rowsOf(source)).map(({ title }) => title)).toEqual(['v1', 'v2'])
  expect(catalog.reads).toEqual(['row a v1', 'row b v1', 'row b v2'])
})

test('a row equals that of the list and is read again after a change; a removed session has none', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  catalog.there.set('a', 1).set('b', 1)
  expect(await source.row('a')).toBeUndefined()
  const [a] = await rowsOf(source)
  expect(await source.row('a')).toEqual(a)
  expect(catalog.reads).toEqual(['row a v1', 'row b v1'])
  const batches: (readonly string[])[] = []
  const stop = source.watch((keys) => batches.push(keys))
  catalog.there.set('a', 2)
  catalog.there.delete('b')
  await expect.poll(() => batches.flat()).toEqual(['a', 'b'])
  stop()
  expect(await source.row('a')).toMatchObject({ key: 'a', title: 'v2' })
  expect(await source.row('b')).toBeUndefined()
  expect(catalog.reads).toEqual(['row a v1', 'row b v1', 'row a v2'])
})

test('a large catalog has more sessions on request, and a session outside the list is found', async () => {
  const catalog = new MemoryCatalog()
  for (const key of ['a', 'b', 'c']) catalog.there.set(key, 1)
  let listed = 1
  const paged: SessionCatalog = {
    title: 'paged',
    pauseMs: 1,
    get remaining() {
      return 3 - listed
    },
    list: async () => (await catalog.list()).slice(0, listed),
    refreshed: (found) => catalog.refreshed(found),
    find: (key) => catalog.refreshed(entryOf(key, 1)),
    rowOf: (found) => catalog.rowOf(found),
    read: (found) => catalog.read(found),
    more: async () => void (listed = 2),
  }
  const source = new CatalogSource(paged, isForPerson)
  expect((await rowsOf(source)).map(({ key }) => key)).toEqual(['a'])
  expect(source.remaining).toBe(2)
  expect((await source.session('c'))?.row.key).toBe('c')
  expect(await source.session('d')).toBeUndefined()
  const changed: string[] = []
  const stop = source.watch((keys) => void changed.push(...keys))
  await source.more()
  stop()
  expect([changed, source.remaining]).toEqual([['b'], 1])
})

test('a list without readers reads nothing more', async () => {
  const catalog = new MemoryCatalog()
  for (let number = 0; number < 10; number++) catalog.there.set(`s-${number}`, 1)
  const ending = new AbortController()
  for await (const row of new CatalogSource(catalog, isForPerson).list(ending.signal))
    if (row.key === 's-1') ending.abort()
  expect(catalog.reads).toHaveLength(2)
})

test('a session that cannot be read, or that breaks the reader, is a row with its problem and hides no other', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  catalog.there.set('bad', 1).set('broken', 1).set('good', 1)
  expect(await rowsOf(source)).toMatchObject([
    { key: 'bad', problem: 'The session bad is damaged.' },
    { key: 'broken', problem: 'It cannot be shown: undefined is no function.' },
    { key: 'good' },
  ])
  await expect(source.session('bad')).rejects.toThrow(HaltingError)
  await expect(source.session('bad')).rejects.toThrow('damaged')
  await expect(source.session('broken')).rejects.toThrow(TypeError)
})

test('a problem of the whole catalog is described in words for a person', async () => {
  const catalog = new MemoryCatalog()
  catalog.problem = new PersonError('The cluster does not answer.')
  const thrown = await rowsOf(new CatalogSource(catalog, isForPerson)).catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(HaltingError)
  expect(thrown).toMatchObject({ message: 'The cluster does not answer.' })
})

test('pieces come from the view that was sent, until the session is requested again', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  catalog.there.set('a', 1)
  expect(await source.session('a')).toMatchObject({ row: { title: 'v1' } })
  catalog.there.set('a', 2)
  await source.records('a', 0, 0, 10)
  expect(catalog.reads).toEqual(['all a v1'])
  expect(await source.session('a')).toMatchObject({ row: { title: 'v2' } })
  expect(await source.session('none')).toBeUndefined()
  expect(await source.records('none', 0, 0, 1)).toEqual([])
  expect(await source.parts('a', 7, 0, 1)).toEqual([])
})

test('only the most recently shown sessions stay in memory', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  for (const key of ['a', 'b', 'c', 'd']) catalog.there.set(key, 1)
  for (const key of ['a', 'b', 'c', 'd', 'b', 'c', 'd']) await source.session(key)
  expect(catalog.reads).toEqual(['all a v1', 'all b v1', 'all c v1', 'all d v1'])
  await source.session('a')
  expect(catalog.reads).toHaveLength(5)
})

test('all watchers are notified of changed, new and removed sessions, whichever detects them; after the last one leaves, polling stops', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  catalog.there.set('a', 1).set('b', 1)
  await rowsOf(source)
  const heard: string[][] = [[], []]
  const stops = heard.map((keys) => source.watch((changed) => void keys.push(...changed)))
  catalog.there.set('a', 2).set('c', 1)
  catalog.there.delete('b')
  // Both a list and a look notice changes: neither may hide them from the other.
  await rowsOf(source)
  await expect
    .poll(() => heard.map((keys) => [...new Set(keys)].toSorted()))
    .toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  catalog.there.set('a', 3)
  await expect.poll(() => heard.every((keys) => keys.filter((key) => key === 'a').length === 2)).toBe(true)
  for (const stop of stops) stop()
  catalog.problem = new PersonError('nobody may look')
  catalog.there.set('a', 4)
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(heard[0]?.filter((key) => key === 'a')).toHaveLength(2)
})

test('a catalog that cannot be read for a while is read again', async () => {
  const catalog = new MemoryCatalog()
  const source = new CatalogSource(catalog, isForPerson)
  catalog.there.set('a', 1)
  await rowsOf(source)
  const heard: string[] = []
  const stop = source.watch((keys) => void heard.push(...keys))
  catalog.problem = new PersonError('The cluster does not answer.')
  await new Promise((resolve) => setTimeout(resolve, 20))
  catalog.there.set('a', 2)
  catalog.problem = undefined
  await expect.poll(() => heard).toEqual(['a'])
  stop()
})
