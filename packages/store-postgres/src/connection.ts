import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { isConflict, isConnectionLost, poolOf, type PostgresPool } from './pool.ts'
import { migrate } from './schema.ts'

/** Where the database is, and how long to try. */
export interface ConnectionOptions {
  readonly connectionString?: string
  readonly pool?: PostgresPool
  readonly schema: string
  readonly retryMs: number
}

/** Queries over a pool whose connections may drop: each is one statement, so that it takes effect as a whole or not at all. */
export class Connection {
  readonly #options: ConnectionOptions
  #pool: PostgresPool | undefined
  #opened: Promise<PostgresPool> | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /**
   * Runs a statement until the database has answered. One whose connection dropped may have taken effect: it must be one that comes to the same when it is run again.
   */
  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const rows = this.#rowsOf<Row>(text, values)
    this.#underWay.add(rows)
    try {
      return await rows
    } finally {
      this.#underWay.delete(rows)
    }
  }

  async #rowsOf<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const until = performance.now() + this.#options.retryMs
    for (let tries = 0; ; tries++) {
      try {
        const pool = await this.#connected()
        const { rows } = await pool.query(text, [...values])
        // The columns are those that the statement names.
        return rows as readonly Row[]
      } catch (error) {
        if (error instanceof HaltingError) throw error
        const isWorthIt = isConflict(error) || isConnectionLost(error)
        if (!isWorthIt || performance.now() > until || this.#isClosed) throw this.#failureOf(error)
        // Of several that wait none asks always first; not so often that a server that starts is hindered.
        await wait(Math.min(1_000, 10 * 2 ** tries) * (0.5 + Math.random()))
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // A pool that ends never answers the queries that still wait for a connection.
    await Promise.allSettled(this.#underWay)
    if (this.#options.pool === undefined) await this.#pool?.end()
  }

  #connected(): Promise<PostgresPool> {
    if (this.#isClosed) throw new HaltingError('driver', 'The store is closed. Open it again.')
    this.#opened ??= this.#open()
    // A server that cannot be reached may be later.
    this.#opened.catch(() => (this.#opened = undefined))
    return this.#opened
  }

  async #open(): Promise<PostgresPool> {
    const { pool, connectionString = '', schema, retryMs } = this.#options
    this.#pool ??= pool ?? (await poolOf(connectionString, retryMs))
    await migrate(this.#pool, schema)
    return this.#pool
  }

  #failureOf(error: unknown): HaltingError {
    const { retryMs } = this.#options
    return new HaltingError(
      'driver',
      isConnectionLost(error)
        ? `The database cannot be reached: ${messageOf(error)}. It was tried for ${retryMs} ms; check the address and the server.`
        : `The database refused: ${messageOf(error)}.`,
      { cause: error },
    )
  }
}
