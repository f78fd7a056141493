import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { isBusy, openDatabase, type SqliteDatabase } from './database.ts'
import { migrate, rollBack } from './schema.ts'

interface Job {
  readonly isDurable: boolean
  /** Work inside the transaction. */
  readonly work: (database: SqliteDatabase) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Where the database is, and how long to wait for it. */
export interface ConnectionOptions {
  /** Also used in messages. */
  readonly path: string
  readonly database?: SqliteDatabase
  readonly busyTimeoutMs: number
}

/**
 * One connection. All writes in one turn of the event loop, for any session, share one transaction and one disk sync.
 * SQLite allows one writer over all processes; this class waits for others without blocking the process.
 */
export class Connection {
  readonly #options: ConnectionOptions
  #opened: Promise<SqliteDatabase> | undefined
  #jobs: Job[] = []
  #working: Promise<void> | undefined
  #isDurable: boolean | undefined
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Reads. `look` runs synchronously, and sees one state of the database. */
  async read<T>(look: (database: SqliteDatabase) => T): Promise<T> {
    this.#refuseIfClosed()
    const database = await this.#database()
    try {
      return await this.#unlessBusy(() => {
        database.exec('BEGIN')
        try {
          return look(database)
        } finally {
          rollBack(database)
        }
      })
    } catch (error) {
      throw this.#failureOf(error)
    }
  }

  /**
   * Writes: `work` takes effect completely, or not at all if it throws. With `isDurable` the data is on disk when it
   * resolves.
   */
  async write<T>(isDurable: boolean, work: (database: SqliteDatabase) => T): Promise<T> {
    this.#refuseIfClosed()
    await this.#database()
    return new Promise<T>((resolve, reject) => {
      // It resolves with the result of `work`.
      this.#jobs.push({ isDurable, work, resolve: resolve as (value: unknown) => void, reject })
      this.#working ??= this.#workOff()
    })
  }

  /** Closes the connection when all pending writes are done. A database that the program supplied stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#working
    const database = await this.#opened?.catch(() => undefined)
    if (this.#options.database === undefined) database?.close()
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new HaltingError('driver', `The store ${this.#options.path} is closed. Open it again.`)
  }

  #database(): Promise<SqliteDatabase> {
    this.#opened ??= this.#open()
    // Opening may succeed later.
    this.#opened.catch(() => (this.#opened = undefined))
    return this.#opened
  }

  async #open(): Promise<SqliteDatabase> {
    const { path, database: given } = this.#options
    const database = given ?? (await openDatabase(path))
    try {
      for (const sql of [
        // The library blocks the process for this time; after that, this class retries.
        'PRAGMA busy_timeout = 20',
        // Only affects new files: removing data then frees disk space.
        'PRAGMA auto_vacuum = INCREMENTAL',
        // With a write-ahead log, readers and writers do not block each other.
        'PRAGMA journal_mode = WAL',
        // On macOS a plain sync leaves data in the drive's cache.
        'PRAGMA fullfsync = 1',
      ])
        // One after another: each may collide with a process that opens or closes the file.
        await this.#unlessBusy(() => database.exec(sql))
      await this.#unlessBusy(() => migrate(database))
      return database
    } catch (error) {
      if (given === undefined) database.close()
      throw this.#failureOf(error)
    }
  }

  async #workOff(): Promise<void> {
    // Collect all writes of this turn of the event loop.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#jobs.length > 0) {
      let jobs = this.#jobs
      try {
        const database = await this.#database()
        const settle = await this.#unlessBusy(() => {
          // Include writes requested while another process was writing.
          jobs = this.#jobs
          const settled = this.#transaction(database, jobs)
          this.#jobs = []
          return settled
        })
        settle()
      } catch (error) {
        this.#jobs = this.#jobs.filter((job) => !jobs.includes(job))
        for (const { reject } of jobs) reject(this.#failureOf(error))
      }
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    this.#working = undefined
  }

  /** Returns a function that settles the jobs. */
  #transaction(database: SqliteDatabase, jobs: readonly Job[]): () => void {
    const isDurable = jobs.some((job) => job.isDurable)
    // FULL: a commit returns once the log, with all earlier commits, is on disk. NORMAL: a power failure may lose it,
    // but a crash of the process cannot, and the database stays valid.
    if (isDurable !== this.#isDurable) database.exec(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`)
    this.#isDurable = isDurable
    database.exec('BEGIN IMMEDIATE')
    try {
      const outcomes = jobs.map(({ work, resolve, reject }) => {
        database.exec('SAVEPOINT job')
        try {
          const value = work(database)
          database.exec('RELEASE job')
          return () => resolve(value)
        } catch (error) {
          // A failed job does not affect the others.
          if (!rollBackJob(database)) throw error
          return () => reject(this.#failureOf(error))
        }
      })
      database.exec('COMMIT')
      return () => {
        for (const settle of outcomes) settle()
      }
    } catch (error) {
      rollBack(database)
      throw error
    }
  }

  async #unlessBusy<T>(attempt: () => T): Promise<T> {
    const until = performance.now() + this.#options.busyTimeoutMs
    for (;;) {
      try {
        return attempt()
      } catch (error) {
        if (!isBusy(error)) throw error
        if (performance.now() > until)
          throw new HaltingError(
            'driver',
            `The database ${this.#options.path} was locked by another process for ${this.#options.busyTimeoutMs} ms. End the program that keeps a transaction open, or raise busyTimeoutMs.`,
            { cause: error },
          )
        // Random delays, so that no process always comes last.
        await wait(1 + Math.random() * 20)
      }
    }
  }

  #failureOf(error: unknown): HaltingError {
    if (error instanceof HaltingError) return error
    return new HaltingError('driver', `The database ${this.#options.path} refused: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** Rolls back one job. False if SQLite has already ended the whole transaction, as on a full disk. */
function rollBackJob(database: SqliteDatabase): boolean {
  try {
    database.exec('ROLLBACK TO job; RELEASE job')
    return true
  } catch {
    return false
  }
}
