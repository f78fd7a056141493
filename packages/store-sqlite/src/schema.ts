import { HaltingError } from '@halting/core'
import type { SqliteDatabase } from './database.ts'

/** Migrations to each version; the first creates the tables. Only append to this list. */
const migrations: readonly string[] = [
  `CREATE TABLE halting_store (version INTEGER NOT NULL, fence INTEGER NOT NULL);
   INSERT INTO halting_store VALUES (0, 0);
   CREATE TABLE halting_sessions (
     key INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     format INTEGER NOT NULL,
     cwd TEXT, title TEXT, version TEXT,
     created_at TEXT NOT NULL,
     updated_at INTEGER NOT NULL,
     written INTEGER NOT NULL,
     records INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     last_reason TEXT,
     fence INTEGER NOT NULL,
     holder TEXT,
     held_until INTEGER NOT NULL
   );
   CREATE INDEX halting_sessions_written ON halting_sessions (written);
   CREATE TABLE halting_records (
     session INTEGER NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (session, number)
   );`,
]

/**
 * Creates or migrates the tables in one transaction.
 * @throws HaltingError `driver` for tables of a later version.
 */
export function migrate(database: SqliteDatabase): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const isThere = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'halting_store'").get() !== undefined
    const version = isThere
      ? // The column is an INTEGER.
        (database.prepare('SELECT version FROM halting_store').get() as { readonly version: number }).version
      : 0
    if (version > migrations.length)
      throw new HaltingError(
        'driver',
        `The database has tables of version ${version}; this version of @halting/store-sqlite reads versions up to ${migrations.length}. Update it.`,
      )
    for (const sql of migrations.slice(version)) database.exec(sql)
    if (version < migrations.length) database.prepare('UPDATE halting_store SET version = ?').run(migrations.length)
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** Rolls back a failed transaction; SQLite may have done so already. */
export function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // The transaction has already ended.
  }
}
