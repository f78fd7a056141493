import type { ClientRequest, IncomingMessage } from 'node:http'
import { bodyOf } from './body.ts'
import { codedError, ConnectionFailure } from './coded-error.ts'
import { decodedBody } from './decoded.ts'
import { routeTo } from './route.ts'
import type { Route } from './route.ts'
import type { HttpAnswer, HttpRequest, Transport } from './transport.ts'

/**
 * Sends requests with `node:http` and `node:https`, through the proxy of the environment. `fetch` would first compile
 * its own client, which takes a third of the time of a short run.
 */
export const nodeTransport: Transport = async (request, signal) => {
  signal.throwIfAborted()
  const route = routeTo(new URL(request.url))
  const sent = await send(request, route, signal)
  if (sent !== 'not taken') return sent
  route.dropIdle()
  const again = await send(request, route, signal)
  if (again === 'not taken') throw codedError('ECONNRESET', 'The connection was closed twice.')
  return again
}

/**
 * Sends a request once. `not taken` means that a reused connection closed before the whole request was sent. No service
 * processes half a request, so it can be sent again. A fully sent request may have been processed and billed: only the
 * caller, which accounts for costs, may retry it.
 */
function send({ headers, body }: HttpRequest, route: Route, signal: AbortSignal): Promise<HttpAnswer | 'not taken'> {
  return new Promise((resolve, reject) => {
    const request = route.request({
      method: body === undefined ? 'GET' : 'POST',
      headers: framedHeaders(headers, body),
      tunnelSignal: signal,
    })
    let failure: Error | undefined
    let isSent = false
    const onAbort = (): void => {
      // The reason is passed on unchanged.
      failure ??= signal.reason as Error
      reject(failure)
      request.destroy()
    }
    const connection = watchConnection(request, route.isSecure)
    // Node also emits this for a failed connection.
    request.once('finish', () => (isSent = request.socket?.destroyed !== true))
    // Several errors may follow, even after the response or an abort; only the first matters.
    request.on('error', (error) => {
      failure ??= error
      if (request.reusedSocket && !isSent && isConnectionCut(error)) resolve('not taken')
      else if (connection.isMade()) reject(new ConnectionFailure('connected', failure))
      else reject(new ConnectionFailure('connecting', route.failureToConnect(failure)))
    })
    request.once('response', (message) => {
      resolve(answerOf(message, request, { isSent: () => isSent, failure: () => failure }))
    })
    request.once('close', () => {
      signal.removeEventListener('abort', onAbort)
      reject(failure ?? codedError('ECONNRESET', 'The connection was closed.'))
    })
    signal.addEventListener('abort', onAbort, { once: true })
    request.end(body)
  })
}

/** Builds the headers. Users cannot override the framing of the body. An unencoded response needs no decoding time. */
function framedHeaders(headers: HttpRequest['headers'], body: Uint8Array | undefined): Record<string, string | number> {
  const framing = new Set(['transfer-encoding', 'content-length', 'te', 'trailer', 'upgrade'])
  const own = Object.entries(headers).filter(([name]) => !framing.has(name.toLowerCase()))
  return {
    'accept-encoding': 'identity',
    ...Object.fromEntries(own),
    ...(body !== undefined && { 'content-length': body.length }),
  }
}

function isConnectionCut(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

const connectTimeoutMs = 10_000

/** Ends a request whose connection takes too long to establish, from name resolution to the TLS handshake. */
function watchConnection(request: ClientRequest, isSecure: boolean): { isMade(): boolean } {
  let isMade = false
  request.once('socket', (socket) => {
    isMade = request.reusedSocket
    if (isMade) return
    const timer = setTimeout(() => request.destroy(connectTimeout()), connectTimeoutMs)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      isMade = true
      clearTimeout(timer)
    })
    request.once('close', () => clearTimeout(timer))
  })
  return { isMade: () => isMade }
}

function connectTimeout(): Error {
  return codedError('ERR_CONNECT_TIMEOUT', `No connection was established within ${connectTimeoutMs / 1_000} s.`)
}

interface SendState {
  readonly isSent: () => boolean
  readonly failure: () => Error | undefined
}

function answerOf(message: IncomingMessage, request: ClientRequest, { isSent, failure }: SendState): HttpAnswer {
  const { statusCode = 0, headersDistinct } = message
  const cancel = (): void => void request.destroy()
  const plain = bodyOf(message, {
    failure,
    // After its response, a service reads no more of the request.
    onEnd: () => (isSent() ? undefined : cancel()),
  })
  const headers = { get: (name: string) => headersDistinct[name.toLowerCase()]?.join(', ') ?? null }
  return { status: statusCode, headers, next: decodedBody(plain, headers.get('content-encoding')), isSent, cancel }
}
