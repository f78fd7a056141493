// Tests R-STEP-16, R-STEP-16a, R-STEP-16b, R-STEP-16c, R-STEP-16d: the test kit for session stores detects a faulty store.
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test, vi } from 'vitest'
import type { OpenSession, SessionStore } from '../../src/entries/steps.ts'
import { checkSessionStore } from '../../src/testing/index.ts'
import { sampled } from '../support/deep.ts'

interface Row {
  format: number
  texts: string[]
}

interface Database {
  readonly rows: Map<string, Row>
  readonly alive: Set<string>
}

/** The exports of examples/own-store.mjs. */
interface Example {
  readonly newDatabase: () => Database
  readonly connect: (db: Database) => {
    readonly store: SessionStore
    readonly kill: () => Promise<void>
    readonly stall: () => Promise<void>
  }
}

let example: Example
beforeAll(async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  // The example has no types of its own.
  example = (await import(fileURLToPath(new URL('../../../../examples/own-store.mjs', import.meta.url)))) as Example
  log.mockRestore()
})

/** The names of the checks that fail for this change of the example, which itself passes all of them. */
async function findings(
  change: (store: SessionStore, db: Database) => Partial<SessionStore>,
): Promise<readonly string[]> {
  const problems = await checkSessionStore(
    () => {
      const db = example.newDatabase()
      const rowOf = (id: string): Row => db.rows.get(id) as Row
      return {
        connect: () => {
          const { store, ...process } = example.connect(db)
          return { ...process, store: { ...store, ...change(store, db) } }
        },
        writeAsLaterVersion: async (id) => void (rowOf(id).format = 99),
        damageRecord: async (id, number) => void (rowOf(id).texts[number] = '{"type":"lap"}'),
      }
    },
    { longestCheckMs: 5_000 },
  )
  return [...new Set(problems.map(({ check }) => check))]
}

/** The same session with a log that hides the properties of the store. */
function deaf(session: OpenSession): OpenSession {
  const { log } = session
  return {
    ...session,
    log: {
      keeps: 'all',
      append: (record) => log.append(record),
      flush: () => Promise.resolve(log.flush()).catch(() => {}),
    },
  }
}

const wrong: {
  readonly [name: string]: readonly [(store: SessionStore, db: Database) => Partial<SessionStore>, string]
} = {
  'loses the last record': [
    (store) => ({
      read: async (id) => {
        const found = await store.read(id)
        return found && { ...found, records: found.records.slice(0, -1) }
      },
    }),
    'order and durability',
  ],
  'ignores locks': [(store, db) => ({ open: (id, head) => (db.alive.clear(), store.open(id, head)) }), 'two openers'],
  'hides that the lock is lost': [
    (store) => ({ open: async (id, head) => deaf(await store.open(id, head)) }),
    'fencing',
  ],
  'lists the oldest first': [
    (store) => ({ list: async (options) => (await store.list(options)).toReversed() }),
    'list',
  ],
  'removes open sessions': [(_store, db) => ({ remove: async (id) => db.rows.delete(id) }), 'remove'],
  'removes no old sessions': [() => ({ removeOlderThan: async () => 0 }), 'retention'],
  'reads records of a later version': [
    (store, db) => ({
      open: (id, head) => {
        for (const row of db.rows.values()) row.format = 1
        return store.open(id, head)
      },
    }),
    'later version',
  ],
  'skips damaged records': [
    (store, db) => ({
      read: async (id) => {
        const row = db.rows.get(id)
        if (row !== undefined) row.texts = row.texts.filter((text) => text !== '{"type":"lap"}')
        return store.read(id)
      },
    }),
    'damage',
  ],
  'opens sessions after its end': [() => ({ close: async () => {} }), 'close of the store'],
  'forgets when a session began': [
    (store) => ({ open: (id, head) => store.open(id, { ...head, createdAt: '2001-01-01T00:00:00Z' }) }),
    'copy to another store',
  ],
}

test('finds nothing wrong with the store of the guide', async () => {
  expect(await findings(() => ({}))).toEqual([])
}, 60_000)

test.each(sampled(Object.entries(wrong), { deep: 3, quick: 4 }))(
  'finds a store that %s',
  async (_name, [change, check]) => {
    expect(await findings(change)).toContain(check)
  },
  60_000,
)
