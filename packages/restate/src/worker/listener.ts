import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer, type AddressInfo, type Socket } from 'node:net'

export interface ListenerOptions {
  readonly host: string
  /** Port to listen on; 0 for any free one. */
  readonly port: number
  /** How long a connection may be silent before it is closed, except those of engines. Default: 15 s. */
  readonly silenceMs?: number
  /** Handles requests of the engine, which speaks HTTP/2. */
  readonly http2: (request: Http2ServerRequest, response: Http2ServerResponse) => void
  /** Handles requests of people, probes and clients, which speak HTTP/1. */
  readonly http1: (request: IncomingMessage, response: ServerResponse) => void
}

/** One port for the engine and for everyone else. */
export interface Listener {
  readonly port: number
  /** Accepts no more connections, and no new calls on existing ones; running calls continue. */
  drain(): void
  /** Accepts no new calls on existing connections, so the engine opens others; running calls continue. */
  renew(): void
  /** Closes all connections. */
  close(): Promise<void>
}

/** First bytes of an HTTP/2 connection. */
const preface = 'PRI'

/** Starts to listen. Rejects if the port is not available. */
export async function listen({ host, port, silenceMs = 15_000, http2, http1 }: ListenerOptions): Promise<Listener> {
  const engine = createHttp2Server(http2)
  const patience = {
    headersTimeout: silenceMs,
    requestTimeout: silenceMs,
    connectionsCheckingInterval: Math.ceil(silenceMs / 3),
  }
  const others = createHttpServer(patience, http1)
  others.timeout = silenceMs
  // This server does not listen itself, and without the event it would not check for requests that arrive byte by byte.
  others.emit('listening')
  /** Connections on which the engine may begin calls. */
  const sessions = new Set<ServerHttp2Session>()
  // After GOAWAY, the engine ends a connection at its next call, with all running calls. A connection that accepts no more streams stays open.
  const retire = (): void => {
    for (const session of sessions) if (!session.destroyed) session.settings({ maxConcurrentStreams: 0 })
    sessions.clear()
  }
  const sockets = new Set<Socket>()
  engine.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    // If a connection breaks, the engine opens another one.
    session.on('error', () => undefined)
  })
  const server = createServer((socket) => {
    sockets.add(socket)
    // Frames are small and must go out at once: waiting for an acknowledgement would add some 40 ms to each record that a turn waits for.
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    const cut = (): void => void socket.destroy()
    socket.setTimeout(silenceMs, cut)
    let begun: Buffer = Buffer.alloc(0)
    const onData = (chunk: Buffer): void => {
      begun = Buffer.concat([begun, chunk])
      const known = begun.toString('latin1', 0, preface.length)
      if (known.length < preface.length && preface.startsWith(known)) return
      socket.off('data', onData)
      socket.off('timeout', cut)
      socket.setTimeout(0)
      socket.pause()
      socket.unshift(begun)
      const isEngine = known === preface
      ;(isEngine ? engine : others).emit('connection', socket)
      if (!isEngine) socket.resume()
    }
    socket.on('data', onData)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    // This cast is safe: the server listens on a port, so its address has one.
    port: (server.address() as AddressInfo).port,
    drain() {
      server.close()
      retire()
    },
    renew: retire,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      // This also ends its checks; it has no port to close.
      others.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
