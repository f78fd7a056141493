import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The result of the browser redirect. */
type Callback =
  | { readonly kind: 'code'; readonly code: string; readonly iss: string | undefined }
  | { readonly kind: 'refused'; readonly error: string }

export interface LoopbackOptions {
  /** Port to listen on; any free port when absent. */
  readonly port?: number | undefined
  /** The `state` that a valid redirect must contain, because any program could send a redirect. */
  readonly state: string
}

/** Waits on this machine for the browser redirect of a sign-in. */
export interface Loopback {
  readonly redirectUrl: string
  /** Returns the first redirect with the right state. Rejects when it is aborted. */
  answer(signal: AbortSignal): Promise<Callback>
  close(): Promise<void>
}

const path = '/callback'

/** Whether a host is this machine, judged by names that need no resolver. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/**
 * Listens only on 127.0.0.1. L1: accepts one redirect, which has the right state. L2: any other request gets an error
 * and changes nothing. L3: the response never repeats what was sent.
 */
export async function listenOnLoopback({ port = 0, state }: LoopbackOptions): Promise<Loopback> {
  let take: (callback: Callback) => void = () => {}
  const taken = new Promise<Callback>((resolve) => {
    take = resolve
  })
  let isTaken = false
  const server = createServer((request, response) => {
    const callback = isTaken ? undefined : callbackIn(request, address(server), state)
    if (callback === undefined) return respond(response, 400, 'This page is not part of the current sign-in.')
    isTaken = true
    respond(
      response,
      200,
      callback.kind === 'code'
        ? 'You can close this page and return to the terminal.'
        : 'The sign-in failed. You can close this page.',
    )
    take(callback)
  })
  server.headersTimeout = 5_000
  server.requestTimeout = 5_000
  server.maxConnections = 20
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    redirectUrl: `http://${address(server)}${path}`,
    answer: (signal) =>
      new Promise((resolve, reject) => {
        const onAbort = (): void => reject(new Error('the browser did not return from the sign-in'))
        if (signal.aborted) onAbort()
        signal.addEventListener('abort', onAbort, { once: true })
        void taken.then((callback) => {
          signal.removeEventListener('abort', onAbort)
          resolve(callback)
        })
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // Waits a short time for a browser that keeps its connection open, so that the browser receives the response.
        setTimeout(() => server.closeAllConnections(), 500).unref()
      }),
  }
}

function address(server: Server): string {
  // A server that listens on TCP has an address of this kind.
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

function callbackIn({ method, url = '', headers }: IncomingMessage, host: string, state: string): Callback | undefined {
  // Another host name means that a page of another site redirected to this address.
  if (method !== 'GET' || headers.host !== host || url.length > 8_192) return undefined
  // Does not use `new URL`, which throws for invalid input: any page could guess the port, send `//` and end the
  // program.
  if (!url.startsWith(`${path}?`)) return undefined
  const searchParams = new URLSearchParams(url.slice(path.length))
  if (!isSame(searchParams.get('state') ?? '', state)) return undefined
  const [code, error] = [searchParams.get('code'), searchParams.get('error')]
  if (error !== null) return { kind: 'refused', error }
  return code === null || code === '' ? undefined : { kind: 'code', code, iss: searchParams.get('iss') ?? undefined }
}

function isSame(received: string, state: string): boolean {
  const [one, other] = [Buffer.from(received), Buffer.from(state)]
  return one.length === other.length && timingSafeEqual(one, other)
}

function respond(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    .end(`${text}\n`)
}
