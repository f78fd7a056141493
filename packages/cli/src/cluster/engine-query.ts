import { isJsonObject } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'
import { adminAddress } from './admin-address.ts'
import { requestEngine } from './engine-request.ts'

/** A row, by its columns. */
export interface EngineRow {
  readonly [column: string]: unknown
}

/** A text in that language. */
export function sqlLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** What the engine answers to a query in its own language. @throws UsageError that says what is the matter, and where. */
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
