import { messageOf, sharedAbort } from '@halting/core/adapters'
import type { McpServerConfig } from './config.ts'
import { connect, type Connection, type Offered } from './connection.ts'
import type { ConnectionPlace } from './connection-place.ts'
import * as texts from './mcp-texts.ts'
import { rejectOnAbort } from './reject-on-abort.ts'
import { timeLimit } from '../time-limit.ts'
import { NeedsSignIn } from './needs-sign-in.ts'

/** The state of the connection to an MCP server. */
export type McpStatus = 'pending' | 'connected' | 'failed' | 'needs-auth' | 'disabled'

const nothing: Offered = { tools: [], prompts: [], hasResources: false, problems: [] }

/** List changes are collected for this long. */
const gatherMs = 200
const maxLooks = 500

/** The server has lost the session, so it did not process the request. */
export class SessionLost extends Error {}

/**
 * One server during a session: connected, and reconnected when it is lost. N1: `settled` resolves in bounded time,
 * whatever the server does. N2: nothing is left after `end()`. N3: each attempt follows after a longer delay than the
 * one before, and the number of attempts is limited; after the last one, the server has failed permanently.
 */
export class ServerHandle {
  readonly name: string
  /** Resolves when the first attempt is over. */
  readonly settled: Promise<void>
  status: McpStatus = 'pending'
  /** Why the server is not connected. */
  problem: string | undefined
  offered: Offered = nothing
  readonly #server: McpServerConfig
  readonly #place: ConnectionPlace
  readonly #onChange: () => void
  readonly #ending = sharedAbort()
  #connection: Connection | undefined
  #connecting: Promise<void>
  #tries = 0
  #since = 0
  #looks = 0
  #isLooking = false

  constructor(name: string, server: McpServerConfig, place: ConnectionPlace, onChange: () => void) {
    this.name = name
    this.#server = server
    this.#place = place
    this.#onChange = onChange
    this.#connecting = this.#connect('failed')
    this.settled = this.#connecting
  }

  /** Limits of the server. */
  get limits(): ConnectionPlace['limits'] {
    return this.#place.limits
  }

  get elicitations(): ConnectionPlace['elicitations'] {
    return this.#place.elicitations
  }

  /** Name and version of the server; undefined if it is not connected. */
  get info(): { readonly name: string; readonly version: string } | undefined {
    const { name, version } = this.#connection?.client.getServerVersion() ?? {}
    return name === undefined || version === undefined ? undefined : { name, version }
  }

  /**
   * Returns the connection; waits if it is being established.
   * @throws Error that says why there is no connection
   */
  async connected(signal: AbortSignal): Promise<Connection> {
    if (this.#connection === undefined && this.status === 'pending') await rejectOnAbort(this.#connecting, signal)
    if (this.#connection !== undefined) return this.#connection
    throw new Error(texts.notConnected(this.name, this.problem ?? this.status))
  }

  /**
   * Sends a request to the server.
   * @throws NeedsSignIn if the server requires a permission that was not granted
   * @throws SessionOver if the request must be repeated. The caller decides whether to repeat it, because the request
   * may have changed something.
   */
  async ask<T>(
    signal: AbortSignal,
    question: (client: Connection['client'], reports: Connection['reports']) => Promise<T>,
  ): Promise<T> {
    const connection = await this.connected(signal)
    try {
      return await question(connection.client, connection.reports)
    } catch (thrown) {
      const denial = await connection.denial(thrown)
      if (denial !== undefined) throw new NeedsSignIn(texts.notPermitted(this.name, denial.message))
      if (!connection.hasLostSession(thrown)) throw thrown
      if (this.#connection === connection) this.#gone(texts.sessionExpired)
      throw new SessionLost(texts.restarted(this.name))
    }
  }

  async end(): Promise<void> {
    this.#ending.abort(new Error('the session is over'))
    this.elicitations.connectionLost()
    await this.#connecting
    await this.#connection?.close()
  }

  /** Connects. Never rejects. */
  async #connect(whenWrong: 'failed' | 'again'): Promise<void> {
    const { signal } = this.#ending
    try {
      const events = {
        onGone: (problem: string) => this.#gone(problem),
        onListChanged: () => void this.#look(),
      }
      const connection = await connect(this.#server, this.#place, events, signal)
      if (signal.aborted) return await connection.close()
      this.#connection = connection
      this.#since = performance.now()
      this.offered = connection.offered
      this.#become('connected')
    } catch (thrown) {
      if (signal.aborted) return
      if (thrown instanceof NeedsSignIn) this.#become('needs-auth', thrown.message)
      else if (whenWrong === 'failed') this.#become('failed', messageOf(thrown))
      else this.#again(messageOf(thrown))
    }
  }

  #become(status: McpStatus, problem?: string): void {
    this.status = status
    this.problem = problem
    this.#onChange()
  }

  #gone(problem: string): void {
    const { signal } = this.#ending
    if (signal.aborted) return
    if (performance.now() - this.#since > this.#place.limits.stableMs) this.#tries = 0
    const connection = this.#connection
    this.#connection = undefined
    this.elicitations.connectionLost()
    void connection?.close()
    this.#again(problem)
  }

  #again(problem: string): void {
    const delay = this.#place.limits.reconnectMs[this.#tries++]
    if (delay === undefined) {
      // A server that failed permanently offers nothing.
      this.offered = nothing
      this.#become('failed', problem)
      return
    }
    this.#connecting = this.#after(delay).then(() => (this.#ending.signal.aborted ? undefined : this.#connect('again')))
    this.#become('pending', problem)
  }

  #after(ms: number): Promise<void> {
    const { signal } = this.#ending
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      // Keeps the process running, because a call waits for the next connection. `end` stops the timer early.
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** Reloads changed lists. A list that fails to load keeps its former value. */
  async #look(): Promise<void> {
    if (this.#isLooking || this.#looks >= maxLooks) return
    this.#isLooking = true
    this.#looks += 1
    await this.#after(gatherMs)
    this.#isLooking = false
    const connection = this.#connection
    const { signal } = this.#ending
    if (connection === undefined || signal.aborted) return
    const limit = timeLimit(this.#place.limits.connectMs, signal)
    try {
      this.offered = await connection.reload(limit.signal)
      this.#onChange()
    } catch {
      // The problem is reported when the server is called.
    } finally {
      limit.clear()
    }
  }
}
