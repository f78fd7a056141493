import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { isBusy, openDatabase, type SqliteDatabase } from './database.ts'
import { migrate, rollBack } from './schema.ts'

interface Job {
  readonly isDurable: boolean
  /** Does the work inside the transaction. */
  readonly work: (database: SqliteDatabase) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Where the database is, and how long to wait for it. */
export interface ConnectionOptions {
  /** For messages, too. */
  readonly path: string
  readonly database?: SqliteDatabase
  readonly busyTimeoutMs: number
}

/**
 * One connection. What is written in one turn of the event loop, whichever session it is of, shares one transaction, and one sync of the disk.
 * SQLite allows one writer at a time over all processes: for the others this waits without blocking the process.
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

  /** Reads. `look` does so at once, and sees one state of the database. */
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

  /** Writes: all that `work` does, or nothing where it throws. With `isDurable` it is on disk once this has resolved. */
  async write<T>(isDurable: boolean, work: (database: SqliteDatabase) => T): Promise<T> {
    this.#refuseIfClosed()
    await this.#database()
    return new Promise<T>((resolve, reject) => {
      // What `work` gives is what it resolves with.
      this.#jobs.push({ isDurable, work, resolve: resolve as (value: unknown) => void, reject })
      this.#working ??= this.#workOff()
    })
  }

  /** Ends it once all that was asked for is written. A database that the program has given stays open. */
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
    // What could not be opened may be there later.
    this.#opened.catch(() => (this.#opened = undefined))
    return this.#opened
  }

  async #open(): Promise<SqliteDatabase> {
    const { path, database: given } = this.#options
    const database = given ?? (await openDatabase(path))
    try {
      for (const sql of [
        // The library would block the process for so long; what takes longer is tried again by this class.
        'PRAGMA busy_timeout = 20',
        // Counts for a new file only: what is removed gives its room back.
        'PRAGMA auto_vacuum = INCREMENTAL',
        // With a write-ahead log readers and a writer do not wait for each other.
        'PRAGMA journal_mode = WAL',
        // On macOS a plain sync leaves data in the cache of the drive.
        'PRAGMA fullfsync = 1',
      ])
        // One after the other: each may find a process that opens or closes the file.
        await this.#unlessBusy(() => database.exec(sql))
      await this.#unlessBusy(() => migrate(database))
      return database
    } catch (error) {
      if (given === undefined) database.close()
      throw this.#failureOf(error)
    }
  }

  async #workOff(): Promise<void> {
    // What neighbours ask for in this turn of the event loop goes together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#jobs.length > 0) {
      let jobs = this.#jobs
      try {
        const database = await this.#database()
        const settle = await this.#unlessBusy(() => {
          // Those that came while another process was writing, too.
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

  /** Gives what settles the jobs. */
  #transaction(database: SqliteDatabase, jobs: readonly Job[]): () => void {
    const isDurable = jobs.some((job) => job.isDurable)
    // FULL: a commit returns once the log is on disk, with all commits before it. NORMAL: it may be lost with the power, never with the process, and never breaks the database.
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
          // One that is refused does not take its neighbours with it.
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
        // Of several that wait none is always the last.
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

/** False where SQLite has ended the whole transaction already, as it does when the disk is full. */
function rollBackJob(database: SqliteDatabase): boolean {
  try {
    database.exec('ROLLBACK TO job; RELEASE job')
    return true
  } catch {
    return false
  }
}
