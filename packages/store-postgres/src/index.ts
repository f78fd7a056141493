// `@halting/store-postgres`: sessions in PostgreSQL.

export { postgresStore, type PostgresStoreOptions } from './postgres-store.ts'
export type { PostgresPool, PostgresResult } from './pool.ts'
