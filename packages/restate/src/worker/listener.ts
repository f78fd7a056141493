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
  /** 0 for any that is free. */
  readonly port: number
  /** A connection on which nothing comes for so long is cut, but for those of engines; 15 s. */
  readonly silenceMs?: number
  /** The engine speaks HTTP/2. */
  readonly http2: (request: Http2ServerRequest, response: Http2ServerResponse) => void
  /** People, probes and clients speak HTTP/1. */
  readonly http1: (request: IncomingMessage, response: ServerResponse) => void
}

/** One port for the engine and for everybody else. */
export interface Listener {
  readonly port: number
  /** No connection is taken any more, and the engine begins nothing on those that are there; what goes on goes on. */
  drain(): void
  /** The engine begins nothing more on the connections that are there, and makes others; what goes on goes on. */
  renew(): void
  /** Every connection ends. */
  close(): Promise<void>
}

/** How a connection of HTTP/2 begins. */
const preface = 'PRI'

/** Rejects when the port cannot be had. */
export async function listen({ host, port, silenceMs = 15_000, http2, http1 }: ListenerOptions): Promise<Listener> {
  const engine = createHttp2Server(http2)
  const patience = {
    headersTimeout: silenceMs,
    requestTimeout: silenceMs,
    connectionsCheckingInterval: Math.ceil(silenceMs / 3),
  }
  const others = createHttpServer(patience, http1)
  others.timeout = silenceMs
  // It does not listen itself, and looks for requests that come byte by byte only from then on.
  others.emit('listening')
  /** Connections of the engine on which it may begin something. */
  const sessions = new Set<ServerHttp2Session>()
  // A connection that is said to go away is ended by the engine at its next call, with all that goes on. One that takes no more streams is left alone.
  const retire = (): void => {
    for (const session of sessions) if (!session.destroyed) session.settings({ maxConcurrentStreams: 0 })
    sessions.clear()
  }
  const sockets = new Set<Socket>()
  engine.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    // A connection that breaks is the engine's affair: it makes another.
    session.on('error', () => undefined)
  })
  const server = createServer((socket) => {
    sockets.add(socket)
    // Frames are small and go at once: one that waited for an acknowledgement would add some 40 ms to each record that a turn waits for.
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
    // It listens at a port, so its address has one.
    port: (server.address() as AddressInfo).port,
    drain() {
      server.close()
      retire()
    },
    renew: retire,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      // It ends looking, too; it has no port to close.
      others.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
