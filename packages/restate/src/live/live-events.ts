import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { ConfigurationError } from '@halting/core'
import type { SessionListener } from '../service/session-options.ts'
import { LiveSession } from './live-session.ts'
import type { Writable } from 'node:stream'

/** Options of the server that sends live events of sessions. */
export interface LiveEventsOptions {
  /** Address to listen on. Default: loopback. */
  readonly host?: string
  /** Port to listen on. Default: a free one. */
  readonly port?: number
  /** Token that readers must send as `authorization: Bearer TOKEN`. Required if other machines can reach the server. */
  readonly token?: string
  /** Address at which clients reach the server. Default: built from host and port. */
  readonly url?: string
  /** Maximum of unread bytes for all readers together; a single reader may have an eighth of it. Default: 128 MiB. */
  readonly maxUnreadBytes?: number
}

/** For `sessionServices`: sends what happens in the sessions of this worker, as server-sent events. */
export interface LiveEvents extends SessionListener {
  /** Address of the stream. */
  readonly url: string
  /** Ends all streams and stops the server. */
  close(): Promise<void>
}

const path = /^\/sessions\/([^/]+)\/events$/
const loopback = /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/
/** Proxies close connections that stay silent for longer. */
const heartbeatMs = 15_000
/** Default limit of unread bytes. A reader that is too far behind is disconnected; it reconnects and reads what it missed. */
const maxUnread = 128 * 1024 * 1024

/**
 * Starts the server that sends live events of sessions.
 * @throws ConfigurationError for a host that other machines can reach, without a token.
 */
export async function createLiveEvents(options: LiveEventsOptions = {}): Promise<LiveEvents> {
  const { host = '127.0.0.1', port = 0, token, maxUnreadBytes = maxUnread } = options
  if (token === undefined && !loopback.test(host))
    throw new ConfigurationError(
      `Other machines can reach live events on ${host}. Give a token, or use a loopback address.`,
    )
  const sessions = new Map<string, LiveSession>()
  const unread = new UnreadBuffers(maxUnreadBytes / 8, maxUnreadBytes)
  const server = createServer((request, response) => handleRequest(request, response, { sessions, token, unread }))
  await listen(server, port, host)
  const address = server.address()
  const own = address !== null && typeof address === 'object' ? address.port : port
  const url = options.url ?? `http://${host.includes(':') ? `[${host}]` : host}:${own}`
  const live: LiveEvents = {
    url,
    onOpen(sessionId, session) {
      sessions.get(sessionId)?.end()
      sessions.set(sessionId, new LiveSession(session))
    },
    onEvent: (sessionId, event) => sessions.get(sessionId)?.onEvent(event),
    onStored: (sessionId, first, records) => sessions.get(sessionId)?.onStored(first, records),
    onLeave(sessionId, session) {
      const known = sessions.get(sessionId)
      // Another attempt may have begun here by now.
      if (known?.isOf(session) !== true) return
      known.end()
      sessions.delete(sessionId)
    },
    async close() {
      for (const session of sessions.values()) session.end()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
  return live
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
}

interface Served {
  readonly sessions: ReadonlyMap<string, LiveSession>
  readonly token: string | undefined
  readonly unread: UnreadBuffers
}

function handleRequest(request: IncomingMessage, response: ServerResponse, { sessions, token, unread }: Served): void {
  const refuse = (status: number, because: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${because}\n`)
  }
  // Anyone may send such a request.
  const address = URL.parse(request.url ?? '/', 'http://worker')
  const name = path.exec(address?.pathname ?? '')?.[1]
  if (request.method !== 'GET' || address === null || name === undefined)
    return refuse(404, 'GET /sessions/KEY/events?since=N')
  // A web page whose domain resolves to this address must not read along.
  const { host = '' } = request.headers
  if (token === undefined && !loopback.test(host.replace(/:\d+$/, '')))
    return refuse(403, 'Only this machine may read: use its loopback address.')
  if (token !== undefined && !isSameText(request.headers.authorization ?? '', `Bearer ${token}`))
    return refuse(401, 'Send the token: authorization: Bearer TOKEN')
  const session = sessions.get(decodeKey(name))
  if (session === undefined) return refuse(404, 'This worker is not at work at the session.')
  const since = Number(address.searchParams.get('since') ?? request.headers['last-event-id'] ?? 0)
  if (!Number.isSafeInteger(since) || since < 0)
    return refuse(400, 'since must be the number of records that you have.')
  if (!unread.hasRoom)
    return refuse(
      503,
      'Too much data is waiting for other readers of this worker. Retry later, or read the records of the session.',
    )
  stream(response, { session, since, unread })
}

interface Stream {
  readonly session: LiveSession
  readonly since: number
  readonly unread: UnreadBuffers
}

function stream(response: ServerResponse, { session, since, unread }: Stream): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  unread.add(response)
  const heartbeat = setInterval(() => unread.write(response, ':\n\n'), heartbeatMs)
  const stop = session.read(
    {
      send: (text) => unread.write(response, text),
      end: () => void response.end(),
    },
    since,
  )
  response.on('close', () => {
    clearInterval(heartbeat)
    stop()
  })
}

function decodeKey(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return ''
  }
}

function isSameText(actual: string, expected: string): boolean {
  const [one, other] = [Buffer.from(actual), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Bytes that were written to readers and not read yet.
 * U1: a reader that is too far behind is disconnected.
 * U2: if too much waits for all of them together, the one furthest behind is disconnected.
 * U3: while that is nearly so, no new reader is accepted. A reader that is disconnected or refused loses nothing, because the records have everything.
 */
export class UnreadBuffers {
  readonly #maxOfOne: number
  readonly #maxOfAll: number
  readonly #bytes = new Map<Writable, number>()
  #sum = 0

  constructor(maxOfOne: number, maxOfAll: number) {
    this.#maxOfOne = maxOfOne
    this.#maxOfAll = maxOfAll
  }

  /** Whether another reader may begin. */
  get hasRoom(): boolean {
    return this.#sum + this.#maxOfOne <= this.#maxOfAll
  }

  add(reader: Writable): void {
    this.#bytes.set(reader, 0)
    reader.on('drain', () => this.#count(reader))
    reader.on('close', () => this.#leave(reader))
  }

  write(reader: Writable, text: string): void {
    if (!this.#bytes.has(reader)) return
    if (reader.writableLength > this.#maxOfOne) return this.#cut(reader)
    reader.write(text)
    this.#count(reader)
    while (this.#sum > this.#maxOfAll) this.#cut(this.#furthestBehind)
  }

  #count(reader: Writable): void {
    const before = this.#bytes.get(reader)
    if (before === undefined) return
    this.#bytes.set(reader, reader.writableLength)
    this.#sum += reader.writableLength - before
  }

  get #furthestBehind(): Writable | undefined {
    const [[reader] = []] = [...this.#bytes].toSorted(([, one], [, other]) => other - one)
    return reader
  }

  #cut(reader: Writable | undefined): void {
    if (reader === undefined) return
    this.#leave(reader)
    reader.destroy()
  }

  #leave(reader: Writable): void {
    this.#sum -= this.#bytes.get(reader) ?? 0
    this.#bytes.delete(reader)
  }
}
