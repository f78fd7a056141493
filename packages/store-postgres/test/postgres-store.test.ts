// Tests R-STEP-16, R-STEP-16a, R-STEP-16b, R-STEP-16c and R-STEP-16d of docs/spec: sessions in PostgreSQL, on a server
// that the tests start.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startRun, streamRun } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { checkSessionStore, scriptedModel, type CheckedSessionStore } from '@halting/core/testing'
import { build } from 'esbuild'
import { array, assert, asyncProperty, constantFrom } from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sources } from '../../../vitest.build.ts'
import { isDeep, isWhole } from '../../core/test/support/deep.ts'
import { killedAtEveryRecord, killedAtRandom, type ChildProgram } from '../../core/test/support/store-kills/torment.ts'
import { postgresStore, type PostgresPool } from '../src/index.ts'
import { poolOf } from '../src/pool.ts'
import { droppingPool, mortalPool } from './support/pools.ts'
import { startServer } from './support/server.ts'

// `HALTING_KILLS=1000` executes any number of kills.
const kills = Number(process.env['HALTING_KILLS'] ?? (isWhole ? 1_000 : isDeep ? 10 : 6))
const longest = 600_000 + kills * 2_000

const server = startServer()
afterAll(() => server.stop())

describe.skipIf(server.why !== undefined)(`${server.title}${server.why === undefined ? '' : `: ${server.why}`}`, () => {
  const bundles = fileURLToPath(new URL('../../../.tmp/store-postgres/', import.meta.url))
  const program = join(bundles, `program-${process.pid}.mjs`)
  const folder = mkdtempSync(join(tmpdir(), 'halting-postgres-'))
  let pool: PostgresPool
  beforeAll(async () => {
    mkdirSync(bundles, { recursive: true })
    pool = await poolOf(server.connectionString)
    await build({
      entryPoints: [fileURLToPath(new URL('support/program.ts', import.meta.url))],
      outfile: program,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      alias: sources,
      logLevel: 'warning',
    })
  })
  afterAll(async () => {
    await pool.end()
    rmSync(folder, { recursive: true, force: true })
    rmSync(program, { force: true })
  })

  let schemas = 0

  /** Its own schema. */
  async function database(): Promise<CheckedSessionStore> {
    const schema = `s${++schemas}`
    await postgresStore({ pool, schema }).list()
    const dead = JSON.stringify({ pid: 0, host: hostname(), began: '' })
    const letGo = async (): Promise<void> =>
      void (await pool.query(`UPDATE ${schema}.sessions SET holder = $1 WHERE holder IS NOT NULL`, [dead]))
    return {
      connect() {
        const mortal = mortalPool(pool)
        return {
          store: postgresStore({ pool: mortal.pool, schema }),
          // The lock has expired.
          stall: async () =>
            void (await pool.query(`UPDATE ${schema}.sessions SET held_until = 'epoch' WHERE holder IS NOT NULL`)),
          kill: async () => {
            await mortal.die()
            await letGo()
          },
        }
      },
      writeAsLaterVersion: async (id) =>
        void (await pool.query(`UPDATE ${schema}.sessions SET format = 99 WHERE id = $1`, [id])),
      damageRecord: async (id, number) =>
        void (await pool.query(
          `UPDATE ${schema}.records SET body = '{"type":"lap"}' WHERE number = $2 AND session = (SELECT key FROM ${schema}.sessions WHERE id = $1)`,
          [id, number],
        )),
    }
  }

  test(
    'meets the requirements of every session store',
    async () => {
      expect(await checkSessionStore(database)).toEqual([])
    },
    longest,
  )

  const child = (): ChildProgram => ({ node: process.execPath, args: [program], store: server.connectionString })

  test(
    'completes a session killed at any record without repeating anything',
    async () => {
      const { sessions, kills: killed, problems } = await killedAtEveryRecord(child(), folder, isWhole ? 5 : 2)
      expect(problems).toEqual([])
      expect(killed).toBe(sessions - 1)
      expect(killed).toBeGreaterThan(isWhole ? 25 : 8)
      console.log(`${server.title}: killed at each of ${killed} records`)
    },
    longest,
  )

  test(
    `repeats nothing after ${kills} random kills of two concurrent sessions`,
    async () => {
      const tormented = await killedAtRandom(child(), folder, { kills, longestMs: 150 })
      expect(tormented.problems).toEqual([])
      expect(tormented.kills).toBeGreaterThanOrEqual(kills)
      console.log(`${server.title}: ${tormented.sessions} sessions, killed ${tormented.kills} times`)
    },
    longest,
  )

  test(
    'loses and duplicates no record when connections drop at any statement',
    async () => {
      const schema = 'dropping'
      await postgresStore({ pool, schema }).list()
      const records = await recordsOfRun()
      let sessions = 0
      await assert(
        asyncProperty(
          array(constantFrom('before', 'after', 'meanwhile', undefined), { maxLength: 30 }),
          async (drops) => {
            let at = 0
            const store = postgresStore({ pool: droppingPool(pool, () => drops[at++]), schema })
            const id = `session-${++sessions}`
            const session = await store.open(id)
            for (const record of records) {
              session.log.append(record)
              await session.log.flush()
            }
            await session.close()
            await store.close()
            const other = postgresStore({ pool, schema })
            const read = await other.read(id)
            expect(read?.records).toEqual(records)
            expect([read?.info.records, read?.info.isLocked, read?.info.lastReason]).toEqual([
              records.length,
              false,
              'completed',
            ])
          },
        ),
        { numRuns: isWhole ? 100 : 15 },
      )
    },
    longest,
  )

  test('continues runs while the server ends their connections', async () => {
    const schema = 'ended'
    const store = postgresStore({ connectionString: server.connectionString, schema })
    const session = await store.open('one')
    let ended = 0
    const calls = Array.from({ length: 5 }, (_, index) => ({ toolCalls: [{ name: 'End', id: `e${index}` }] }))
    const end = {
      name: 'End',
      description: 'Ends all connections but its own.',
      inputSchema: { type: 'object' },
      readOnly: false,
      async execute() {
        const { rows } = await pool.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user',
        )
        ended += rows.length
        return 'ended'
      },
    } as const
    const start = startRun({ prompt: 'go', sessionId: 'one' })
    const result = await streamRun(start, {
      model: scriptedModel([...calls, 'done']),
      tools: [end],
      steps: session.steps(),
    }).result
    expect(result.reason).toBe('completed')
    expect(ended).toBeGreaterThan(0)
    await session.close()
    await store.close()
  })

  test('rejects a store of a later version, and creates its tables once for concurrent starts', async () => {
    const schema = 'later'
    const stores = Array.from({ length: 8 }, () => postgresStore({ pool, schema }))
    await Promise.all(stores.map((store) => store.list()))
    expect((await pool.query('SELECT version FROM later.store')).rows).toEqual([{ version: 1 }])
    await pool.query('UPDATE later.store SET version = 9')
    await expect(postgresStore({ pool, schema }).list()).rejects.toThrow(
      'The database has tables of version 9; this version of @halting/store-postgres reads versions up to 1. Update it.',
    )
  })

  test('responds and leaves no lock when it is closed during work', async () => {
    const schema = 'closed'
    const store = postgresStore({ connectionString: server.connectionString, schema })
    const opening = Array.from({ length: 20 }, (_, index) => store.open(`s${index}`))
    const listing = store.list()
    await store.close()
    await Promise.all(opening)
    await Promise.allSettled([listing])
    const locked = await pool.query('SELECT id FROM closed.sessions WHERE holder IS NOT NULL')
    expect(locked.rows).toEqual([])
    await expect(store.list()).rejects.toThrow('The store is closed. Open it again.')
  })

  test('preserves a lock of another container or machine with the same name for its duration', async () => {
    const store = postgresStore({ pool, schema: 'names' })
    await (await store.open('one')).close()
    const dead = { pid: 2 ** 22 - 1, host: hostname(), began: '', namespace: '' }
    for (const [holder, isLocked] of [
      [dead, false],
      [{ ...dead, namespace: 'pid:[1]' }, true],
      [{ ...dead, began: '00000000-0000-4000-8000-000000000000 41' }, true],
    ] as const) {
      await pool.query("UPDATE names.sessions SET holder = $1, held_until = now() + interval '1 minute'", [
        JSON.stringify(holder),
      ])
      expect((await store.list())[0]?.isLocked).toBe(isLocked)
    }
    await store.close()
  })

  test('accepts every Date for retention', async () => {
    const store = postgresStore({ pool, schema: 'dates' })
    await (await store.open('one')).close()
    expect(await store.removeOlderThan(new Date(-8.64e15))).toBe(0)
    expect(await store.removeOlderThan(new Date(8.64e15))).toBe(1)
    await store.close()
  })

  test('reports an unreachable server after its timeout', async () => {
    const store = postgresStore({ connectionString: 'postgres://nobody@/none?host=/nowhere', retryMs: 50 })
    await expect(store.list()).rejects.toThrow(/^The database cannot be reached: .* It was tried for 50 ms/)
    await store.close()
  })
})

async function recordsOfRun(): Promise<readonly StepRecord[]> {
  const { createMemorySteps } = await import('@halting/core/steps')
  const steps = createMemorySteps()
  const model = scriptedModel(['done'])
  await streamRun(startRun({ prompt: 'go', sessionId: 's' }), { model, steps }).result
  // Records are JSON.
  return JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
}

test('reports a server that accepts connections but never responds after its timeout', async () => {
  const sockets: Socket[] = []
  const mute = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => mute.once('listening', resolve))
  // It listens on a port.
  const { port } = mute.address() as AddressInfo
  const store = postgresStore({ connectionString: `postgres://nobody@127.0.0.1:${port}/none`, retryMs: 200 })
  await expect(store.list()).rejects.toThrow(/^The database cannot be reached: .*timeout.* It was tried for 200 ms/i)
  await store.close()
  for (const socket of sockets) socket.destroy()
  mute.close()
})

test('rejects invalid options at once', () => {
  // Plain JavaScript may pass any value.
  const given = postgresStore as (options: unknown) => unknown
  expect(() => given(undefined)).toThrow(
    'postgresStore must be given an object, such as { connectionString }, but it is undefined.',
  )
  expect(() => given({})).toThrow('connectionString must be a text that is not empty, unless pool is given')
  expect(() => given({ pool: {} })).toThrow('pool must be a Pool of pg, but it is an object.')
  for (const schema of ['Upper', 'a"b', 'a.b', '', 'pg_mine', 'x'.repeat(64), 'a; DROP SCHEMA b'])
    expect(() => given({ connectionString: 'postgres://host', schema })).toThrow('schema must be a name of lower-case')
})
