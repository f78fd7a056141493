import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'

/** What a query gives, in the part that this store reads. */
export interface PostgresResult {
  /** The rows, each by the names of its columns. */
  readonly rows: readonly unknown[]
}

/** A `Pool` of `pg`, or another client with these methods. Each query may go over another connection: the store keeps no state on one. */
export interface PostgresPool {
  /** Executes one statement, with values for `$1`, `$2` … */
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  /** Closes all connections. */
  end(): Promise<void>
}

/** What `pg` exports, in the part that is used. */
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

/** A pool of `pg` for this address, which waits so long for a connection. @throws ConfigurationError where `pg` cannot be loaded. */
export async function poolOf(connectionString: string, timeoutMs = 30_000): Promise<PostgresPool> {
  // By a variable: its types are in a package of their own, which programs need not have.
  const name = 'pg'
  let pg: PgModule
  try {
    const { default: found } = (await import(name)) as { readonly default: PgModule }
    pg = found
  } catch (error) {
    throw new ConfigurationError(`pg cannot be loaded (${messageOf(error).split('\n')[0]}). Run: npm install pg`)
  }
  // Without a limit pg waits for ever for a server that takes connections and does not answer. Timers have 31 bits.
  const connectionTimeoutMillis = Math.min(Math.ceil(timeoutMs), 2 ** 31 - 1)
  const pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis, keepAlive: true })
  // A connection that drops while nobody uses it is replaced by the next query.
  pool.on('error', () => {})
  return pool
}

/** Errors after which the same query may succeed on another connection; what came of this one is not known. */
export function isConnectionLost(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  if (typeof code === 'string')
    // Connection exceptions, a server that shuts down or starts, and what the system says of sockets.
    return (
      /^(?:08|57P0[1-5])/.test(code) ||
      /^(?:ECONN|EPIPE|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOENT|EAI_AGAIN)/.test(code)
    )
  return (
    typeof message === 'string' &&
    /connection terminated|connection timeout|timeout exceeded|client was closed|not queryable/i.test(message)
  )
}

/** Errors of transactions that met: the same query may succeed at once. */
export function isConflict(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return code === '40001' || code === '40P01' || code === '55P03'
}
