import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigurationError, HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'

/** A value of SQLite, as both libraries give it for what this store asks. */
export type SqliteValue = string | number | null

/** A statement, in the part of it that `node:sqlite` and `better-sqlite3` share. */
export interface SqliteStatement {
  /** Executes the statement. */
  run(...values: SqliteValue[]): unknown
  /** The first row; undefined for none. */
  get(...values: SqliteValue[]): unknown
  /** All rows. */
  all(...values: SqliteValue[]): unknown[]
}

/** An open database: a `DatabaseSync` of `node:sqlite`, a `Database` of `better-sqlite3`, or another one with these methods. */
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
 * Opens the file for this person alone, and makes it where it is missing.
 * @throws HaltingError `driver` where no library for SQLite can be loaded, or the file cannot be opened.
 */
export async function openDatabase(path: string): Promise<SqliteDatabase> {
  const Database = await sqliteLibrary()
  try {
    if (path === ':memory:') return new Database(path)
    // Absolute: the library would take `file:…` for an address, and open another file than the one that is made here.
    const file = resolve(path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    createPrivately(file)
    return new Database(file)
  } catch (error) {
    throw new HaltingError('driver', `The database ${path} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

/** SQLite would make the file readable for others; its other files take the mode of this one. */
function createPrivately(file: string): void {
  // A pipe would block the process until another one reads from it.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0)
  const opened = openSync(file, flags, 0o600)
  try {
    if (!fstatSync(opened).isFile()) throw new Error('it is not a regular file')
  } finally {
    closeSync(opened)
  }
}

/** `node:sqlite` where Node has it, else `better-sqlite3`. */
async function sqliteLibrary(): Promise<Constructor> {
  const builtIn = builtInLibrary()
  if (builtIn !== undefined) return builtIn
  // By a variable: the package is optional, and has no types of its own.
  const name = 'better-sqlite3'
  try {
    // The package exports its class; whether it works is seen when it opens a file.
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
    // Node warns on stderr that its module may change; this package is tested with it.
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

/** Whether another connection is writing at this moment: both libraries say it in their own way. */
export function isBusy(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  // SQLITE_BUSY is 5; its extended codes have that in their lowest byte.
  return typeof errcode === 'number'
    ? (errcode & 0xff) === 5
    : typeof code === 'string' && code.startsWith('SQLITE_BUSY')
}
