import { HaltingError } from '@halting/core'
import type { PostgresPool } from './pool.ts'

/** Migrations to each version; the first creates the tables. Only append to this list. */
const migrations: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE SEQUENCE ${schema}.fences;
    CREATE SEQUENCE ${schema}.writes;
    CREATE TABLE ${schema}.sessions (
      key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text COLLATE "C" NOT NULL UNIQUE,
      format integer NOT NULL,
      cwd text, title text, version text,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      written bigint NOT NULL,
      records bigint NOT NULL,
      bytes bigint NOT NULL,
      last_reason text,
      fence bigint NOT NULL,
      holder text,
      held_until timestamptz NOT NULL
    );
    CREATE INDEX sessions_written ON ${schema}.sessions (written);
    CREATE INDEX sessions_updated ON ${schema}.sessions (updated_at);
    CREATE TABLE ${schema}.records (
      session bigint NOT NULL REFERENCES ${schema}.sessions ON DELETE CASCADE,
      number bigint NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (session, number)
    );`,
]

/** Advisory lock for migrations: an arbitrary number that nobody else uses. */
const migrationLock = 4_814_251_107

/**
 * Creates or migrates the schema and its tables in one transaction.
 * @throws HaltingError `driver` for tables of a later version.
 */
export async function migrate(pool: PostgresPool, schema: string): Promise<void> {
  // Users without rights to create tables can use existing ones.
  const before = await versionOf(pool, schema)
  if (before === migrations.length) return
  if (before > migrations.length) throw laterTables(before)
  // Several statements without values are one transaction. A concurrent one waits, and finds everything done.
  const steps = migrations.map(
    (sqlOf, version) => `
      IF at = ${version} THEN
        ${sqlOf(schema)}
        at := ${version + 1};
      END IF;`,
  )
  await pool.query(`
    SELECT pg_advisory_xact_lock(${migrationLock});
    CREATE SCHEMA IF NOT EXISTS ${schema};
    CREATE TABLE IF NOT EXISTS ${schema}.store (version integer NOT NULL);
    DO $halting$
    DECLARE at integer;
    BEGIN
      SELECT COALESCE(MAX(version), 0) INTO at FROM ${schema}.store;
      ${steps.join('')}
      DELETE FROM ${schema}.store WHERE at <= ${migrations.length};
      INSERT INTO ${schema}.store SELECT at WHERE at <= ${migrations.length};
    END
    $halting$;`)
  const after = await versionOf(pool, schema)
  if (after > migrations.length) throw laterTables(after)
}

async function versionOf(pool: PostgresPool, schema: string): Promise<number> {
  const { rows: found } = await pool.query('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.store`])
  // These columns are selected, here and below.
  if ((found as readonly { readonly there: boolean }[])[0]?.there !== true) return 0
  const { rows } = await pool.query(`SELECT version FROM ${schema}.store`)
  return (rows as readonly { readonly version: number }[])[0]?.version ?? 0
}

function laterTables(version: number): HaltingError {
  return new HaltingError(
    'driver',
    `The database has tables of version ${version}; this version of @halting/store-postgres reads versions up to ${migrations.length}. Update it.`,
  )
}
