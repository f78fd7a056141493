import {
  validateListOptions,
  validateSessionArguments,
  createOpenSession,
  damagedRecord,
  decodeRecords,
  headOf,
  noSuchPage,
  throwInvalidOption,
  sessionFormat,
  sessionInUse,
  sessionOfLaterVersion,
  sessionTakenOver,
  type OpenSession,
  type RecordBatch,
  type SessionHead,
  type SessionListOptions,
  type SessionStore,
  type StepRecord,
  type StoredSessionInfo,
} from '@halting/core/steps'
import { HaltingError, type EndingReason } from '@halting/core'
import { Connection } from './connection.ts'
import type { SqliteDatabase } from './database.ts'
import { livenessOf, nameOfHolder, ownProcess, parsedHolder } from './process-identity.ts'

/** Where sessions are stored. */
export interface SqliteStoreOptions {
  /** The file, created if missing for this user only (0600, new folders 0700). */
  readonly path: string
  /**
   * An existing database to use instead: a `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3`.
   * Closing the store does not close it. The store's tables start with `halting_`. No other transaction may be open on
   * it across an await.
   */
  readonly database?: SqliteDatabase
  /** How long to wait for another process that is writing, in milliseconds (default: 10,000). */
  readonly busyTimeoutMs?: number
  /**
   * How long a lock lasts without renewal, in milliseconds (default: 60,000). Only matters for processes on other hosts
   * and in other containers: for this host it is known whether a process runs.
   */
  readonly lockMs?: number
}

/** A row of the sessions table. */
interface Row {
  readonly key: number
  readonly id: string
  readonly format: number
  readonly cwd: string | null
  readonly title: string | null
  readonly version: string | null
  readonly created_at: string
  readonly updated_at: number
  readonly records: number
  readonly bytes: number
  readonly last_reason: string | null
  readonly fence: number
  readonly holder: string | null
  readonly held_until: number
}

/**
 * Creates a store of sessions in one SQLite file, which any number of processes of one machine may use concurrently.
 * Uses `node:sqlite` if available (Node 22.13 and later), otherwise `better-sqlite3` 12.
 * @throws ConfigurationError for options of wrong types. The first call reports problems with the file or the library.
 */
export function sqliteStore(options: SqliteStoreOptions): SessionStore {
  if (typeof options !== 'object' || options === null)
    throwInvalidOption('sqliteStore', 'given an object, such as { path }', options)
  const { path, database, busyTimeoutMs = 10_000, lockMs = 60_000 } = options
  if (typeof path !== 'string' || path === '') throwInvalidOption('path', 'a text that is not empty', path)
  for (const [name, value] of Object.entries({ busyTimeoutMs, lockMs }))
    if (!(Number.isFinite(value) && value > 0)) throwInvalidOption(name, 'a number of milliseconds above 0', value)
  return new SqliteStore(new Connection({ path, busyTimeoutMs, ...(database !== undefined && { database }) }), lockMs)
}

class SqliteStore implements SessionStore {
  readonly #connection: Connection
  readonly #lockMs: number
  readonly #holder = JSON.stringify(ownProcess())
  readonly #open = new Map<number, OpenSession>()
  readonly #opening = new Set<Promise<OpenSession>>()
  /**
   * Fences of locks whose release failed, as on a full disk. This process is alive, so nobody else would take them
   * over.
   */
  readonly #unreleased = new Set<number>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(connection: Connection, lockMs: number) {
    this.#connection = connection
    this.#lockMs = lockMs
  }

  async open(sessionId: string, head: SessionHead = {}): Promise<OpenSession> {
    validateSessionArguments(sessionId, head)
    const opening = this.#lockAndRead(sessionId, head)
    this.#opening.add(opening)
    try {
      return await opening
    } finally {
      this.#opening.delete(opening)
    }
  }

  async #lockAndRead(sessionId: string, head: SessionHead): Promise<OpenSession> {
    const row = await this.#connection.write(true, (database) => this.#locked(database, sessionId, head))
    const { fence } = row
    const release = (): Promise<void> => this.#release(fence)
    try {
      const texts = await this.#connection.read((database) => textsOf(database, row))
      const session = createOpenSession({
        sessionId,
        head: headIn(row),
        fence,
        records: decodeRecords(sessionId, texts),
        write: (batch) => this.#connection.write(batch.isDurable, (database) => this.#write(database, row, batch)),
        release,
      })
      this.#open.set(fence, session)
      this.#startHeartbeat()
      return session
    } catch (error) {
      // The caller needs the original error; the lock is released later.
      await release().catch(() => undefined)
      throw error
    }
  }

  /** Locks a session, and creates it if it is missing. Returns its row. */
  #locked(database: SqliteDatabase, sessionId: string, head: SessionHead): Row {
    const now = Date.now()
    this.#releaseIn(database)
    const found = rowOf(database, sessionId)
    if (found !== undefined) {
      if (found.format > sessionFormat) throw sessionOfLaterVersion(sessionId, found.format)
      refuseIfHeld(found)
    } else {
      const { cwd = null, title = null, version = null, createdAt = new Date(now).toISOString() } = head
      database
        .prepare(
          `INSERT INTO halting_sessions (id, format, cwd, title, version, created_at, updated_at, written, records, bytes, fence, held_until)
           VALUES (?, ?, ?, ?, ?, ?, ?, ${nextWritten}, 0, 0, 0, 0)`,
        )
        .run(sessionId, sessionFormat, cwd, title, version, createdAt, now)
    }
    database.prepare('UPDATE halting_store SET fence = fence + 1').run()
    database
      .prepare(
        'UPDATE halting_sessions SET fence = (SELECT fence FROM halting_store), holder = ?, held_until = ? WHERE id = ?',
      )
      .run(this.#holder, now + this.#lockMs, sessionId)
    // It was just inserted.
    return rowOf(database, sessionId) as Row
  }

  #write(database: SqliteDatabase, { key, id, fence }: Row, { first, records, lastReason }: RecordBatch): void {
    const now = Date.now()
    const found = rowOf(database, id)
    if (found === undefined || found.key !== key || found.fence !== fence)
      throw sessionTakenOver(id, found === undefined ? undefined : nameOfHolder(parsedHolder(found.holder)))
    if (found.records !== first)
      throw new HaltingError('internal', `The session ${id} holds ${found.records} records, not ${first}.`)
    database.prepare('UPDATE halting_sessions SET held_until = ? WHERE key = ?').run(now + this.#lockMs, key)
    if (records.length === 0) return
    const insert = database.prepare('INSERT INTO halting_records (session, number, body) VALUES (?, ?, ?)')
    let bytes = 0
    for (const [index, record] of records.entries()) {
      bytes += Buffer.byteLength(record)
      insert.run(key, first + index, record)
    }
    database
      .prepare(
        `UPDATE halting_sessions
         SET records = records + ?, bytes = bytes + ?, updated_at = ?, written = ${nextWritten}, last_reason = ? WHERE key = ?`,
      )
      .run(records.length, bytes, now, lastReason === undefined ? found.last_reason : lastReason, key)
  }

  async #release(fence: number): Promise<void> {
    this.#open.delete(fence)
    this.#unreleased.add(fence)
    // It retries if the release fails.
    this.#startHeartbeat()
    await this.#releaseAll()
  }

  async #releaseAll(): Promise<void> {
    const fences = [...this.#unreleased]
    await this.#connection.write(false, (database) => this.#releaseIn(database))
    for (const fence of fences) this.#unreleased.delete(fence)
    if (this.#open.size === 0 && this.#unreleased.size === 0) this.#stopHeartbeat()
  }

  #releaseIn(database: SqliteDatabase): void {
    const release = database.prepare('UPDATE halting_sessions SET holder = NULL WHERE fence = ? AND holder = ?')
    for (const fence of this.#unreleased) release.run(fence, this.#holder)
  }

  #startHeartbeat(): void {
    // Timers with a longer interval would fire all the time.
    const intervalMs = Math.min(this.#lockMs / 3, 2 ** 31 - 1)
    this.#heartbeat ??= setInterval(() => void this.#renew(), intervalMs).unref()
  }

  #stopHeartbeat(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }

  async #renew(): Promise<void> {
    const until = Date.now() + this.#lockMs
    try {
      if (this.#unreleased.size > 0) await this.#releaseAll()
      await this.#connection.write(false, (database) => {
        const renew = database.prepare('UPDATE halting_sessions SET held_until = ? WHERE fence = ? AND holder = ?')
        for (const fence of this.#open.keys()) renew.run(until, fence, this.#holder)
      })
    } catch {
      // If the lock was lost, writes are rejected; the next renewal may succeed.
    }
  }

  async read(
    sessionId: string,
  ): Promise<{ readonly info: StoredSessionInfo; readonly records: readonly StepRecord[] } | undefined> {
    validateSessionArguments(sessionId)
    const found = await this.#connection.read((database) => {
      const row = rowOf(database, sessionId)
      if (row === undefined) return undefined
      if (row.format > sessionFormat) throw sessionOfLaterVersion(sessionId, row.format)
      return { row, texts: textsOf(database, row) }
    })
    return found && { info: infoOf(found.row), records: decodeRecords(sessionId, found.texts) }
  }

  async list(options: SessionListOptions = {}): Promise<readonly StoredSessionInfo[]> {
    validateListOptions(options)
    const { cwd = null, limit = 1_000, after } = options
    const rows = await this.#connection.read((database) => {
      const last = after === undefined ? undefined : rowOf(database, after)
      if (after !== undefined && last === undefined) throw noSuchPage(after)
      return database
        .prepare(
          `SELECT * FROM halting_sessions WHERE (? IS NULL OR cwd = ?)
           AND written < COALESCE((SELECT written FROM halting_sessions WHERE id = ?), 9007199254740991) ORDER BY written DESC LIMIT ?`,
        )
        .all(cwd, cwd, after ?? null, limit)
    })
    // These are the columns of the table.
    return (rows as readonly Row[]).map(infoOf)
  }

  async remove(sessionId: string): Promise<boolean> {
    validateSessionArguments(sessionId)
    return this.#connection.write(true, (database) => {
      this.#releaseIn(database)
      const row = rowOf(database, sessionId)
      if (row === undefined) return false
      refuseIfHeld(row)
      removeRow(database, row)
      return true
    })
  }

  async removeOlderThan(moment: Date): Promise<number> {
    const ms = moment instanceof Date ? moment.getTime() : Number.NaN
    if (Number.isNaN(ms)) throwInvalidOption('moment', 'a Date', moment)
    const old = await this.#connection.read((database) =>
      database.prepare('SELECT id FROM halting_sessions WHERE updated_at < ?').all(ms),
    )
    let removed = 0
    // One at a time, so that active sessions do not wait for all of them.
    for (const { id } of old as readonly Pick<Row, 'id'>[]) {
      const isRemoved = await this.#connection.write(false, (database) => {
        const row = rowOf(database, id)
        if (row === undefined || row.updated_at >= ms || isHeld(row)) return false
        removeRow(database, row)
        return true
      })
      if (isRemoved) removed++
    }
    return removed
  }

  async close(): Promise<void> {
    // Also close sessions that are being opened: nobody could release them afterwards.
    while (this.#opening.size > 0) await Promise.allSettled(this.#opening)
    const closed = await Promise.allSettled([...this.#open.values()].map((session) => session.close()))
    this.#stopHeartbeat()
    await this.#connection.close()
    for (const each of closed) if (each.status === 'rejected') throw each.reason
  }
}

const nextWritten = '(SELECT COALESCE(MAX(written), 0) + 1 FROM halting_sessions)'

function rowOf(database: SqliteDatabase, sessionId: string): Row | undefined {
  // These are the columns of the table.
  return database.prepare('SELECT * FROM halting_sessions WHERE id = ?').get(sessionId) as Row | undefined
}

function textsOf(database: SqliteDatabase, { key, id, records }: Row): readonly string[] {
  const rows = database
    .prepare('SELECT number, body FROM halting_records WHERE session = ? ORDER BY number')
    // These are the columns of the table.
    .all(key) as readonly { readonly number: number; readonly body: string }[]
  const gap = rows.findIndex(({ number }, index) => number !== index)
  if (gap >= 0 || rows.length < records) throw damagedRecord(id, gap < 0 ? rows.length : gap, 'it is missing')
  return rows.map(({ body }) => body)
}

function removeRow(database: SqliteDatabase, { key }: Row): void {
  database.prepare('DELETE FROM halting_records WHERE session = ?').run(key)
  database.prepare('DELETE FROM halting_sessions WHERE key = ?').run(key)
  // The file shrinks if this store created it.
  database.exec('PRAGMA incremental_vacuum')
}

function isHeld({ holder, held_until: until }: Row): boolean {
  if (holder === null) return false
  const known = parsedHolder(holder)
  const liveness = known === undefined ? 'unknown' : livenessOf(known)
  return liveness === 'unknown' ? until > Date.now() : liveness === 'alive'
}

function refuseIfHeld(row: Row): void {
  if (isHeld(row)) throw sessionInUse(row.id, nameOfHolder(parsedHolder(row.holder)))
}

function headIn({ cwd, title, version, created_at: createdAt }: Row): SessionHead {
  return headOf({
    createdAt,
    ...(cwd !== null && { cwd }),
    ...(title !== null && { title }),
    ...(version !== null && { version }),
  })
}

function infoOf(row: Row): StoredSessionInfo {
  return {
    ...headIn(row),
    sessionId: row.id,
    createdAt: row.created_at,
    updatedAt: new Date(row.updated_at).toISOString(),
    records: row.records,
    bytes: row.bytes,
    // A later version may have written an unknown reason; it is passed on unchanged.
    lastReason: row.last_reason as EndingReason | null,
    isLocked: isHeld(row),
  }
}
