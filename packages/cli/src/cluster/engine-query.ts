import type { Flags } from '../flags/flags.ts'
import { adminOf } from './admin-address.ts'
import { askEngine } from './engine-request.ts'

/** What the engine answers to a query in its own language. @throws UsageError that says what is the matter, and where. */
export async function rowsOf<T>(flags: Pick<Flags, 'cluster' | 'admin'>, query: string): Promise<readonly T[]> {
  // What the engine answers to a query.
  const { rows } = (await askEngine({ base: adminOf(flags), path: '/query', body: { query } })) as {
    readonly rows: readonly T[]
  }
  return rows
}
