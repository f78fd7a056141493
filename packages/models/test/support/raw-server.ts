import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface RawServer {
  readonly url: string
  readonly bodies: readonly Buffer[]
  /** The number of connections so far. */
  connections(): number
  /** Resolves when the client has released every connection that carried a request. */
  released(): Promise<void>
}

/** A server on this machine that does exactly what the test says. It closes after the test. */
export async function startRawServer(
  handle: (response: ServerResponse, request: IncomingMessage) => void | Promise<void>,
): Promise<RawServer> {
  const bodies: Buffer[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let onEmpty = (): void => {}
  const hold = (socket: Socket): void => {
    if (sockets.has(socket)) return
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) onEmpty()
    })
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    bodies.push(Buffer.concat(chunks))
    hold(request.socket)
    await handle(response, request)
  }
  const server = createServer((request, response) => void serve(request, response))
  server.on('connection', () => void connections++)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    connections: () => connections,
    released: () =>
      new Promise((resolve) => {
        onEmpty = resolve
        if (sockets.size === 0) resolve()
      }),
  }
}

/** Starts a response that is a stream of events. */
export function beginStream(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
}

/** Writes and waits until the data was sent, so that the next action, even a cut, comes after it. */
export function write(response: ServerResponse, bytes: Uint8Array | string): Promise<void> {
  return new Promise((resolve) => void response.write(bytes, () => resolve()))
}
