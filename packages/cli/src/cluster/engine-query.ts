import { isJsonObject } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { requestEngine } from './engine-request.ts'

/** One row, keyed by column. */
export interface EngineRow {
  readonly [column: string]: unknown
}

/** Quotes a text as a literal of the query language. */
export function sqlLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Runs an SQL query at the admin address of the engine. @throws UsageError that names the problem and the address */
export async function queryEngine(
  flags: Pick<Flags, 'cluster' | 'admin'>,
  query: string,
): Promise<readonly EngineRow[]> {
  const base = adminAddress(flags)
  const answer = await requestEngine({ base, path: '/query', body: { query } })
  const rows: unknown = isJsonObject(answer) ? answer['rows'] : undefined
  if (Array.isArray(rows) && rows.every(isJsonObject)) return rows
  throw new UsageError(`The cluster at ${new URL(base).origin} does not return a list of sessions.`)
}
