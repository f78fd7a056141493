import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { isConflict, isConnectionLost, poolOf, type PostgresPool } from './pool.ts'
import { migrate } from './schema.ts'

/** Where the database is, and how long to retry. */
export interface ConnectionOptions {
  readonly connectionString?: string
  readonly pool?: PostgresPool
  readonly schema: string
  readonly retryMs: number
}

/**
 * Runs queries over a pool whose connections may drop. Each query is one statement, so it takes effect completely or
 * not at all.
 */
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
   * Runs a statement until the database has responded. A statement whose connection dropped may have taken effect, so
   * it must be idempotent.
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
        // The statement selects exactly these columns.
        return rows as readonly Row[]
      } catch (error) {
        if (error instanceof HaltingError) throw error
        const isWorthIt = isConflict(error) || isConnectionLost(error)
        if (!isWorthIt || performance.now() > until || this.#isClosed) throw this.#failureOf(error)
        // Random delays, so that no client always comes first; not so often that they slow down a starting server.
        await wait(Math.min(1_000, 10 * 2 ** tries) * (0.5 + Math.random()))
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // A closed pool never responds to queries that wait for a connection.
    await Promise.allSettled(this.#underWay)
    if (this.#options.pool === undefined) await this.#pool?.end()
  }

  #connected(): Promise<PostgresPool> {
    if (this.#isClosed) throw new HaltingError('driver', 'The store is closed. Open it again.')
    this.#opened ??= this.#open()
    // An unreachable server may be reachable later.
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
