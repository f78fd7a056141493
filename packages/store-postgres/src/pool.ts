import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'

/** The part of a query result that this store reads. */
export interface PostgresResult {
  /** Rows by column name. */
  readonly rows: readonly unknown[]
}

/**
 * A `Pool` of `pg`, or another client with these methods. Queries may use different connections: the store has no state
 * on any of them.
 */
export interface PostgresPool {
  /** Executes one statement with values for `$1`, `$2` … */
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  /** Closes all connections. */
  end(): Promise<void>
}

/** The part of `pg` that we use. */
interface PgModule {
  readonly Pool: new (options: {
    readonly connectionString: string
    readonly max: number
    readonly connectionTimeoutMillis: number
    readonly keepAlive: boolean
  }) => PostgresPool & {
    on(event: 'error', listener: () => void): unknown
  }
}

/** Creates a pool of `pg` with a connection timeout. @throws ConfigurationError if `pg` cannot be loaded. */
export async function poolOf(connectionString: string, timeoutMs = 30_000): Promise<PostgresPool> {
  // Import by a variable: the types are in a separate package, which programs need not have.
  const name = 'pg'
  let pg: PgModule
  try {
    const { default: found } = (await import(name)) as { readonly default: PgModule }
    pg = found
  } catch (error) {
    throw new ConfigurationError(`pg cannot be loaded (${messageOf(error).split('\n')[0]}). Run: npm install pg`)
  }
  // Without a timeout, pg waits forever for a server that accepts connections but does not respond. Timers have 31
  // bits.
  const connectionTimeoutMillis = Math.min(Math.ceil(timeoutMs), 2 ** 31 - 1)
  const pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis, keepAlive: true })
  // The next query replaces a dropped idle connection.
  pool.on('error', () => {})
  return pool
}

/** Whether the same query may succeed on another connection. It is unknown whether this one took effect. */
export function isConnectionLost(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  if (typeof code === 'string')
    // Connection exceptions, a server that stops or starts, and socket errors of the system.
    return (
      /^(?:08|57P0[1-5])/.test(code) ||
      /^(?:ECONN|EPIPE|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOENT|EAI_AGAIN)/.test(code)
    )
  return (
    typeof message === 'string' &&
    /connection terminated|connection timeout|timeout exceeded|client was closed|not queryable/i.test(message)
  )
}

/** Whether transactions conflicted, so that the same query may succeed at once. */
export function isConflict(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return code === '40001' || code === '40P01' || code === '55P03'
}
