// Bundled, and run on each available Node and library. `check` prints the problems of the store as JSON; `work` works
// on a session until it is killed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { checkSessionStore, type CheckedConnection, type CheckedSessionStore } from '@halting/core/testing'
import { workAt } from '../../../core/test/support/store-kills/child.ts'
import type { Orders } from '../../../core/test/support/store-kills/orders.ts'
import { openDatabase, type SqliteDatabase } from '../../src/database.ts'
import { sqliteStore } from '../../src/index.ts'

const [command, argument = ''] = process.argv.slice(2)
if (command === 'work') {
  // The parent wrote it.
  const orders = JSON.parse(argument) as Orders
  await workAt(sqliteStore({ path: orders.store }), orders)
} else if (command === 'check') await check()
else throw new Error(`What is ${command}?`)

async function check(): Promise<void> {
  // A file system in memory needs no disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'halting-sqlite-'))
  let stores = 0
  try {
    const problems = await checkSessionStore(() => databaseAt(join(folder, `${++stores}.db`)))
    const locked = await openedWhileLocked(join(folder, 'locked.db'))
    const faults = await faultsOfFiles(folder)
    console.log(JSON.stringify([...problems, ...locked, ...faults]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Another process locks the file exclusively, as during the recovery of a killed one. The store waits for the lock. */
async function openedWhileLocked(path: string): Promise<readonly unknown[]> {
  const first = sqliteStore({ path })
  await first.list()
  await first.close()
  const other = await openDatabase(path)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE halting_store SET fence = fence')
  const store = sqliteStore({ path })
  const listed = store.list().then(
    (list) => (list.length === 0 ? [] : [{ check: 'locked file', problem: 'It has sessions.' }]),
    (error: unknown) => [{ check: 'locked file', problem: String(error) }],
  )
  await new Promise<void>((resolve) => setTimeout(resolve, 200))
  other.exec('COMMIT')
  other.close()
  const problems = await listed
  await store.close()
  return problems
}

/** The behaviour of the store with foreign files, and with a full disk. */
async function faultsOfFiles(folder: string): Promise<readonly unknown[]> {
  const problems: unknown[] = []
  const expect = (check: string, is: unknown, wanted: unknown): void => {
    if (JSON.stringify(is) !== JSON.stringify(wanted)) problems.push({ check, problem: is, wanted })
  }
  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'no error',
      (error: unknown) => (error instanceof HaltingError ? error.message : `not a HaltingError: ${String(error)}`),
    )
  const text = (path: string): string => path.replace(folder, '')

  const before = process.cwd()
  process.chdir(folder)
  const address = sqliteStore({ path: 'file:address.db' })
  await address.list()
  expect('a path like an address', existsSync('address.db'), false)
  expect('its mode', statSync('file:address.db').mode & 0o777, 0o600)
  await address.close()
  process.chdir(before)

  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  expect(
    'a pipe',
    text(await failure(sqliteStore({ path: pipe }).list())).split(':')[0],
    'The database /pipe cannot be opened',
  )

  const full = join(folder, 'full.db')
  const database = await openDatabase(full)
  const store = sqliteStore({ path: full, database, lockMs: 1e12 })
  const session = await store.open('one')
  // The errors of a full disk, both for records and for the release of the lock.
  database.exec(
    "CREATE TRIGGER full BEFORE UPDATE ON halting_sessions BEGIN SELECT RAISE(ROLLBACK, 'database or disk is full'); END",
  )
  const refused = 'The database /full.db refused: database or disk is full'
  session.log.append({ type: 'stage', scope: '', stage: 'x' } as never)
  expect('a full disk', text(await failure(Promise.resolve(session.log.flush()))), refused)
  expect('closing on it', text(await failure(session.close())), refused)
  database.exec('DROP TRIGGER full')
  expect('opening again', await failure(store.open('one').then((again) => again.close())), 'no error')

  const opening = store.open('two')
  await store.close()
  expect('opened while the store closes', await failure(opening), 'no error')
  const reader = sqliteStore({ path: full })
  expect('its lock', (await reader.list()).filter(({ isLocked }) => isLocked).length, 0)
  await reader.close()

  // A pid without a process, in this namespace and in that of a container with the same host name.
  const container = { pid: 2 ** 22 - 1, host: hostname(), began: '', namespace: 'pid:[1]' }
  const lockFor = (holder: object): unknown =>
    database
      .prepare("UPDATE halting_sessions SET holder = ?, held_until = 9007199254740991 WHERE id = 'one'")
      .run(JSON.stringify(holder))
  const other = sqliteStore({ path: full })
  lockFor(container)
  expect('held in a container', (await other.read('one'))?.info.isLocked, true)
  lockFor({ ...container, namespace: '' })
  expect('held by a dead process', (await other.read('one'))?.info.isLocked, false)
  await other.close()

  database.exec('ALTER TABLE halting_records RENAME TO moved')
  expect(
    'reading what is damaged',
    text(await failure(sqliteStore({ path: full }).read('one'))),
    'The database /full.db refused: no such table: halting_records',
  )
  database.close()
  return problems
}

async function databaseAt(path: string): Promise<CheckedSessionStore> {
  // The first call creates the tables.
  const first = sqliteStore({ path })
  await first.list()
  await first.close()
  const change = async (sql: string, ...values: (string | number)[]): Promise<void> => {
    const database = await openDatabase(path)
    database.exec('PRAGMA busy_timeout = 5000')
    database.prepare(sql).run(...values)
    database.close()
  }
  const dead = JSON.stringify({ pid: 0, host: hostname(), began: '' })
  const letGo = (): Promise<void> => change('UPDATE halting_sessions SET holder = ? WHERE holder IS NOT NULL', dead)
  return {
    async connect(): Promise<CheckedConnection> {
      const { database, die } = mortal(await openDatabase(path))
      const store = sqliteStore({ path, database })
      return {
        store,
        stall: letGo,
        kill: async () => {
          die()
          await letGo()
        },
      }
    },
    writeAsLaterVersion: (id) => change('UPDATE halting_sessions SET format = 99 WHERE id = ?', id),
    damageRecord: (id, number) =>
      change(
        `UPDATE halting_records SET body = '{"type":"lap"}' WHERE number = ? AND session = (SELECT key FROM halting_sessions WHERE id = ?)`,
        number,
        id,
      ),
  }
}

/** A connection that does nothing after the death of its process. */
function mortal(database: SqliteDatabase): { readonly database: SqliteDatabase; readonly die: () => void } {
  let isGone = false
  const alive = (): void => {
    if (isGone) throw new Error('The process is gone.')
  }
  return {
    database: {
      exec(sql) {
        alive()
        return database.exec(sql)
      },
      prepare(sql) {
        alive()
        return database.prepare(sql)
      },
      close: () => database.close(),
    },
    die() {
      isGone = true
      database.close()
    },
  }
}
