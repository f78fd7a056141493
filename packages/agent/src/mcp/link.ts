import { pathToFileURL } from 'node:url'
import {
  Client,
  type ClientOptions,
  InMemoryTransport,
  InsufficientScopeError,
  ProtocolError,
  SdkHttpError,
  SSEClientTransport,
  type Transport,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client'
import { messageOf } from '@halting/core/adapters'
import { boundedFetch } from './bounded-fetch.ts'
import type { HttpServer, McpServerConfig } from './config.ts'
import type { ConnectionPlace } from './connection-place.ts'
import { moreScopeAdvice, signInAdvice } from './connection-texts.ts'
import { NeedsSignIn } from './needs-sign-in.ts'
import { Reports } from './repair/reports.ts'
import { TolerantTransport } from './repair/tolerant-transport.ts'
import { tokenSource } from './sign-in/token-source.ts'
import { StdioTransport } from './stdio-transport.ts'
import { settledWithin } from '../time-limit.ts'
import { connectionEnded } from './mcp-texts.ts'

/**
 * Streamable HTTP that answers a request with an error if its stream ended without a response. Otherwise the caller
 * would wait for the whole timeout.
 */
class HttpTransport extends StreamableHTTPClientTransport {
  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: TransportSendOptions = {}): Promise<void> {
    const onRequestStreamEnd = (): void => {
      options.onRequestStreamEnd?.()
      for (const { id } of requestsIn(message))
        // If a response has arrived, it takes precedence: the client ignores a second one.
        this.onmessage?.({ jsonrpc: '2.0', id, error: { code: connectionClosed, message: connectionEnded } })
    }
    return super.send(message, { ...options, onRequestStreamEnd })
  }
}

const connectionClosed = -32_000

function requestsIn(message: JSONRPCMessage | JSONRPCMessage[]): readonly { readonly id: string | number }[] {
  const all = Array.isArray(message) ? message : [message]
  return all.flatMap((one) => ('method' in one && 'id' in one ? [{ id: one.id }] : []))
}

interface OpenOptions {
  readonly signal: AbortSignal
  /** Time limit of one request, in milliseconds. */
  readonly timeout: number
}

interface Way {
  readonly transport: Transport
  readonly stdio?: StdioTransport
  /** Makes the other end of the connection listen. */
  readonly opened?: () => Promise<void>
}

/** Revision 2026-07-28 has no `initialize`; `legacy` is every revision before it. */
type Versions = 'legacy' | 'any'

/**
 * Share of the connection timeout in which a server over HTTP must answer the probe for the newest revision. After
 * that, the older handshake is used.
 */
const probeShare = 1 / 3
const maxProbeMs = 10_000

// Decision 0071.
/**
 * The transport to one server and its client, after both have agreed on a protocol revision. A server over HTTP is
 * probed for the newest revision first, at the cost of one exchange. A server process is not probed: some processes
 * exit or hang on a request before `initialize`, and probing with a second process, as the client would, doubles the
 * time of every start. A process receives `initialize`; if it refuses that, the newest revision is requested.
 */
export class Link {
  /** Problems of the server's lists. */
  readonly reports: Reports = new Reports()
  readonly #server: McpServerConfig
  readonly #place: ConnectionPlace
  #way: Way | undefined
  #client: Client | undefined
  #isClosed = false

  constructor(server: McpServerConfig, place: ConnectionPlace) {
    this.#server = server
    this.#place = place
  }

  get stdio(): StdioTransport | undefined {
    return this.#way?.stdio
  }

  /** The session id, only in revisions that have sessions. */
  get sessionId(): string | undefined {
    return this.#way?.transport.sessionId
  }

  /** Opens the link. Rejects if the server cannot be reached, or supports no revision that the client supports. */
  async open(options: OpenOptions): Promise<Client> {
    switch (this.#server.type) {
      case 'http':
        return this.#openByHttp(options)
      case 'sse':
        return this.#connect(this.#tolerant(this.#newWay()), 'legacy', options)
      case 'stdio':
      case 'sdk':
        return this.#openInPlace(options)
    }
  }

  /**
   * Returns what the user must do about an error if the server requires a permission that was not granted. Stores the
   * scope for the next sign-in.
   */
  async denial(thrown: unknown): Promise<NeedsSignIn | undefined> {
    if (!(thrown instanceof InsufficientScopeError)) return undefined
    const { requiredScope: scope } = thrown
    const { signIns, name } = this.#place
    const server = this.#server
    const canSignIn = signIns !== undefined && 'url' in server && !isSigned(server)
    // If the scope cannot be stored, the sign-in requests the scopes that it knows.
    if (canSignIn && scope !== undefined) await signIns.addScope(server.url, scope).catch(() => undefined)
    return new NeedsSignIn(moreScopeAdvice(name, canSignIn, scope))
  }

  /** Resolves when all resources of the link are released. */
  async close(): Promise<void> {
    this.#isClosed = true
    const { killGraceMs } = this.#place
    // A server that hangs while closing must not block the session; a process is killed in any case.
    await settledWithin(Promise.allSettled([this.#client?.close(), this.#way?.transport.close()]), killGraceMs)
    await this.stdio?.close()
    const closing = this.#server.type === 'sdk' ? this.#server.instance.close?.() : undefined
    if (closing !== undefined) await settledWithin(closing, killGraceMs)
  }

  async #openByHttp(options: OpenOptions): Promise<Client> {
    try {
      return await this.#connect(this.#tolerant(this.#newWay()), 'any', options)
    } catch (thrown) {
      if (options.signal.aborted || isDenial(thrown)) throw thrown
      await settledWithin(this.#client?.close() ?? Promise.resolve(), this.#place.killGraceMs)
      // Some servers answer unknown requests with an error outside the protocol.
      return this.#connect(this.#tolerant(this.#newWay()), 'legacy', options)
    }
  }

  async #openInPlace(options: OpenOptions): Promise<Client> {
    const way = this.#newWay()
    await way.opened?.()
    const transport = this.#tolerant(way)
    transport.staysOpen = true
    try {
      return await this.#connect(transport, 'legacy', options)
    } catch (thrown) {
      if (options.signal.aborted || this.#isClosed || !isRefusal(thrown)) throw thrown
      transport.reset()
      return await this.#connect(transport, 'any', options)
    } finally {
      transport.staysOpen = false
    }
  }

  async #connect(transport: Transport, versions: Versions, options: OpenOptions): Promise<Client> {
    const client = clientFor(this.#place, versions)
    this.#client = client
    // Errors that break the connection end it, and are reported at that point.
    Object.assign(client, { onerror: () => undefined })
    await client.connect(transport, options)
    return client
  }

  #tolerant({ transport }: Way): TolerantTransport {
    return new TolerantTransport(transport, (method, problem) => this.reports.add(method, problem))
  }

  #newWay(): Way {
    if (this.#isClosed) throw new Error('the connection is closed')
    this.#way = wayTo(this.#server, this.#place)
    return this.#way
  }
}

/** Whether the server does not support `initialize`, or none of the older versions. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ProtocolError || /protocol version/i.test(messageOf(thrown))
}

function isDenial(thrown: unknown): boolean {
  if (thrown instanceof NeedsSignIn || thrown instanceof InsufficientScopeError) return true
  return thrown instanceof SdkHttpError && [401, 403].includes(thrown.status ?? 0)
}

/** A configured header counts as authentication. */
function isSigned({ headers }: HttpServer): boolean {
  return Object.keys(headers).some((header) => header.toLowerCase() === 'authorization')
}

function wayTo(server: McpServerConfig, place: ConnectionPlace): Way {
  if (server.type === 'stdio') {
    const stdio = new StdioTransport(server, place)
    return { transport: stdio, stdio }
  }
  if (server.type === 'sdk') {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    // The value is a transport for either version of the SDK.
    return { transport: ours, opened: () => server.instance.connect(theirs as never) }
  }
  const { signIns, name, messageBytes } = place
  const url = new URL(server.url)
  const options = {
    requestInit: { headers: { ...server.headers } },
    fetch: boundedFetch(messageBytes),
    ...(signIns !== undefined &&
      !isSigned(server) && {
        authProvider: tokenSource({ url: server.url, signIns, advice: signInAdvice(name, true) }),
      }),
  }
  return { transport: server.type === 'sse' ? new SSEClientTransport(url, options) : new HttpTransport(url, options) }
}

function clientFor(place: ConnectionPlace, versions: Versions): Client {
  const { version, directories, elicitations, limits } = place
  const timeoutMs = Math.min(maxProbeMs, limits.connectMs * probeShare)
  const options: ClientOptions = {
    capabilities: { roots: {}, elicitation: { form: {}, url: {} } },
    // Schemas of the server do not reach the client: `outputSchema` is removed (`repair`). So the client's own
    // validator need not be loaded.
    jsonSchemaValidator: {
      getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
    },
    listMaxPages: 50,
    ...(versions === 'any' && { versionNegotiation: { mode: 'auto', probe: { timeoutMs } } }),
  }
  const client = new Client({ name: 'halting', version }, options)
  client.setRequestHandler('roots/list', () => ({
    roots: directories.map((path) => ({ uri: pathToFileURL(path).href })),
  }))
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const { action, content } = await elicitations.answer(params, mcpReq.signal)
    // Passes a copy, because the client may change it.
    return { action, ...(content !== undefined && { content: structuredClone(content) as Record<string, string> }) }
  })
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    elicitations.complete(params.elicitationId),
  )
  return client
}
