// `@halting/store-sqlite`: sessions in a SQLite database.

export { sqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './database.ts'
