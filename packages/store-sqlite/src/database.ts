import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigurationError, HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'

/** An SQLite value as both libraries return it for this store. */
export type SqliteValue = string | number | null

/** The part of a statement that `node:sqlite` and `better-sqlite3` share. */
export interface SqliteStatement {
  /** Executes the statement. */
  run(...values: SqliteValue[]): unknown
  /** Returns the first row; undefined without rows. */
  get(...values: SqliteValue[]): unknown
  /** Returns all rows. */
  all(...values: SqliteValue[]): unknown[]
}

/**
 * An open database: a `DatabaseSync` of `node:sqlite`, a `Database` of `better-sqlite3`, or another one with these
 * methods.
 */
export interface SqliteDatabase {
  /** Executes statements without values. */
  exec(sql: string): unknown
  /** Compiles a statement. */
  prepare(sql: string): SqliteStatement
  /** Closes the database. */
  close(): unknown
}

type Constructor = new (path: string) => SqliteDatabase

/**
 * Opens the file, readable for this user only, and creates it if missing.
 * @throws HaltingError `driver` if no SQLite library can be loaded, or the file cannot be opened.
 */
export async function openDatabase(path: string): Promise<SqliteDatabase> {
  const Database = await sqliteLibrary()
  try {
    if (path === ':memory:') return new Database(path)
    // Absolute: the library would parse `file:…` as a URI, and open another file than the one created here.
    const file = resolve(path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    createPrivately(file)
    return new Database(file)
  } catch (error) {
    throw new HaltingError('driver', `The database ${path} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

/** Creates the file as private: SQLite would make it readable for others. Its other files inherit this mode. */
function createPrivately(file: string): void {
  // Opening a pipe would block until another process reads from it.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0)
  const opened = openSync(file, flags, 0o600)
  try {
    if (!fstatSync(opened).isFile()) throw new Error('it is not a regular file')
  } finally {
    closeSync(opened)
  }
}

/** Returns `node:sqlite` if available, otherwise `better-sqlite3`. */
async function sqliteLibrary(): Promise<Constructor> {
  const builtIn = builtInLibrary()
  if (builtIn !== undefined) return builtIn
  // Import by a variable: the package is optional, and has no types of its own.
  const name = 'better-sqlite3'
  try {
    // The package exports its class; opening a file shows whether it works.
    const { default: Database } = (await import(name)) as { readonly default: Constructor }
    new Database(':memory:').close()
    return Database
  } catch (error) {
    throw new ConfigurationError(
      `Node ${process.versions.node} has no SQLite, and better-sqlite3 cannot be loaded (${firstLineOf(error)}). Use Node 22.13 or later, or run: npm install better-sqlite3@12`,
    )
  }
}

function builtInLibrary(): Constructor | undefined {
  const warning = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  try {
    // Node warns on stderr that the module may change; this package is tested with it.
    process.emitWarning = () => {}
    const found: { readonly DatabaseSync?: Constructor } | undefined = process.getBuiltinModule('node:sqlite')
    return found?.DatabaseSync
  } finally {
    if (warning !== undefined) Object.defineProperty(process, 'emitWarning', warning)
  }
}

function firstLineOf(error: unknown): string {
  return messageOf(error).split('\n')[0] ?? ''
}

/** Whether another connection is writing; the libraries report it differently. */
export function isBusy(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  // SQLITE_BUSY is 5, the lowest byte of its extended codes.
  return typeof errcode === 'number'
    ? (errcode & 0xff) === 5
    : typeof code === 'string' && code.startsWith('SQLITE_BUSY')
}
