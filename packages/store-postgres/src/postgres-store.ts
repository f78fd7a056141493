import { randomUUID } from 'node:crypto'
import { HaltingError, type EndingReason } from '@halting/core'
import {
  checkListGiven,
  checkSessionGiven,
  createOpenSession,
  damagedRecord,
  decodeRecords,
  headOf,
  noSuchPage,
  refuse,
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

/** Where sessions are stored: one of `connectionString` and `pool` is required. */
export interface PostgresStoreOptions {
  /** The address of the database, such as `postgres://user@host/name`. Needs the package `pg`. */
  readonly connectionString?: string
  /** A `Pool` of `pg` that the program has. It stays open when the store is closed; listen to its event `error`, as `pg` asks of every program. */
  readonly pool?: PostgresPool
  /** The schema with the tables of the store (default: `halting`). It is made where it is missing. Lower-case letters, digits and `_`. */
  readonly schema?: string
  /** How long a lock lasts that is not renewed, in milliseconds by the clock of the database (default: 60,000). A dead process of this host loses its locks at once. */
  readonly lockMs?: number
  /** How long a query is tried again while the database cannot be reached, in milliseconds (default: 30,000). */
  readonly retryMs?: number
}

/** A row of the table of sessions, as `columns` asks for it. */
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
/** Numbers as numbers: `pg` gives a bigint as text. */
const columns = `s.key::text, s.id, s.format, s.cwd, s.title, s.version, ${isoTime('created_at')}, ${isoTime('updated_at')},
  s.records::float8, s.bytes::float8, s.last_reason, s.fence::float8, s.holder,
  (s.holder IS NOT NULL AND s.held_until >= clock_timestamp()) AS is_held`

/** A batch goes in one message, of at most 1 GB with its escapes. */
const mostBytes = 400_000_000
/** Of what is read at a time. */
const pageBytes = 16_000_000
const pageRecords = 500
const earliestMs = Date.parse('0001-01-01T00:00:00.000Z')
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Sessions in PostgreSQL (13 and later): many of them, which move between machines.
 * @throws ConfigurationError for options of other types. What is wrong with the database is reported by the first call.
 */
export function postgresStore(options: PostgresStoreOptions): SessionStore {
  if (typeof options !== 'object' || options === null)
    refuse('postgresStore', 'given an object, such as { connectionString }', options)
  const { connectionString, pool, schema = 'halting', lockMs = 60_000, retryMs = 30_000 } = options
  if (pool === undefined && (typeof connectionString !== 'string' || connectionString === ''))
    refuse('connectionString', 'a text that is not empty, unless pool is given', connectionString)
  // Plain JavaScript may give anything.
  if (pool !== undefined && typeof (pool as Partial<PostgresPool> | null)?.query !== 'function')
    refuse('pool', 'a Pool of pg', pool)
  if (typeof schema !== 'string' || !/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema))
    refuse('schema', 'a name of lower-case letters, digits and _, at most 63, that does not begin with pg_', schema)
  for (const [name, value] of Object.entries({ lockMs, retryMs }))
    if (!(Number.isFinite(value) && value > 0)) refuse(name, 'a number of milliseconds above 0', value)
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
    checkSessionGiven(sessionId, head)
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
      // A longer interval than timers have would fire all the time.
      this.#heartbeat ??= setInterval(() => void this.#renew(), Math.min(this.#lockMs / 3, 2 ** 31 - 1)).unref()
      return session
    } catch (error) {
      // The cause is what the caller needs; the lock expires.
      await release().catch(() => undefined)
      throw error
    }
  }

  /** Takes the lock of a session, which begins where there is none. Gives its row. */
  async #locked(sessionId: string, head: SessionHead): Promise<Row> {
    const { cwd = null, title = null, version = null, createdAt = null } = head
    // Of its own, so that a statement whose answer was lost finds its own lock.
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
      // It was removed, or given back, since.
      if (found === undefined) continue
      if (found.format > sessionFormat) throw sessionOfLaterVersion(sessionId, found.format)
      // Tried once for each lock: the next answer tells of another one.
      if (found.fence === dead || isHeld(found)) throw sessionInUse(sessionId, nameOfHolder(parsedHolder(found.holder)))
      dead = found.fence
    }
  }

  #until(parameter: string): string {
    return `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`
  }

  /**
   * Writes a batch with one statement, which takes effect for the right lock and the right number of records alone. Where its answer was lost it is sent again: the number
   * of records says then whether the first one took effect.
   */
  async #write({ key, id, fence }: Row, { first, records, lastReason, isDurable }: RecordBatch): Promise<void> {
    const bytes = records.reduce((sum, record) => sum + Buffer.byteLength(record), 0)
    if (bytes > mostBytes)
      throw new HaltingError(
        'driver',
        `${records.length} records of the session ${id} have ${bytes} bytes; PostgreSQL takes ${mostBytes} at a time. Store large results elsewhere.`,
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
    // Under this lock nobody else writes: it took effect, and the answer was lost.
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
      // Records are refused where the lock was lost, and the next renewal may succeed.
    }
  }

  async #rowOf(sessionId: string): Promise<Row | undefined> {
    const [row] = await this.#connection.rows<Row>(
      `SELECT ${columns} FROM ${this.#schema}.sessions AS s WHERE s.id = $1`,
      [sessionId],
    )
    return row
  }

  /** The records that the row counts, a page at a time. */
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
    checkSessionGiven(sessionId)
    const row = await this.#rowOf(sessionId)
    if (row === undefined) return undefined
    if (row.format > sessionFormat) throw sessionOfLaterVersion(sessionId, row.format)
    try {
      return { info: infoOf(row), records: decodeRecords(sessionId, await this.#textsOf(row)) }
    } catch (error) {
      // It may have been removed while it was read.
      const now = await this.#rowOf(sessionId)
      if (now?.key !== row.key) return undefined
      throw error
    }
  }

  async list(options: SessionListOptions = {}): Promise<readonly StoredSessionInfo[]> {
    checkListGiven(options)
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
    checkSessionGiven(sessionId)
    const row = await this.#rowOf(sessionId)
    if (row === undefined) return false
    if (isHeld(row)) throw sessionInUse(sessionId, nameOfHolder(parsedHolder(row.holder)))
    await this.#connection.rows(`DELETE FROM ${this.#schema}.sessions WHERE key = $1 AND fence = $2`, [
      row.key,
      row.fence,
    ])
    // Somebody may have taken its lock in between.
    const left = await this.#rowOf(sessionId)
    if (left?.key === row.key) throw sessionInUse(sessionId, nameOfHolder(parsedHolder(left.holder)))
    return true
  }

  async removeOlderThan(moment: Date): Promise<number> {
    if (!(moment instanceof Date) || Number.isNaN(moment.getTime())) refuse('moment', 'a Date', moment)
    const removed = await this.#connection.rows(
      `DELETE FROM ${this.#schema}.sessions
       WHERE updated_at < $1::timestamptz AND (holder IS NULL OR held_until < clock_timestamp()) RETURNING 1`,
      // PostgreSQL reads no times before the year 1, and none after 9999 as JavaScript writes them.
      [new Date(Math.min(Math.max(moment.getTime(), earliestMs), latestMs)).toISOString()],
    )
    return removed.length
  }

  async close(): Promise<void> {
    // A session whose lock is being taken is closed, too: afterwards nobody could release it.
    while (this.#opening.size > 0) await Promise.allSettled(this.#opening)
    const closed = await Promise.allSettled([...this.#open.values()].map((session) => session.close()))
    this.#rest()
    await this.#connection.close()
    for (const each of closed) if (each.status === 'rejected') throw each.reason
  }
}

/** A lock that has expired, or whose process of this host has ended, is none. */
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
    // A later version may have written another one: then it is what it is.
    lastReason: row.last_reason as EndingReason | null,
    isLocked: isHeld(row),
  }
}
