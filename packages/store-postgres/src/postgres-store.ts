import { randomUUID } from 'node:crypto'
import { HaltingError, type EndingReason } from '@halting/core'
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
import { Connection } from './connection.ts'
import type { PostgresPool } from './pool.ts'
import { livenessOf, nameOfHolder, ownProcess, parsedHolder } from './process-identity.ts'

/** Where sessions are stored. Either `connectionString` or `pool` is required. */
export interface PostgresStoreOptions {
  /** Address of the database, such as `postgres://user@host/name`. Requires the package `pg`. */
  readonly connectionString?: string
  /** An existing `Pool` of `pg`. Closing the store does not close it. Handle its `error` event, as `pg` requires. */
  readonly pool?: PostgresPool
  /** Schema of the store's tables (default: `halting`), created if missing. Lower-case letters, digits and `_`. */
  readonly schema?: string
  /**
   * How long a lock lasts without renewal, in milliseconds by the database clock (default: 60,000). A dead process of
   * this host loses its locks at once.
   */
  readonly lockMs?: number
  /** How long to retry while the database is unreachable, in milliseconds (default: 30,000). */
  readonly retryMs?: number
}

/** A row of the sessions table, as selected by `columns`. */
interface Row {
  readonly key: string
  readonly id: string
  readonly format: number
  readonly cwd: string | null
  readonly title: string | null
  readonly version: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly records: number
  readonly bytes: number
  readonly last_reason: string | null
  readonly fence: number
  readonly holder: string | null
  /** By the clock of the database. */
  readonly is_held: boolean
}

const isoTime = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`
/** Casts numbers, because `pg` returns a bigint as text. */
const columns = `s.key::text, s.id, s.format, s.cwd, s.title, s.version, ${isoTime('created_at')}, ${isoTime('updated_at')},
  s.records::float8, s.bytes::float8, s.last_reason, s.fence::float8, s.holder,
  (s.holder IS NOT NULL AND s.held_until >= clock_timestamp()) AS is_held`

/** Maximum size of a batch: it is sent in one message, which may have 1 GB including escapes. */
const maxBytes = 400_000_000
/** Maximum size of a page. */
const pageBytes = 16_000_000
const pageRecords = 500
const earliestMs = Date.parse('0001-01-01T00:00:00.000Z')
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Creates a store of sessions in PostgreSQL (13 and later), for many sessions that move between machines.
 * @throws ConfigurationError for options of wrong types. The first call reports problems with the database.
 */
export function postgresStore(options: PostgresStoreOptions): SessionStore {
  if (typeof options !== 'object' || options === null)
    throwInvalidOption('postgresStore', 'given an object, such as { connectionString }', options)
  const { connectionString, pool, schema = 'halting', lockMs = 60_000, retryMs = 30_000 } = options
  if (pool === undefined && (typeof connectionString !== 'string' || connectionString === ''))
    throwInvalidOption('connectionString', 'a text that is not empty, unless pool is given', connectionString)
  // JavaScript programs may pass anything.
  if (pool !== undefined && typeof (pool as Partial<PostgresPool> | null)?.query !== 'function')
    throwInvalidOption('pool', 'a Pool of pg', pool)
  if (typeof schema !== 'string' || !/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throwInvalidOption(
      'schema',
      'a name of lower-case letters, digits and _, at most 63, that does not begin with pg_',
      schema,
    )
  for (const [name, value] of Object.entries({ lockMs, retryMs }))
    if (!(Number.isFinite(value) && value > 0)) throwInvalidOption(name, 'a number of milliseconds above 0', value)
  const quoted = `"${schema}"`
  const connection = new Connection({
    schema: quoted,
    retryMs,
    ...(pool === undefined ? { connectionString: connectionString ?? '' } : { pool }),
  })
  return new PostgresStore(connection, quoted, lockMs)
}

class PostgresStore implements SessionStore {
  readonly #connection: Connection
  readonly #schema: string
  readonly #lockMs: number
  readonly #open = new Map<number, OpenSession>()
  readonly #opening = new Set<Promise<OpenSession>>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(connection: Connection, schema: string, lockMs: number) {
    this.#connection = connection
    this.#schema = schema
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
    const row = await this.#locked(sessionId, head)
    const { fence } = row
    const release = (): Promise<void> => this.#release(row)
    try {
      const texts = await this.#textsOf(row)
      const session = createOpenSession({
        sessionId,
        head: headIn(row),
        fence,
        records: decodeRecords(sessionId, texts),
        write: (batch) => this.#write(row, batch),
        release,
      })
      this.#open.set(fence, session)
      // Timers with a longer interval would fire all the time.
      this.#heartbeat ??= setInterval(() => void this.#renew(), Math.min(this.#lockMs / 3, 2 ** 31 - 1)).unref()
      return session
    } catch (error) {
      // The caller needs the original error; the lock expires.
      await release().catch(() => undefined)
      throw error
    }
  }

  /** Locks a session, and creates it if it is missing. Returns its row. */
  async #locked(sessionId: string, head: SessionHead): Promise<Row> {
    const { cwd = null, title = null, version = null, createdAt = null } = head
    // A unique holder, so that a statement whose response was lost recognizes its own lock.
    const holder = JSON.stringify({ ...ownProcess(), opening: randomUUID() })
    let dead = -1
    for (;;) {
      const [row] = await this.#connection.rows<Row>(
        `INSERT INTO ${this.#schema}.sessions AS s
           (id, format, cwd, title, version, created_at, updated_at, written, records, bytes, fence, holder, held_until)
         VALUES ($1, $2, $3, $4, $5, COALESCE($6::timestamptz, clock_timestamp()), clock_timestamp(), nextval('${this.#schema}.writes'), 0, 0,
           nextval('${this.#schema}.fences'), $7, ${this.#until('$8')})
         ON CONFLICT (id) DO UPDATE
           SET fence = nextval('${this.#schema}.fences'), holder = EXCLUDED.holder, held_until = EXCLUDED.held_until
           WHERE s.format <= $2 AND (s.holder IS NULL OR s.holder = EXCLUDED.holder OR s.held_until < clock_timestamp() OR s.fence = $9)
         RETURNING ${columns}, set_config('synchronous_commit', 'on', true)`,
        [sessionId, sessionFormat, cwd, title, version, createdAt, holder, this.#lockMs, dead],
      )
      if (row !== undefined) return row
      const found = await this.#rowOf(sessionId)
      // It was removed or released in the meantime.
      if (found === undefined) continue
      if (found.format > sessionFormat) throw sessionOfLaterVersion(sessionId, found.format)
      // Retried only once per lock: the next response is about another lock.
      if (found.fence === dead || isHeld(found)) throw sessionInUse(sessionId, nameOfHolder(parsedHolder(found.holder)))
      dead = found.fence
    }
  }

  #until(parameter: string): string {
    return `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`
  }

  /**
   * Writes a batch with one statement, which takes effect only for the right lock and number of records. If its
   * response is lost, it is sent again; the number of records then shows whether the first one took effect.
   */
  async #write({ key, id, fence }: Row, { first, records, lastReason, isDurable }: RecordBatch): Promise<void> {
    const bytes = records.reduce((sum, record) => sum + Buffer.byteLength(record), 0)
    if (bytes > maxBytes)
      throw new HaltingError(
        'driver',
        `${records.length} records of the session ${id} have ${bytes} bytes; PostgreSQL takes ${maxBytes} at a time. Store large results elsewhere.`,
      )
    const [done] = await this.#connection.rows<{ readonly changed: number }>(
      `WITH changed AS (
         UPDATE ${this.#schema}.sessions AS s
         SET records = s.records + $4, bytes = s.bytes + $5, held_until = ${this.#until('$6')},
           updated_at = CASE WHEN $4 > 0 THEN clock_timestamp() ELSE s.updated_at END,
           written = CASE WHEN $4 > 0 THEN nextval('${this.#schema}.writes') ELSE s.written END,
           last_reason = CASE WHEN $7 THEN $8 ELSE s.last_reason END
         WHERE s.key = $1 AND s.fence = $2 AND s.records = $3
         RETURNING s.key
       ), added AS (
         INSERT INTO ${this.#schema}.records (session, number, body)
         SELECT changed.key, $3::bigint + each.at - 1, each.body
         FROM changed, unnest($9::text[]) WITH ORDINALITY AS each (body, at)
       )
       SELECT (SELECT count(*) FROM changed)::float8 AS changed, set_config('synchronous_commit', $10, true)`,
      [
        key,
        fence,
        first,
        records.length,
        bytes,
        this.#lockMs,
        lastReason !== undefined,
        lastReason ?? null,
        records,
        isDurable ? 'on' : 'off',
      ],
    )
    if (done?.changed === 1) return
    const found = await this.#rowOf(id)
    if (found === undefined || found.key !== key || found.fence !== fence)
      throw sessionTakenOver(id, found === undefined ? undefined : nameOfHolder(parsedHolder(found.holder)))
    // Nobody else writes under this lock: the statement took effect, and its response was lost.
    if (records.length > 0 && found.records === first + records.length) return
    throw new HaltingError('internal', `The session ${id} holds ${found.records} records, not ${first}.`)
  }

  async #release({ key, fence }: Row): Promise<void> {
    this.#open.delete(fence)
    if (this.#open.size === 0) this.#rest()
    await this.#connection.rows(`UPDATE ${this.#schema}.sessions SET holder = NULL WHERE key = $1 AND fence = $2`, [
      key,
      fence,
    ])
  }

  #rest(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }

  async #renew(): Promise<void> {
    try {
      await this.#connection.rows(
        `UPDATE ${this.#schema}.sessions SET held_until = ${this.#until('$2')} WHERE fence = ANY ($1::bigint[]) AND holder IS NOT NULL`,
        [[...this.#open.keys()], this.#lockMs],
      )
    } catch {
      // If the lock was lost, writes are rejected; the next renewal may succeed.
    }
  }

  async #rowOf(sessionId: string): Promise<Row | undefined> {
    const [row] = await this.#connection.rows<Row>(
      `SELECT ${columns} FROM ${this.#schema}.sessions AS s WHERE s.id = $1`,
      [sessionId],
    )
    return row
  }

  /** Returns the records counted in the row, page by page. */
  async #textsOf({ key, id, records }: Row): Promise<readonly string[]> {
    const texts: string[] = []
    while (texts.length < records) {
      const page = await this.#connection.rows<{ readonly number: number; readonly body: string }>(
        `SELECT number::float8, body FROM (
           SELECT number, body, sum(octet_length(body)) OVER (ORDER BY number) AS bytes
           FROM ${this.#schema}.records WHERE session = $1 AND number >= $2 AND number < $3 ORDER BY number LIMIT ${pageRecords}
         ) AS page WHERE bytes <= ${pageBytes} OR number = $2 ORDER BY number`,
        [key, texts.length, records],
      )
      if (page.length === 0) throw damagedRecord(id, texts.length, 'it is missing')
      for (const { number, body } of page) {
        if (number !== texts.length) throw damagedRecord(id, texts.length, 'it is missing')
        texts.push(body)
      }
    }
    return texts
  }

  async read(
    sessionId: string,
  ): Promise<{ readonly info: StoredSessionInfo; readonly records: readonly StepRecord[] } | undefined> {
    validateSessionArguments(sessionId)
    const row = await this.#rowOf(sessionId)
    if (row === undefined) return undefined
    if (row.format > sessionFormat) throw sessionOfLaterVersion(sessionId, row.format)
    try {
      return { info: infoOf(row), records: decodeRecords(sessionId, await this.#textsOf(row)) }
    } catch (error) {
      // It may have been removed during reading.
      const now = await this.#rowOf(sessionId)
      if (now?.key !== row.key) return undefined
      throw error
    }
  }

  async list(options: SessionListOptions = {}): Promise<readonly StoredSessionInfo[]> {
    validateListOptions(options)
    const { cwd = null, limit = 1_000, after } = options
    if (after !== undefined && (await this.#rowOf(after)) === undefined) throw noSuchPage(after)
    const rows = await this.#connection.rows<Row>(
      `SELECT ${columns} FROM ${this.#schema}.sessions AS s
       WHERE ($1::text IS NULL OR s.cwd = $1)
         AND ($2::text IS NULL OR s.written < (SELECT written FROM ${this.#schema}.sessions WHERE id = $2))
       ORDER BY s.written DESC LIMIT $3`,
      [cwd, after ?? null, limit],
    )
    return rows.map(infoOf)
  }

  async remove(sessionId: string): Promise<boolean> {
    validateSessionArguments(sessionId)
    const row = await this.#rowOf(sessionId)
    if (row === undefined) return false
    if (isHeld(row)) throw sessionInUse(sessionId, nameOfHolder(parsedHolder(row.holder)))
    await this.#connection.rows(`DELETE FROM ${this.#schema}.sessions WHERE key = $1 AND fence = $2`, [
      row.key,
      row.fence,
    ])
    // Another process may have locked it in the meantime.
    const current = await this.#rowOf(sessionId)
    if (current?.key === row.key) throw sessionInUse(sessionId, nameOfHolder(parsedHolder(current.holder)))
    return true
  }

  async removeOlderThan(moment: Date): Promise<number> {
    if (!(moment instanceof Date) || Number.isNaN(moment.getTime())) throwInvalidOption('moment', 'a Date', moment)
    const removed = await this.#connection.rows(
      `DELETE FROM ${this.#schema}.sessions
       WHERE updated_at < $1::timestamptz AND (holder IS NULL OR held_until < clock_timestamp()) RETURNING 1`,
      // PostgreSQL accepts no times before the year 1, and none after 9999 in JavaScript's format.
      [new Date(Math.min(Math.max(moment.getTime(), earliestMs), latestMs)).toISOString()],
    )
    return removed.length
  }

  async close(): Promise<void> {
    // Also close sessions that are being opened: nobody could release them afterwards.
    while (this.#opening.size > 0) await Promise.allSettled(this.#opening)
    const closed = await Promise.allSettled([...this.#open.values()].map((session) => session.close()))
    this.#rest()
    await this.#connection.close()
    for (const each of closed) if (each.status === 'rejected') throw each.reason
  }
}

/** Whether a lock is valid: not if it has expired, or its process of this host has ended. */
function isHeld({ holder, is_held: isInTime }: Row): boolean {
  if (!isInTime) return false
  const known = parsedHolder(holder)
  return known === undefined || livenessOf(known) !== 'dead'
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
    updatedAt: row.updated_at,
    records: row.records,
    bytes: row.bytes,
    // A later version may have written an unknown reason; it is passed on unchanged.
    lastReason: row.last_reason as EndingReason | null,
    isLocked: isHeld(row),
  }
}
